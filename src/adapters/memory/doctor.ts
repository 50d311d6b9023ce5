import type { Doctor } from '../../contracts/doctor.ts'

export const doctor: Doctor = {
  checks: ['memory-keeps-nothing'],
  examine: async (url) => [
    {
      check: 'memory-keeps-nothing',
      level: 'risky',
      where: url,
      what: 'everything is kept in the memory of one process',
      why: 'what waits, the dead letters and the ledger are gone when it ends, and no other process sees them',
      fix: 'use sqlite:app.db or a broker for anything but a trial',
    },
  ],
}
