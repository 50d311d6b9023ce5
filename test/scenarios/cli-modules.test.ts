import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, folderWith, startCli } from './child.ts'

const HANDLER = "app.service('mail-svc').on('task.created', () => {})"

describe('reprieve run and a module that does not do as it should', () => {
  it('a file that is no module is told of once, with what to give', async () => {
    const cwd = folderWith({ 'x.json': '{}' })
    const { code, stderr } = await cli(['run', 'x.json'], { cwd })
    expect(code).toBe(2)
    expect(stderr.split('needs an import attribute')).toHaveLength(2)
    expect(stderr).toContain('fix: give the path of a .ts or .js file\n')
  })

  it.each([
    [
      'a default export that waits for ever',
      `export default async (app: any) => { ${HANDLER}; await new Promise(() => {}) }`,
      'the default export of handlers.ts never comes back',
    ],
    [
      'a module that waits for ever at its top',
      `await new Promise(() => {})\nexport default (app: any) => { ${HANDLER} }`,
      'handlers.ts never ends being loaded',
    ],
  ])('%s with nothing left that could end it is refused with the reason', async (_, module, why) => {
    const cwd = folderWith({ 'handlers.ts': module })
    for (const how of [[], ['--no-supervise']]) {
      const { code, stderr } = await cli(['run', 'handlers.ts', ...how], { cwd })
      expect(code).toBe(2)
      expect(stderr).toContain(`${why}: nothing is left to wait for`)
      expect(stderr).toContain('fix: look what it awaits')
      expect(stderr).not.toContain('unsettled')
    }
  })

  it('one that takes long is told of, and serves when it comes back', async () => {
    const cwd = folderWith({
      'handlers.ts': `import { existsSync } from 'node:fs'
export default async (app: any) => {
  ${HANDLER}
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
}`,
    })
    const run = startCli(['run', 'handlers.ts', '--stuck-after', '1s'], { cwd })
    await run.said('the default export of handlers.ts has not come back after 500 ms')
    expect(run.soFar()).not.toContain('started')
    writeFileSync(join(cwd, 'go'), '')
    await run.said('started    mail-svc')
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
})
