import type { ItemMark, KeptOperation, NewItem, Operations } from '../../contracts/operations.ts'
import type { Act } from '../../core/audit.ts'
import type { Letter } from '../../core/letter.ts'
import type { ItemState, Operation } from '../../core/operation.ts'
import { type Bench, bench } from './letters-bench.ts'
import type { Trial, TrialWorld } from './trial.ts'

export interface Desk extends Bench {
  readonly operations: Operations
  /** Another process's way to the same store. */
  other(): Promise<Operations>
  begin(over?: Partial<Operation>): Promise<KeptOperation>
  /** So many letters kept, in an operation of their own. */
  frozen(count: number, over?: Partial<Operation>): Promise<Frozen>
  state(id: string): Promise<readonly ItemState[]>
  letter(id: string): Promise<string | undefined>
}

export interface Frozen {
  readonly id: string
  readonly kept: KeptOperation
  readonly letters: readonly Letter[]
}

/** Operations on a bench of letters. */
const desk = async (world: TrialWorld): Promise<Desk> => {
  const on = await bench(world)
  const operations = (await world.open()).store!.operations!
  const begin: Desk['begin'] = (over = {}) =>
    operations.begin({
      id: world.tools.dice.uuid(),
      kind: 'replay',
      state: 'freezing',
      since: world.now(),
      by: 'ann',
      at: world.now(),
      chosen: { service: on.service },
      plan: { batch: 50, although: [] },
      ...over,
    })
  return {
    ...on,
    operations,
    other: async () => (await world.open()).store!.operations!,
    begin,
    frozen: async (count, over) => {
      const letters = on.write(count)
      await on.letters.keep(letters)
      const { operation, version } = await begin(over)
      const kept = await operations.add(operation.id, version, items(world, letters))
      return { id: operation.id, kept: kept!, letters }
    },
    state: async (id) => (await operations.items(id, undefined, 1000)).map(({ state }) => state),
    letter: async (id) => (await on.letters.find({ ids: [id] }, 1))[0]?.state,
  }
}

export const items = (
  world: TrialWorld,
  letters: readonly { readonly id: string }[],
  from = 1,
): readonly NewItem[] =>
  letters.map(({ id }, n) => ({ place: from + n, letter: id, state: 'waiting', at: world.now() }))

export const sending = (world: TrialWorld, ...places: readonly number[]): readonly ItemMark[] =>
  places.map((place) => ({
    place,
    from: ['waiting'],
    to: 'sending',
    at: world.now(),
    letter: { from: ['open'], to: 'replaying' },
  }))

export const act = (world: TrialWorld, name: string): Omit<Act, 'target' | 'count'> => ({
  at: world.now(),
  who: 'ann',
  act: name,
  details: {},
})

export const lastActs = async (world: TrialWorld, name: string) => {
  const audit = (await world.open()).store!.audit!
  return (await audit.recent(1000)).filter((entry) => entry.act === name)
}

export const trial = (name: string, run: (desk: Desk, world: TrialWorld) => Promise<void>): Trial => ({
  name: `operations: ${name}`,
  about: 'operations',
  run: async (world) => run(await desk(world), world),
})
