/**
 * Where a password holds a / ? or # as it is, the host ends there for whoever reads the URL: the rest of the password
 * stands in the path or among the parameters, which errors and facts repeat.
 */
export const strayAt = (url: string): string | undefined =>
  /^[a-z][a-z+]*:\/\/[^/?#]*[/?#].*@/is.test(url)
    ? "there is an '@' behind the host: write / ? # @ of a password as %2F %3F %23 %40, and an '@' of anything else as %40"
    : undefined

/** A name that somebody mistyped, as far as it can't be a piece of a secret. */
export const parameter = (name: string): string =>
  /^[\w.-]{1,40}$/.test(name) ? `'?${name}='` : 'a parameter in it'

export const decoded = (text: string, what: string, refuse: (why: string) => Error): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse(`${what} has a '%' in it that stands for nothing: write it as %25`)
  }
}
