import { z } from 'zod'

/**
 * What we let out. Dapr's own reading is lax: a field it does not know is skipped, an undefined name is a silent no-op
 * or a panic for each request, and a value it can't read drops the whole document with one line in the log. So every
 * document is held against this before anyone sees it.
 */

const duration = z.string().regex(/^\d+(ms|s)$/)
const name = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/)
const resource = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/)
  .max(253)
const metadata = z.strictObject({ name: resource, namespace: name.optional() })
const statuses = z.string().regex(/^[1-5]\d\d(-[1-5]\d\d)?(,[1-5]\d\d(-[1-5]\d\d)?)*$/)

/** `duration` belongs to constant, `maxInterval` to exponential; each is silently skipped with the other. */
const retry = z.discriminatedUnion('policy', [
  z.strictObject({
    policy: z.literal('constant'),
    duration: duration.optional(),
    maxRetries: z.int().min(0),
    matching: z.strictObject({ httpStatusCodes: statuses }).optional(),
  }),
  z.strictObject({
    policy: z.literal('exponential'),
    maxInterval: duration,
    maxRetries: z.int().min(1),
    matching: z.strictObject({ httpStatusCodes: statuses }).optional(),
  }),
])

/** No `interval`: see breakers.ts. A misspelt variable in `trip` would never trip, and say nothing. */
const circuitBreaker = z.strictObject({
  maxRequests: z.int().min(1),
  timeout: duration,
  trip: z.string().regex(/^consecutiveFailures >= [1-9]\d*$/),
})

const target = z.strictObject({
  retry: name.optional(),
  timeout: name.optional(),
  circuitBreaker: name.optional(),
})

export const resiliencySchema = z
  .strictObject({
    apiVersion: z.literal('dapr.io/v1alpha1'),
    kind: z.literal('Resiliency'),
    metadata,
    scopes: z.array(name).min(1).optional(),
    spec: z.strictObject({
      policies: z.strictObject({
        retries: z.record(name, retry),
        timeouts: z.record(name, duration),
        circuitBreakers: z.record(name, circuitBreaker),
      }),
      targets: z.strictObject({
        components: z
          .record(name, z.strictObject({ inbound: target.optional(), outbound: target.optional() }))
          .optional(),
        apps: z.record(name, target).optional(),
      }),
    }),
  })
  .superRefine(({ spec: { policies, targets } }, context) => {
    const look = (where: readonly string[], each: Target | undefined) => {
      const refuse = (field: keyof Target, known: object) => {
        const used = each?.[field]
        if (used === undefined || Object.hasOwn(known, used)) return
        context.addIssue({
          code: 'custom',
          path: ['spec', 'targets', ...where, field],
          message: `'${used}' is not defined`,
        })
      }
      refuse('retry', policies.retries)
      refuse('timeout', policies.timeouts)
      refuse('circuitBreaker', policies.circuitBreakers)
    }
    for (const [app, each] of Object.entries(targets.apps ?? {})) look(['apps', app], each)
    for (const [component, { inbound, outbound }] of Object.entries(targets.components ?? {})) {
      look(['components', component, 'inbound'], inbound)
      look(['components', component, 'outbound'], outbound)
    }
  })

export const subscriptionSchema = z.strictObject({
  apiVersion: z.literal('dapr.io/v2alpha1'),
  kind: z.literal('Subscription'),
  metadata,
  scopes: z.array(name).length(1),
  spec: z.strictObject({
    pubsubname: name,
    topic: z.string().min(1),
    deadLetterTopic: name,
    routes: z.strictObject({
      rules: z
        .array(z.strictObject({ match: z.string().min(1), path: z.string().startsWith('/') }))
        .optional(),
      default: z.string().startsWith('/'),
    }),
  }),
})

export type Retry = z.output<typeof retry>
export type CircuitBreaker = z.output<typeof circuitBreaker>
export type Target = z.output<typeof target>
export type ResiliencyDocument = z.output<typeof resiliencySchema>
export type SubscriptionDocument = z.output<typeof subscriptionSchema>

/** Our own mistake if it does not hold, never the user's. */
export const held = <T>(schema: z.ZodType<T>, document: T): T => {
  const read = schema.safeParse(document)
  if (read.success) return document
  throw new Error(`the rendered Dapr document does not hold:\n${z.prettifyError(read.error)}`)
}
