/** What the placeholders of a rule book may see. It is handed in: this room never looks at the process. */
export type Environment = Readonly<Record<string, string | undefined>>

export type Filled =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly fault: string; readonly expected: string }

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([-?])([^}]*))?\}|\$\{/g

export const hasPlaceholder = (text: string): boolean => text.includes('${')

/**
 *   ${NAME}            its value; a fault where it is not set
 *   ${NAME:-default}   the default where it is not set or empty
 *   ${NAME:?message}   a fault with that message where it is not set or empty
 *   $${                a literal ${
 *
 * Values are put in once: a value that looks like a placeholder stays as it is. Faults name the variable, never
 * its value, which may be a secret.
 */
export const fillIn = (text: string, env: Environment): Filled => {
  let fault: { readonly fault: string; readonly expected: string } | undefined
  const filled = text.replace(PLACEHOLDER, (whole, name?: string, how?: string, rest = '') => {
    if (whole === '$${') return '${'
    if (name === undefined) {
      fault ??= {
        fault: 'a placeholder that is not complete',
        expected: `\${NAME}, \${NAME:-default} or \${NAME:?message} (write $\${ for a literal \${)`,
      }
      return whole
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (how === undefined ? value !== undefined : value) return value as string
    if (how === '-') return rest
    const expected = how === '?' && rest ? rest : `a value for ${name}, or a default: \${${name}:-…}`
    fault ??= { fault: `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}`, expected }
    return whole
  })
  return fault ?? { text: filled }
}
