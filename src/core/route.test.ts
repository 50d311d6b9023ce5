import { describe, expect, it } from 'vitest'
import type { Event } from './event.ts'
import { freshParcel } from './parcel.ts'
import { route } from './route.ts'
import { freshTrail } from './trail.ts'

const event: Event = { id: '1', source: 's', type: 't', extensions: {}, headers: {}, data: null }
const parcel = freshParcel(event, 0)
const ways = {
  later: 60_000,
  companion: true,
  deadLetter: '_s.deadletter',
  quarantine: '_s.deadletter.quarantine',
}
const trail = { ...freshTrail, spent: 1 }

describe('route', () => {
  it('acknowledges what is done', () => {
    expect(route({ do: 'done' }, parcel, ways, 0)).toEqual({ do: 'ack' })
  })

  it('lets the transport wait as long as it can, and the companion beyond that', () => {
    expect(route({ do: 'retry', due: 60_000, trail }, parcel, ways, 0)).toEqual({
      do: 'later',
      parcel: { event, trail, due: 60_000 },
    })
    expect(route({ do: 'retry', due: 60_001, trail }, parcel, ways, 0)).toMatchObject({ do: 'companion' })
    expect(route({ do: 'retry', due: 90_000, trail }, parcel, ways, 30_000)).toMatchObject({ do: 'later' })
    expect(route({ do: 'hold', due: 90_001, because: 'busy' }, parcel, ways, 30_000)).toEqual({
      do: 'companion',
      parcel: { ...parcel, due: 90_001 },
    })
  })

  it('leaves a long wait with the transport where there is no companion, due when it is due', () => {
    const alone = { ...ways, companion: false }
    expect(route({ do: 'retry', due: 7_200_000, trail }, parcel, alone, 0)).toEqual({
      do: 'later',
      parcel: { event, trail, due: 7_200_000 },
    })
    expect(route({ do: 'hold', due: 7_200_000, because: 'busy' }, parcel, alone, 0)).toEqual({
      do: 'later',
      parcel: { ...parcel, due: 7_200_000 },
    })
  })

  it('holds with the trail as it was', () => {
    expect(route({ do: 'hold', due: 5, because: 'busy' }, parcel, ways, 0)).toEqual({
      do: 'later',
      parcel: { ...parcel, due: 5 },
    })
  })

  it('buries the dead and the poisonous apart', () => {
    const failure = {
      category: 'permanent',
      kind: 'business',
      name: 'E',
      message: 'm',
      because: 'b',
    } as const
    const end = { reason: 'permanent', failure, trail } as const
    expect(route({ do: 'dead', ...end }, parcel, ways, 0)).toEqual({
      do: 'bury',
      to: '_s.deadletter',
      ...end,
    })
    expect(route({ do: 'quarantine', ...end }, parcel, ways, 0)).toMatchObject({
      to: '_s.deadletter.quarantine',
    })
  })
})
