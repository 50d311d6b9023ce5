import { outageSuite } from '../../../test/stores/outage.ts'
import { ownRedis } from '../../../test/stores/own-server.ts'
import { deskAt } from '../../../test/stores/redis.ts'

outageSuite({ service: 'redis', called: 'Redis', own: ownRedis, deskAt })
