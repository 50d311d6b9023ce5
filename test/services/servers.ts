import { kafka } from './kafka.ts'
import { postgres } from './postgres.ts'
import { rabbitmq } from './rabbitmq.ts'
import { redis } from './redis.ts'
import type { Server } from './server.ts'

export const servers: readonly Server[] = [rabbitmq, kafka, postgres, redis]
