import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { sweep } from '../rabbitmq/sweep.ts'
import { describeWith } from '../services/urls.ts'
import { cli, folderWith, startCli } from './child.ts'

describeWith(
  'amqp',
  'a message on RabbitMQ that kills its process, which is back before its claim runs out',
  (url) => {
    it.each(['dedup', 'upsert'])('is quarantined after three deaths, idempotency %s', async (pattern) => {
      const service = `killer-${randomUUID().slice(0, 8)}`
      const type = `${service}.asked`
      const cwd = folderWith({
        'handlers.ts': `export default (app: any) => {
  app.service('${service}').on('${type}', () => process.exit(1))
}
`,
        'reprieve.yaml': `version: 1\nservices: { ${service}: { lease: 4s, idempotency: { pattern: ${pattern} } } }\n`,
      })
      onTestFinished(() => sweep(url, service, type))
      const from = ['--transport', url, '--store', 'sqlite:app.db']
      const run = startCli(['run', 'handlers.ts', ...from], { cwd })
      await run.said('started')
      await cli(['publish', type, '{}', '--id', 'k-1', ...from], { cwd })
      await run.said('the process died 3 times on it')
      run.signal('SIGTERM')
      const { stdout } = await run.ended
      expect(stdout.match(/ended with code 1/g)).toHaveLength(3)
    })
  },
)
