import { hostname, userInfo } from 'node:os'
import { plainName } from '../../core/acts.ts'

/** Who uses this machine. A user without a name, as in many containers, is known by his number. */
export const systemUser = (): string => {
  try {
    return plainName(userInfo().username)
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** This process, as somebody who looks for it would name it. */
export const systemProcess = (): string => `${plainName(hostname())}:${process.pid}`
