import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { connect } from 'amqplib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Permanent, reprieve } from '../../src/index.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'
import { cli, folderWith } from './child.ts'

/** A store in which one letter lies, of a service that buries at `_mail-svc.deadletter`. */
const withLetter = async (service: string) => {
  const cwd = folderWith()
  const store = `sqlite:${join(cwd, 'app.db')}`
  await using app = await reprieve({ transport: store })
  app.service(service).on('task.created', () => {
    throw new Permanent('no such box')
  })
  await app.start()
  await app.publish('task.created', {})
  await until('its letter', async () => (await app.office.count({})) === 1)
  const [group] = await app.office.groups()
  return { cwd, store, fingerprint: group!.fingerprint, id: (await app.office.list())[0]!.letter.id }
}

describe('the command line where no broker answers', () => {
  it('shows what the store has, says what is missing, and takes orders; what needs the broker says so', async () => {
    const { cwd, store, fingerprint, id } = await withLetter('mail-svc')
    const at = (transport: string, ...line: readonly string[]) =>
      cli([...line, '--transport', transport, '--store', store], { cwd })
    const rabbit = (...line: readonly string[]) => at('amqp://127.0.0.1:1', ...line)
    const [groups, listed, tended, paused, replayed] = await Promise.all([
      rabbit('dlq', 'groups'),
      at('kafka://127.0.0.1:1', 'dlq', 'list', '--json'),
      rabbit('dlq', 'tend', fingerprint, '--owner', 'ann'),
      rabbit('pause', 'mail-svc', '--force'),
      rabbit('dlq', 'replay', id),
    ])
    for (const { code, stdout, stderr } of [groups, listed, tended]) {
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('no such box') })
      expect(stderr).toMatch(/ECONNREFUSED.*letters that still lie there are not among them; fix: start /)
    }
    expect(tended.stdout).toMatch(/owner +ann/)
    expect(paused).toMatchObject({ code: 0, stdout: expect.stringContaining('mail-svc pauses') })
    expect(replayed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('nothing listens'),
    })
  })
})

describeWith('amqp', 'the command line where one destination cannot be had', (transport) => {
  it('shows the letters that there are, and says which destination it was', async () => {
    const service = `away-${randomUUID().slice(0, 8)}`
    const { cwd, store } = await withLetter(service)
    const connection = await connect(transport)
    onTestFinished(() => connection.close())
    // to everybody else it is locked
    const channel = await connection.createChannel()
    await channel.assertQueue(`_${service}.deadletter`, { exclusive: true })
    const { code, stdout, stderr } = await cli(['dlq', 'list', '--transport', transport, '--store', store], {
      cwd,
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('no such box') })
    expect(stderr).toContain(`_${service}.deadletter`)
    expect(stderr).toContain('there may be more')
  })
})
