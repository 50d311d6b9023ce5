import { outageSuite } from '../../../test/stores/outage.ts'
import { ownPostgres } from '../../../test/stores/own-server.ts'
import { deskAt } from '../../../test/stores/postgres.ts'

outageSuite({ service: 'postgres', called: 'PostgreSQL', own: ownPostgres, deskAt })
