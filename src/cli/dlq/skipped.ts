import { inert } from '../print/inert.ts'
import { remark } from '../print/say.ts'

const MOST = 20

/** Of many only the first: what stands on the screen at last is how many there are. */
export const tellSkipped = (
  skipped: readonly { readonly id: string; readonly because: string }[],
  done: string,
): void => {
  for (const { id, because } of skipped.slice(0, MOST)) remark(`${inert(id)} not ${done}: ${inert(because)}`)
  const more = skipped.length - MOST
  if (more > 0) remark(`and ${more.toLocaleString('en')} more not ${done}; --json tells all of them`)
}
