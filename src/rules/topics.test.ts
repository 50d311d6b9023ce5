import { describe, expect, it } from 'vitest'
import { emptyBook } from './book.ts'
import { readRules } from './load.ts'
import { knownTypes, topicOf, topicsFor } from './topics.ts'

const book = readRules(
  [
    'version: 1',
    'topics:',
    '  tasks: [todo.task.*]',
    '  all-todo: { types: [todo.*, extra] }',
    '  runs: [ml.run.*, ml.run.started]',
    '  starts: [ml.run.first]',
    'services:',
    '  s: { events: { todo.task.created: , ml.trial.ended: , ml.*: , ui.click: } }',
  ].join('\n'),
  'book.yaml',
)

describe('topics', () => {
  it.each([
    ['todo.task.created', 'tasks'],
    ['todo.list.created', 'all-todo'],
    ['extra', 'all-todo'],
    ['ml.run.ended', 'runs'],
    ['ml.run.first', 'starts'],
    ['ml.trial.ended', 'ml.trial.ended'],
    ['unheard.of', 'unheard.of'],
  ])('%s is published on %s', (type, topic) => {
    expect(topicOf(book, type)).toBe(topic)
  })

  it('without a book each type has its own', () => {
    expect(topicOf(emptyBook, 'a.b')).toBe('a.b')
    expect(topicsFor(emptyBook, 'a.*', true)).toEqual(['a.*'])
    expect(topicsFor(emptyBook, 'a.*', false)).toEqual([])
  })

  it('the book knows the types it calls by name', () => {
    expect(knownTypes(book)).toEqual([
      'extra',
      'ml.run.first',
      'ml.run.started',
      'ml.trial.ended',
      'todo.task.created',
      'ui.click',
    ])
  })

  it.each<[pattern: string, patterns: boolean, topics: string[]]>([
    ['todo.task.created', true, ['tasks']],
    ['ui.click', false, ['ui.click']],
    // all of it is mapped: no other topic can carry such a type
    ['todo.task.*', true, ['tasks', 'all-todo']],
    ['todo.task.*', false, ['tasks', 'all-todo']],
    // partly mapped: the rest has topics of its own
    ['ml.*', true, ['runs', 'starts', 'ml.*']],
    ['ml.*', false, ['runs', 'starts', 'ml.trial.ended']],
    ['*', true, ['*']],
    ['*', false, ['tasks', 'all-todo', 'runs', 'starts', 'ml.trial.ended', 'ui.click']],
  ])('%s (patterns: %s) arrives on %j', (pattern, patterns, topics) => {
    expect(topicsFor(book, pattern, patterns)).toEqual(topics)
  })
})
