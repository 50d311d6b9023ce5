import { boardTrials } from './board.ts'
import { brokenTrials } from './broken.ts'
import { buryTrials } from './bury.ts'
import { carryTrials } from './carry.ts'
import { claimTrials } from './claims.ts'
import { deadKeyTrials } from './dead-keys.ts'
import { deskTrials } from './desk.ts'
import { forwardTrials } from './forward.ts'
import { groupTrials } from './groups.ts'
import { laterTrials } from './later.ts'
import { leaseTrials } from './lease.ts'
import { ledgerTrials } from './ledger.ts'
import { lettersTrials } from './letters.ts'
import { markingTrials } from './marking.ts'
import { operationTrials } from './operations.ts'
import { orderTrials } from './order.ts'
import { outlineTrials } from './outlines.ts'
import { publishTrials } from './publish.ts'
import { receiveTrials } from './receive.ts'
import { searchTrials } from './search.ts'
import { settleTrials } from './settle.ts'
import { sharingTrials } from './sharing.ts'
import type { Trial } from './trial.ts'
import { turnTrials } from './turns.ts'

export const trials: readonly Trial[] = [
  ...publishTrials,
  ...receiveTrials,
  ...turnTrials,
  ...settleTrials,
  ...laterTrials,
  ...buryTrials,
  ...forwardTrials,
  ...sharingTrials,
  ...leaseTrials,
  ...carryTrials,
  ...brokenTrials,
  ...orderTrials,
  ...deadKeyTrials,
  ...claimTrials,
  ...ledgerTrials,
  ...boardTrials,
  ...lettersTrials,
  ...outlineTrials,
  ...searchTrials,
  ...groupTrials,
  ...deskTrials,
  ...operationTrials,
  ...markingTrials,
]
