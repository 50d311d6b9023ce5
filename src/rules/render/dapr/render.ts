import { Document } from 'yaml'
import type { RuleBook } from '../../book.ts'
import type { Loss } from './loss.ts'
import { type DaprOptions, resiliencyOf } from './resiliency.ts'
import { subscriptionsOf } from './subscriptions.ts'

/** One document a file: of several in one Dapr reads only the first. */
export interface DaprFile {
  readonly name: string
  readonly text: string
}

export interface DaprRendering {
  readonly resiliency: DaprFile
  readonly subscriptions: readonly DaprFile[]
  readonly losses: readonly Loss[]
}

/** A13: the rules as Dapr's documents, as far as Dapr goes. What it can't do stands in `losses`. */
export const renderDapr = (book: RuleBook, options: DaprOptions = {}): DaprRendering => {
  const { document, losses } = resiliencyOf(book, options)
  const { documents, losses: others } = subscriptionsOf(book, options)
  return {
    resiliency: { name: 'resiliency.yaml', text: textOf(document, HEADS.resiliency) },
    subscriptions: documents.map((each) => ({
      name: `subscription-${each.metadata.name}.yaml`,
      text: textOf(each, HEADS.subscription),
    })),
    losses: [...losses, ...others],
  }
}

const FROM = ' Rendered from the rule book by `reprieve rules render dapr`: change the book, not this file.'
const HEADS = {
  resiliency: `${FROM}
 maxRetries: 5 means 6 attempts, as 5 retries do in the book. A breaker of N failures opens on the Nth in the book,
 so it is written >= N here.`,
  subscription: FROM,
}

/** Go reads YAML as 1.1 has it: what would be no string there is put in quotes. */
const textOf = (document: object, head: string): string => {
  const yaml = new Document(document, { version: '1.1', aliasDuplicateObjects: false })
  yaml.commentBefore = head
  return yaml.toString({ lineWidth: 0 })
}
