import type { Check } from './scope.ts'

/** A queue is called by its service and its topic, with a dot between them, and both may hold dots of their own. */
export const queues: Check = () => {
  const owners = new Map<string, { readonly service: string; readonly topic: string }>()
  return {
    *pair({ service, rules: { topic }, path }) {
      const name = `${service}.${topic}`
      const owner = owners.get(name)
      if (!owner) owners.set(name, { service, topic })
      else if (owner.service !== service)
        yield {
          id: 'queue-shared',
          path,
          reason: `the queue of ${service} for '${topic}' and that of ${owner.service} for '${owner.topic}' are both called '${name}': on RabbitMQ each takes the other's events, and acknowledges them unhandled`,
          fix: 'give one of the services another name, best one without dots',
        }
    },
  }
}
