import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { ReprieveError } from '../../core/error.ts'
import { type TestTools, testTools } from '../../testing/tools.ts'
import { type File, openFile } from './file.ts'
import { type Writer, writerOf } from './writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-writer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const opened: File[] = []
afterEach(() => {
  for (const file of opened.splice(0)) file.drop()
})

interface Desk {
  readonly file: File
  readonly tools: TestTools
  readonly writer: Writer
  readonly undone: () => void
  put(n: number): void
  kept(): readonly number[]
}

let files = 0

const desk = async (change: (file: File) => File = (file) => file, tidy = () => {}): Promise<Desk> => {
  const tools = testTools()
  const file = change(await openFile(join(folder, `${++files}.db`), tools))
  opened.push(file)
  file.sql('CREATE TABLE n (n INTEGER, filler BLOB)').run()
  const undone = vi.fn()
  return {
    file,
    tools,
    undone,
    writer: writerOf(file, tools, { tidy, undone }),
    put: (n) => void file.sql('INSERT INTO n VALUES (?, zeroblob(1000))').run(n),
    kept: () =>
      file
        .sql('SELECT n FROM n ORDER BY rowid')
        .all()
        .map((row) => row.n as number),
  }
}

describe('a turn of the event loop', () => {
  it('is one commit, whatever was asked for in it', async () => {
    const { writer, put, kept } = await desk()
    await Promise.all([1, 2, 3, 4, 5].map((n) => writer.write(() => put(n))))
    expect(kept()).toEqual([1, 2, 3, 4, 5])
    expect(writer.counts()).toEqual({ commits: 1, jobs: 5, rows: 5 })
    await writer.write(() => put(6))
    expect(writer.counts()).toEqual({ commits: 2, jobs: 6, rows: 6 })
  })

  it('takes no more than it can do without stopping the others', async () => {
    const { writer, put, kept } = await desk()
    await Promise.all(Array.from({ length: 25 }, (_, n) => writer.write(() => put(n), 100)))
    expect(kept()).toHaveLength(25)
    expect(writer.counts().commits).toBe(3)
  })

  it('does looks last, so that they see what the others wrote', async () => {
    const { writer, put, kept } = await desk()
    const wanted = vi.fn(() => true)
    const seen = writer.writeIf(wanted, kept)
    await writer.write(() => put(1))
    expect(await seen).toEqual([1])
    expect(wanted).not.toHaveBeenCalled()
    expect(writer.counts().commits).toBe(1)
  })

  it('with nothing but looks in vain is no commit', async () => {
    const { writer, kept, put } = await desk()
    const looks = [writer.writeIf(() => false, kept), writer.writeIf(() => false, kept)]
    expect(await Promise.all(looks)).toEqual([undefined, undefined])
    expect(writer.counts().commits).toBe(0)
    await Promise.all([
      writer.writeIf(
        () => true,
        () => put(1),
      ),
      writer.writeIf(
        () => false,
        () => put(2),
      ),
    ])
    expect(kept()).toEqual([1])
  })

  it("lets one caller's mistake be that caller's", async () => {
    const { writer, put, kept } = await desk()
    const mistake = new ReprieveError('unheard', 'nobody listens')
    const jobs = [
      writer.write(() => put(1)),
      writer.write(() => {
        throw mistake
      }),
      writer.write(() => put(2)),
    ]
    const [, refused] = await Promise.allSettled(jobs)
    expect(refused).toEqual({ status: 'rejected', reason: mistake })
    expect(kept()).toEqual([1, 2])
    expect(writer.counts().commits).toBe(1)
  })

  it('that one job breaks is done again, each job by itself, and the broken one leaves nothing', async () => {
    const { writer, put, kept, undone, tools } = await desk()
    const jobs = [
      writer.write(() => put(1)),
      writer.write(() => {
        put(666)
        throw new TypeError('unforeseen')
      }),
      writer.write(() => put(2)),
    ]
    const outcomes = await Promise.allSettled(jobs)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: { message: 'unforeseen' } })
    expect(kept()).toEqual([1, 2])
    expect(undone).toHaveBeenCalledTimes(2)
    expect(tools.facts).toMatchObject([{ is: 'trouble' }])
  })
})

it('tidying that fails is told to the journal, and nobody else notices', async () => {
  const tidy = () => {
    throw new Error('a mistake of ours')
  }
  const { writer, put, kept, tools } = await desk((file) => file, tidy)
  await writer.write(() => put(1))
  expect(kept()).toEqual([1])
  expect(tools.facts).toMatchObject([{ is: 'trouble', error: { message: 'a mistake of ours' } }])
})

describe('another program at the same file', () => {
  const locked = ({ file }: Desk): DatabaseSync => {
    const other = new DatabaseSync(file.path)
    other.exec('BEGIN IMMEDIATE')
    return other
  }

  it('is waited for without stopping anyone; what comes meanwhile joins the same commit', async () => {
    const at = await desk()
    const other = locked(at)
    const first = at.writer.write(() => at.put(1))
    await at.tools.clock.advance(20_000)
    const second = at.writer.write(() => at.put(2))
    await at.tools.clock.advance(9_000)
    expect(at.writer.counts().commits).toBe(0)
    other.exec('COMMIT')
    await at.tools.clock.runUntil(Promise.all([first, second]))
    expect(at.kept()).toEqual([1, 2])
    expect(at.writer.counts().commits).toBe(1)
    other.close()
  })

  it('that never lets go is reported, and work goes on when it does', async () => {
    const at = await desk()
    const other = locked(at)
    const refused = expect(at.writer.write(() => at.put(1))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('write lock'),
    })
    await at.tools.clock.advance(31_000)
    await refused
    other.exec('COMMIT')
    await at.writer.write(() => at.put(2))
    expect(at.kept()).toEqual([2])
    other.close()
  })

  it('does not keep anyone from reading', async () => {
    const at = await desk()
    await at.writer.write(() => at.put(1))
    const other = locked(at)
    expect(await at.writer.read(at.kept)).toEqual([1])
    other.close()
  })
})

describe('a disk that fails', () => {
  it('full: everyone of that turn hears it, nothing is half kept, and it goes on when there is space', async () => {
    const { file, writer, put, kept } = await desk()
    await writer.write(() => put(1))
    const pages = file.sql('PRAGMA page_count').get()!.page_count as number
    file.sql(`PRAGMA max_page_count = ${pages + 4}`).get()
    const jobs = Array.from({ length: 40 }, (_, n) => writer.write(() => put(100 + n)))
    for (const outcome of await Promise.allSettled(jobs)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'unavailable', message: expect.stringContaining('disk is full') },
      })
    }
    expect(kept()).toEqual([1])
    file.sql(`PRAGMA max_page_count = ${pages + 400}`).get()
    await writer.write(() => put(2))
    expect(kept()).toEqual([1, 2])
  })

  it('failing to write: the file is opened anew before anything is promised again', async () => {
    let failing = 1
    const drop = vi.fn()
    const at = await desk((file) => ({
      ...file,
      commit: () => {
        if (failing-- > 0)
          throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 1034 })
        file.commit()
      },
      drop: () => {
        drop()
        file.drop()
      },
    }))
    const jobs = [at.writer.write(() => at.put(1)), at.writer.write(() => at.put(2))]
    for (const outcome of await Promise.allSettled(jobs)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'unavailable', message: expect.stringContaining('unknown') },
      })
    }
    expect(drop).toHaveBeenCalledTimes(1)
    await at.writer.write(() => at.put(3))
    expect(at.kept()).toEqual([3])
    expect(at.file.sql('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  })
})

describe('close', () => {
  it('lets what is queued finish, and refuses what comes after', async () => {
    const { writer, put, kept } = await desk()
    const last = writer.write(() => put(1))
    await writer.close()
    await last
    expect(kept()).toEqual([1])
    await expect(writer.write(() => put(2))).rejects.toMatchObject({ code: 'closed' })
    await expect(writer.read(kept)).rejects.toMatchObject({ code: 'closed' })
  })
})
