import { readdirSync } from 'node:fs'
import { connect } from 'amqplib'
import { describe, expect, it } from 'vitest'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { cli, folderWith } from './child.ts'

const BOOK = `version: 1
services:
  mail-svc:
    timeout: 35s
    dependencies: [smtp]
    events: { order.placed: { policy: patient }, order.paid: { policy: critical } }
`
const files = { 'reprieve.yaml': BOOK }
const run = (args: readonly string[], cwd = folderWith(files)) => cli(['doctor', ...args], { cwd })

interface Answer {
  readonly wrong: number
  readonly risky: number
  readonly places: readonly {
    readonly as: string
    readonly url: string
    readonly findings: readonly {
      readonly check: string
      readonly level: string
      readonly where: string
      readonly what: string
    }[]
  }[]
}
const answer = (stdout: string): Answer => JSON.parse(stdout) as Answer

describe('reprieve doctor', () => {
  it('ends well where nothing is wrong, and leaves the folder as it was', async () => {
    const cwd = folderWith(files)
    const { code, stdout, stderr } = await run([], cwd)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^rules .*reprieve\.yaml {2}fine\ntransport sqlite:reprieve\.db {2}fine\n\n0 wrong, 0 risky, /,
    )
    expect(readdirSync(cwd)).toEqual(['reprieve.yaml'])
  })

  it('tells what is wrong, where, why and how to mend it, and what is fine when asked', async () => {
    const { code, stdout } = await run(['--transport', 'sqlite:gone/app.db', '--all'])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^ {2}wrong sqlite-file {2}gone\/app\.db: there is no folder 'gone' to make it in\n {8}why: .*\n {8}fix: make it: mkdir -p 'gone'$/m,
    )
    expect(stdout).toMatch(/^ {2}fine {2}sqlite-version {2}/m)
  })

  it('answers programs in JSON; what is risky counts only with --strict', async () => {
    const { code, stdout } = await run(['--transport', 'memory:', '--json'])
    expect(code).toBe(0)
    expect(answer(stdout)).toMatchObject({
      wrong: 0,
      risky: 1,
      places: [
        { as: 'rules', findings: [{ check: 'rules', level: 'fine' }] },
        {
          as: 'transport',
          url: 'memory:',
          findings: [{ check: 'answers' }, { check: 'memory-keeps-nothing', level: 'risky' }],
        },
      ],
    })
    expect((await run(['--transport', 'memory:', '--strict'])).code).toBe(1)
  })

  it('counts what lint finds, for this transport and so many processes, and points there', async () => {
    const wrong = { 'reprieve.yaml': BOOK.replace('policy: critical', 'policy: critical, order: key') }
    const ordered = await run(
      ['--transport', 'amqp://127.0.0.1:1', '--store', 'redis://127.0.0.1:1'],
      folderWith(wrong),
    )
    expect(ordered.code).toBe(1)
    expect(ordered.stdout).toMatch(
      /wrong rules .*lint finds 1 error and 0 warnings.*\n.*why: such as order-not-kept/,
    )
    expect(ordered.stdout).toMatch(/fix: see them all.*reprieve rules lint/)
    const several = await run(['--transport', 'memory:', '--instances', '2'])
    expect(several.stdout).toMatch(/such as memory-ledger/)
    const broken = await run([], folderWith({ 'reprieve.yaml': 'version: 1\nservces: {}\n' }))
    expect(broken.code).toBe(1)
    expect(broken.stdout).toMatch(/such as does-not-load at line 2/)
  })

  it('looks at the store, the board and the stores of the book too, each once', async () => {
    const book = `${BOOK}stores: { fast: 'redis://127.0.0.1:1', same: 'sqlite:own.db' }\n`.replace(
      'timeout: 35s',
      'timeout: 35s\n    idempotency: { store: fast }',
    )
    const cwd = folderWith({ 'reprieve.yaml': book })
    const args = [
      '--transport',
      'amqp://127.0.0.1:1',
      '--store',
      'sqlite:own.db',
      '--board',
      'redis://127.0.0.1:1',
    ]
    // a password that is a word of ours makes no hole in it, which would tell what it is
    const env = { REPRIEVE_RABBITMQ_PASSWORD: 'transport' }
    const { code, stdout } = await cli(['doctor', ...args, '--json'], { cwd, env })
    expect(code).toBe(1)
    const { places } = answer(stdout)
    expect(places[1]!.findings.map(({ where }) => where)).toEqual(['transport'])
    expect(places.map(({ as, url }) => `${as} ${url}`)).toEqual([
      expect.stringMatching(/^rules /),
      'transport amqp://127.0.0.1:1',
      'store sqlite:own.db',
      'board redis://127.0.0.1:1',
    ])
  })

  it.for([
    ['amqp://user:not-to-be-shown@127.0.0.1:1', /RabbitMQ at 127\.0\.0\.1:1: nothing listens/],
    ['kafka://user:not-to-be-shown@127.0.0.1:1', /kafka at 127\.0\.0\.1:1: could not connect/],
  ] as const)('nobody at %s is a finding with a fix, without a stack or a secret', async ([url, message]) => {
    const { code, stdout, stderr } = await run(['--transport', url])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(message)
    expect(stdout).toMatch(/fix: start /)
    expect(stdout).not.toMatch(/not-to-be-shown|^\s+at /m)
  })

  it.each([
    ['amqp://127.0.0.1:1/not-to-be-shown', { REPRIEVE_RABBITMQ_PASSWORD: 'not-to-be-shown' }],
    [
      'amqp://127.0.0.1:1/not-to-be-shown',
      { REPRIEVE_RABBITMQ_MANAGEMENT: 'http://ann:not-to-be-shown@host' },
    ],
  ])(
    'a password of the environment is not repeated, though the broker at %s be named by it: %o',
    async (url, env) => {
      const { stdout } = await cli(['doctor', '--transport', url, '--json'], { cwd: folderWith(files), env })
      const { findings } = answer(stdout).places.find(({ as }) => as === 'transport')!
      expect(findings.map(({ what }) => what)).toContainEqual(
        expect.stringMatching(/RabbitMQ at 127\.0\.0\.1:1\/\*\*\*: nothing listens/),
      )
      expect(JSON.stringify(findings)).not.toContain('not-to-be-shown')
    },
  )

  it.for([
    [['--transport', 'mqtt://x'], /no adapter opens 'mqtt:\/\/x'/],
    [['--store', 'mqtt://u:not-to-be-shown@x'], /no adapter opens 'mqtt:\/\/\*\*\*@x'/],
    [['--store', 'kafka://127.0.0.1:1'], /can't serve as a store/],
    [['--transport', 'amqp://'], /not an amqp:\/\/ or amqps:\/\/ URL/],
    [['--transport', 'redis://127.0.0.1'], /no adapter opens/],
    [['--rules', 'gone.yaml'], /gone\.yaml can't be read/],
    [['--instances', 'none'], /It must be a whole number/],
    [['--bogus'], /unknown option '--bogus'/],
  ] as const)('used wrongly: %s', async ([args, message]) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/not-to-be-shown|^\s+at /m)
  })
})

const unique = (): string => `doctor-${systemDice().uuid()}`

describeWith('amqp', 'reprieve doctor on a real RabbitMQ', (url) => {
  it('finds a queue of the book that exists with other arguments', async () => {
    const service = unique()
    const queue = `${service}.order.placed`
    const connection = await connect(url)
    const channel = await connection.createChannel()
    await channel.assertQueue(queue, { arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': 3 } })
    try {
      const cwd = folderWith({ 'reprieve.yaml': BOOK.replace('mail-svc', service) })
      const { code, stdout } = await run(['--transport', url, '--store', 'sqlite:own.db'], cwd)
      expect(code).toBe(1)
      expect(stdout).toContain(`wrong rabbitmq-differs  queue ${queue}: it exists with another`)
      expect(stdout).toMatch(/^1 wrong, /m)
    } finally {
      await channel.deleteQueue(queue)
      await connection.close()
    }
  })

  it('tells wrong credentials without showing them, and a virtual host that is not there', async () => {
    const wrong = url.replace(/\/\/.*@/, '//guest:not-to-be-shown@')
    const refused = await run(['--transport', wrong, '--json'])
    expect(refused.code).toBe(1)
    expect(refused.stdout).toMatch(/the user 'guest' was refused/)
    expect(refused.stdout + refused.stderr).not.toContain('not-to-be-shown')
    const nowhere = await run(['--transport', `${url.replace(/\/$/, '')}/not-there`])
    expect(nowhere.stdout).toMatch(/wrong answers {2}transport: .*the virtual host 'not-there' was refused/)
  })
})

describeWith('kafka', 'reprieve doctor on a real Kafka', (url) => {
  it('says that the topics of the book will be made', async () => {
    const cwd = folderWith({
      'reprieve.yaml': BOOK.replace('mail-svc', unique()).replaceAll('order.', `${unique()}.`),
    })
    const { code, stdout } = await run(['--transport', kafkaUrl(url), '--all'], cwd)
    expect(code).toBe(0)
    expect(stdout).toMatch(/fine {2}kafka-missing {2}topics: 10 are not there yet and will be made/)
  })
})

describeWith('postgres', 'reprieve doctor on a real PostgreSQL', (url) => {
  it('looks at the ledger that the book names, by its own URL', async () => {
    const book = BOOK.replace('timeout: 35s', 'timeout: 35s\n    idempotency: { store: pg }')
    const at = new URL(url)
    at.searchParams.set('schema', `doctor_${Date.now()}`)
    const cwd = folderWith({ 'reprieve.yaml': `${book}stores: { pg: '${at.href}' }\n` })
    const { stdout } = await run(['--all'], cwd)
    expect(stdout).toMatch(/^store pg postgres:\/\/\*\*\*@/m)
    expect(stdout).toMatch(/fine {2}postgres-schema {2}schema doctor_\d+: not there yet; it will be made/)
  })
})
