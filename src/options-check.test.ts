import { expect, it } from 'vitest'
import { reprieve } from './index.ts'

it.each([
  [null, /are no object/, /leave them out/],
  [{ trasport: 'memory:' }, /no option 'trasport'/, /did you mean 'transport'/],
  [{ transport: 5 }, /'transport' .* is no text/, /sqlite:app\.db/],
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
