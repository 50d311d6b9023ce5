import { describe, expect, it } from 'vitest'
import { roomOf, sources } from './source.ts'

/** Who may know whom. An adapter knows itself, never another. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  contracts: ['core'],
  rules: ['core'],
  runtime: ['contracts', 'core', 'rules'],
  office: ['contracts', 'core', 'rules'],
  testing: ['contracts', 'core', 'rules', 'runtime', 'office', 'adapters/memory'],
}
const ADAPTER = ['contracts', 'core']

const all = sources()

const allowed = (from: string): readonly string[] | 'all' => {
  if (from === 'house' || from === 'cli') return 'all'
  return from.startsWith('adapters/') ? ADAPTER : (ARROWS[from] ?? [])
}

describe('the arrows between rooms', () => {
  it('point only where the design lets them', () => {
    const wrong = all.flatMap(({ path, imports }) => {
      const from = roomOf(path)
      const may = allowed(from)
      return imports
        .filter((to) => may !== 'all' && roomOf(to) !== from && !may.includes(roomOf(to)))
        .map((to) => `${path} → ${to}`)
    })
    expect(wrong).toEqual([])
  })

  it('nobody but the command line imports the command line', () => {
    const wrong = all.filter(
      ({ path, imports }) => roomOf(path) !== 'cli' && imports.some((to) => roomOf(to) === 'cli'),
    )
    expect(wrong.map(({ path }) => path)).toEqual([])
  })

  it('lead to files that exist', () => {
    const known = new Set(all.map(({ path }) => path))
    const missing = all.flatMap(({ path, imports }) =>
      imports.filter((to) => !known.has(to)).map((to) => `${path} → ${to}`),
    )
    expect(missing).toEqual([])
  })

  it('make no cycle, types included', () => {
    const graph = new Map(all.map(({ path, imports }) => [path, imports]))
    const done = new Set<string>()
    const cycles: string[] = []
    const walk = (path: string, trail: readonly string[]): void => {
      const at = trail.indexOf(path)
      if (at >= 0) return void cycles.push([...trail.slice(at), path].join(' → '))
      if (done.has(path)) return
      for (const next of graph.get(path) ?? []) walk(next, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) walk(path, [])
    expect(cycles).toEqual([])
  })

  it('reach a client library only through an adapter', () => {
    const clients = ['amqplib', '@platformatic/kafka', '@redis/client', 'pg', 'node:sqlite']
    const wrong = all.filter(
      ({ path, packages }) =>
        !path.startsWith('src/adapters/') && packages.some((name) => clients.includes(name)),
    )
    expect(wrong.map(({ path }) => path)).toEqual([])
  })
})
