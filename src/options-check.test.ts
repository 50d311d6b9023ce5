import { expect, it } from 'vitest'
import { reprieve } from './index.ts'

it.each([
  [null, /found null for the options/, /write \{ transport: 'sqlite:app\.db' \}/],
  [{ trasport: 'memory:' }, /reprieve\(\): it knows no 'trasport'/, /did you mean 'transport'/],
  [{ rules: 5 }, /found 5 for 'rules', expected a text or an object/, /reprieve\.yaml/],
  [{ journal: console }, /found an object for 'journal'/, /=>/],
  [{ as: 5 }, /found 5 for 'as'/, /'ann'/],
  [{ transport: 5 }, /found 5 for 'transport', expected a text/, /sqlite:app\.db/],
])('options that are none are refused with a fix: %j', async (options, what, fix) => {
  await expect(reprieve(options as never)).rejects.toMatchObject({
    code: 'bad_usage',
    message: expect.stringMatching(what),
    fix: expect.stringMatching(fix),
  })
})

it('whoever keeps more in the same object may', async () => {
  const config = { transport: 'memory:', greeting: 'hello' }
  await using app = await reprieve(config)
  expect(app.transport.name).toBe('memory')
})
