import { describe, expect, it } from 'vitest'
import { readUrl } from './url.ts'

describe('a sqlite URL', () => {
  it('names a file, relative or absolute', () => {
    expect(readUrl('sqlite:app.db')).toEqual({ path: 'app.db', poll: 250 })
    expect(readUrl('sqlite:./x/app.db').path).toBe('./x/app.db')
    expect(readUrl('sqlite:/abs/app.db').path).toBe('/abs/app.db')
    expect(readUrl('sqlite:///abs/app.db').path).toBe('/abs/app.db')
  })

  it('may have odd characters encoded, or as they are', () => {
    expect(readUrl('sqlite:my%20app%3F.db').path).toBe('my app?.db')
    expect(readUrl('sqlite:100%.db').path).toBe('100%.db')
  })

  it('may set how often to look for what others wrote', () => {
    expect(readUrl('sqlite:app.db?poll=1s').poll).toBe(1000)
    expect(readUrl('sqlite:app.db?poll=50ms').poll).toBe(50)
    expect(readUrl('sqlite:app.db?poll=1.5m').poll).toBe(90_000)
  })

  it.each([
    ['postgres://here/app', 'no sqlite URL'],
    ['sqlite:', 'names no file'],
    ['sqlite:?poll=1s', 'names no file'],
    ['sqlite::memory:', 'memory:'],
    ['sqlite://host/app.db', 'names a host'],
    ['sqlite:app.db?pol=1s', "unknown setting 'pol'"],
    ['sqlite:app.db?poll=often', "poll 'often'"],
    ['sqlite:app.db?poll=0s', "poll '0s'"],
  ])('%s is refused with a reason and a remedy', (url, why) => {
    expect(() => readUrl(url)).toThrow(
      expect.objectContaining({
        code: 'bad_url',
        message: expect.stringContaining(why),
        fix: expect.any(String),
      }),
    )
  })
})
