import type { Finish, Ledger } from '../contracts/ledger.ts'
import type { Subscription } from '../contracts/transport.ts'
import type { Claim, LedgerKey } from '../core/ledger.ts'
import type { Settler, Step } from './settle.ts'

/** The app's own ledger and those that the rules name beside it. */
export interface Ledgers {
  /** Keeps each claim in the ledger that its key names. */
  readonly all: Ledger
  /** Beside a transport that keeps the app's own claims itself: passes those by. undefined: the rules name no other. */
  readonly named: Ledger | undefined
}

export const createLedgers = (own: Ledger, named: ReadonlyMap<string, Ledger>): Ledgers => {
  if (named.size === 0) return { all: own, named: undefined }
  const of = (store: string | undefined): Ledger => (store === undefined ? own : named.get(store)!)
  const all = sorting(of)
  const isNamed = ({ store }: LedgerKey): boolean => store !== undefined
  return {
    all,
    named: {
      claim: all.claim,
      begin: all.begin,
      acquit: all.acquit,
      renew: (held, until) =>
        all.renew(
          held.filter(({ key }) => isNamed(key)),
          until,
        ),
      finish: async (ends) => {
        const answers = [...(await all.finish(ends.filter(({ held }) => isNamed(held.key))))]
        return ends.map(({ held }) => !isNamed(held.key) || answers.shift()!)
      },
    },
  }
}

/** Hands everything to the ledger it belongs to, and puts the answers together in the order of the questions. */
const sorting = (of: (store: string | undefined) => Ledger): Ledger => ({
  claim: async (keys, until) => {
    const groups = groupsOf(keys, (key) => key.store)
    const answers = await Promise.allSettled(
      groups.map(({ store, items }) =>
        of(store).claim(
          items.map(({ item }) => item),
          until,
        ),
      ),
    )
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (!failed)
      return inOrder(
        groups,
        answers.map((answer) => (answer as { value: readonly Claim[] }).value),
      )
    // all or none: what was got elsewhere must not stay claimed by nobody
    const got = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const ends = got.flatMap((claim): Finish[] =>
      claim.is === 'fresh' ? [{ held: claim.held, as: 'free' }] : [],
    )
    await Promise.allSettled(ends.map((end) => of(end.held.key.store).finish([end])))
    throw failed.reason
  },
  begin: (held) => of(held.key.store).begin(held),
  renew: async (held, until) => {
    const groups = groupsOf(held, ({ key }) => key.store)
    await together(
      groups.map(({ store, items }) =>
        of(store).renew(
          items.map(({ item }) => item),
          until,
        ),
      ),
    )
  },
  acquit: async (held) => {
    const groups = groupsOf(held, ({ key }) => key.store)
    const answers = groups.map(({ store, items }) => of(store).acquit(items.map(({ item }) => item)))
    return inOrder(groups, await together(answers))
  },
  finish: async (ends) => {
    const groups = groupsOf(ends, ({ held }) => held.key.store)
    const answers = groups.map(({ store, items }) => of(store).finish(items.map(({ item }) => item)))
    return inOrder(groups, await together(answers))
  },
})

interface Group<T> {
  readonly store: string | undefined
  readonly items: readonly { readonly item: T; readonly at: number }[]
}

const groupsOf = <T>(items: readonly T[], store: (item: T) => string | undefined): readonly Group<T>[] =>
  [
    ...Map.groupBy(
      items.map((item, at) => ({ item, at })),
      ({ item }) => store(item),
    ),
  ].map(([name, some]) => ({ store: name, items: some }))

const inOrder = <T, R>(groups: readonly Group<T>[], answers: readonly (readonly R[])[]): readonly R[] => {
  const all: R[] = []
  for (const [i, { items }] of groups.entries())
    for (const [j, { at }] of items.entries()) all[at] = answers[i]![j]!
  return all
}

/** Like Promise.all, but the others are waited for too: one that is down must not hide how they ended. */
const together = async <T>(works: readonly Promise<T>[]): Promise<readonly T[]> => {
  await Promise.allSettled(works)
  return Promise.all(works)
}

/** As a transport sees it that keeps claims itself: only the app's own are asked of it. */
export const withOwnClaims = (subscription: Subscription): Subscription => {
  const { ledgerKey } = subscription
  if (!ledgerKey) return subscription
  return {
    ...subscription,
    ledgerKey: (parcel, redelivered) => {
      const key = ledgerKey(parcel, redelivered)
      return key?.store === undefined ? key : undefined
    },
  }
}

/** A settler for each store: where one ledger is down, what another keeps is settled all the same. */
export const settlerByStore = (make: () => Settler): Settler => {
  const settlers = new Map<string | undefined, Settler>()
  const settlerFor = ({ held }: Step): Settler => {
    const store = held?.key.store
    let settler = settlers.get(store)
    if (!settler) {
      settler = make()
      settlers.set(store, settler)
    }
    return settler
  }
  return {
    settle: (step, answer) => settlerFor(step).settle(step, answer),
    leave: () => {
      for (const settler of settlers.values()) settler.leave()
    },
    idle: async () => {
      await Promise.all([...settlers.values()].map((settler) => settler.idle()))
    },
  }
}
