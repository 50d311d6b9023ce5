import type { Parcel } from '../../core/parcel.ts'
import { type Fate, isOver, nameOf } from './fate.ts'

/** Order by key, as the model knows it: the events of each key in the order in which the world took them in. */
export interface Lines {
  /** The world has it now, for the first time. */
  enter(fate: Fate): void
  /** All of its key; empty where it has none. */
  of(fate: Fate): readonly Fate[]
  /** Its key is held behind a dead letter: nothing of it moves until somebody does something about that. */
  isHeld(fate: Fate): boolean
  /** Ids of the letters that hold keys. */
  holding(): readonly string[]
}

export const createLines = (): Lines => {
  const lines = new Map<string, Fate[]>()
  const of = ({ service, orderKey }: Fate): readonly Fate[] =>
    orderKey === undefined ? [] : (lines.get(nameOf({ service, id: orderKey })) ?? [])
  return {
    enter: (fate) => {
      if (fate.orderKey === undefined) return
      const name = nameOf({ service: fate.service, id: fate.orderKey })
      lines.set(name, [...(lines.get(name) ?? []), fate])
    },
    of,
    isHeld: (fate) => fate.holds && of(fate).some(({ holding }) => holding !== undefined),
    holding: () => [...lines.values()].flat().flatMap(({ holding }) => holding ?? []),
  }
}

/** Whether those behind it may go on: where the dead hold their key, only when it went well or was given up. */
export const letsGo = (fate: Fate): boolean =>
  fate.holds ? fate.doneAt !== undefined || fate.freed : isOver(fate)

/** A replay takes the place of the dead one that holds its key. */
export const isRevival = ({ holding }: Fate, { trail }: Parcel): boolean =>
  holding !== undefined && trail.replay?.letter === holding
