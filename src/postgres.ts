/** Transactions in a PostgreSQL database of yours, by your own `pg` pool. */
export { postgresTx } from './adapters/postgres/tx.ts'
export type { PostgresTxOptions, TheirClient, TheirPool } from './adapters/postgres/tx-client.ts'
