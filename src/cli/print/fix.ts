import { ReprieveError } from '../../core/error.ts'

/** The message of a ReprieveError ends with its fix; some readers want the two apart. */
export const withoutFix = (error: Error): string => {
  const { message } = error
  if (!(error instanceof ReprieveError) || error.fix === undefined) return message
  return message.slice(0, message.length - error.fix.length).replace(/\s+fix:\s*$/, '')
}
