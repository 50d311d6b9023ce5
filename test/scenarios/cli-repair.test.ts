import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { open } from '../../src/adapters/sqlite/index.ts'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import { sampleLetters } from '../../src/testing/letters.ts'
import { cli, folderWith } from './child.ts'

const EVIL = '\u001b[31m\u202eevil\u2066\u0007'
const SAFE = /^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f]*$/

/** A store with two letters, one of which others wrote to do harm. */
const withLetters = async (cwd: string) => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => undefined }
  const { transport, store } = await open(`sqlite:${join(cwd, 'reprieve.db')}`, tools)
  const letters = sampleLetters(2, systemClock.now()).map((letter, n) => {
    const data = Buffer.from(JSON.stringify(n === 0 ? { a: EVIL, [EVIL]: 1, mail: 'x' } : { n }))
    const headers = { ...letter.event.headers, 'x-evil': EVIL, 'x-old': '1' }
    return { ...letter, event: { ...letter.event, data, headers } }
  })
  await store.letters.keep(letters)
  await transport.close()
  await store.close()
  return letters.map(({ id }) => id)
}

describe('reprieve dlq repair', () => {
  it('shows what others wrote inert, in a dry run and in a diff', async () => {
    const cwd = folderWith({
      'patch.json': JSON.stringify([{ op: 'replace', path: '/a', value: `${EVIL}2` }]),
    })
    const [evil] = await withLetters(cwd)
    const change = [
      '--patch',
      'patch.json',
      '--unset',
      '$.mail',
      '--header',
      `x-new=${EVIL}`,
      '--drop-header',
      'x-old',
    ]
    const dry = await cli(['dlq', 'repair', evil!, ...change, '--dry-run'], { cwd })
    expect(dry).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/- \$\.a {2}"\\u001b\[31m<U\+202E>evil/),
    })
    expect(dry.stdout).toContain('- headers.x-old  "1"')
    await cli(['dlq', 'repair', evil!, ...change, '--reason', EVIL], { cwd })
    const diff = await cli(['dlq', 'diff', evil!.slice(0, 8)], { cwd })
    const shown = await cli(['dlq', 'show', evil!], { cwd })
    const json = await cli(['dlq', 'diff', evil!, '--json'], { cwd })
    for (const { stdout, stderr } of [dry, diff, shown, json]) expect(stdout + stderr).toMatch(SAFE)
    expect(diff.stdout).toContain('version 1')
    expect(shown.stdout).toContain('repaired          version 1 by ')
    expect(JSON.parse(json.stdout).versions[0].differences).toContainEqual({ path: '$.mail', before: '"x"' })
  })

  it('never takes everything because nothing was said, and shows where a mistake is', async () => {
    const cwd = folderWith({ 'bad.json': '[{"op":"merge"}]' })
    const [one, two] = await withLetters(cwd)
    const wrong = async (...args: string[]) => {
      const { code, stderr } = await cli(['dlq', ...args], { cwd })
      expect(code).toBe(2)
      return stderr
    }
    expect(await wrong('repair', '--set', '$.a=1')).toContain('nothing is selected')
    expect(await wrong('restore', one!, '--service', 'mail-svc')).toContain('one of them, not both')
    expect(await wrong('repair', one!, '--set', '$.a.=1')).toMatch(
      /a name is missing after the dot.*\n {2}\$\.a\.\n {5}\^/,
    )
    expect(await wrong('repair', one!, '--patch', 'bad.json')).toContain('operation 1')
    expect(await wrong('repair', one!, '--undo', '3')).toContain('no earlier version 3')
    expect(await wrong('repair', '--service', 'mail-svc', '--undo', '0')).toContain('the id of one letter')

    const partly = await cli(['dlq', 'repair', '--service', 'mail-svc', '--rename', '$.n=$.m', '--json'], {
      cwd,
    })
    expect(partly.code).toBe(1)
    expect(JSON.parse(partly.stdout)).toMatchObject({
      repaired: [two],
      skipped: [{ id: one, because: 'there is no $.n' }],
      dryRun: false,
    })
  })
})
