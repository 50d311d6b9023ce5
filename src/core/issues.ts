/** One finding of a Standard Schema (zod, valibot, arktype …). */
export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

const MOST = 5
const DEEPEST = 32

/** `owner.mail: expected string; items.3: too large; and 2 more` */
export const describeIssues = (issues: readonly Issue[]): string => {
  const told = issues.slice(0, MOST).map(({ message, path = [] }) => {
    const where = path
      .slice(0, DEEPEST)
      .map((step) => String(typeof step === 'object' ? step.key : step))
      .join('.')
    return where ? `${where}: ${message}` : message
  })
  if (issues.length > MOST) told.push(`and ${issues.length - MOST} more`)
  return told.join('; ')
}
