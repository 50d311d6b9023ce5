import type { LetterFilter, Letters } from '../../contracts/letters.ts'
import type { Letter } from '../../core/letter.ts'
import { freshParcel } from '../../core/parcel.ts'
import { makeEvent, makeSubscription } from './kit.ts'
import { letterFor } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

export interface Bench {
  readonly letters: Letters
  readonly service: string
  /** So many letters of this trial's own service, each a second younger than the one before. */
  write(count: number, over?: (n: number) => Partial<Letter>): readonly Letter[]
  /** What is found of this trial's own service. */
  ids(filter?: LetterFilter, limit?: number, after?: string): Promise<readonly string[]>
}

export const bench = async (world: TrialWorld): Promise<Bench> => {
  const letters = (await world.open()).store!.letters!
  const service = world.name('service')
  const start = world.now()
  return {
    letters,
    service,
    write: (count, over = () => ({})) =>
      Array.from({ length: count }, (_, n) => {
        const to = makeSubscription(world, { service, topic: 'orders' })
        const letter = letterFor(world, to, freshParcel(makeEvent(world), start), `_${service}.deadletter`)
        return { ...letter, buriedAt: start + n * 1000, ...over(n) }
      }),
    ids: async (filter = {}, limit = 100, after) =>
      (await letters.find({ service, ...filter }, limit, after)).map(({ letter }) => letter.id),
  }
}

export const trial = (name: string, run: (bench: Bench, world: TrialWorld) => Promise<void>): Trial => ({
  name: `letters: ${name}`,
  about: 'letters',
  run: async (world) => run(await bench(world), world),
})

export const idsOf = (letters: readonly Letter[]) => letters.map(({ id }) => id)
