import { limitWords } from './phrases.ts'
import type { Topology } from './topology.ts'

/**
 * The topology as a Mermaid flowchart. Nodes have names of ours; what the book calls them stands in quoted labels,
 * where every character that Mermaid or HTML could read is written by its number.
 */
export const topologyMermaid = ({ topics, doors, destinations, receipts }: Topology): string => {
  const topicIds = new Map(topics.map(({ name }, i) => [name, `topic${i + 1}`]))
  const endIds = new Map(destinations.map(({ name }, i) => [name, `letters${i + 1}`]))
  const lines: string[] = ['flowchart LR']
  for (const { name } of topics) lines.push(`  ${topicIds.get(name)}([${label(name)}])`)
  for (const [i, door] of doors.entries()) {
    const id = `door${i + 1}`
    lines.push(`  ${id}[${label(door.service)}]`, `  ${topicIds.get(door.topic)} --> ${id}`)
    for (const [n, policy] of policiesOf(door.rows).entries()) {
      const wait = `wait${i + 1}x${n + 1}`
      lines.push(`  ${wait}{{${label(`${policy.name}: ${limitWords(policy)}`)}}}`)
      lines.push(`  ${id} -->|retry| ${wait} --> ${id}`)
    }
    const ends = new Set(door.rows.map(({ deadLetter }) => deadLetter.destination))
    const asides = new Set(door.rows.map(({ deadLetter }) => deadLetter.quarantine))
    for (const end of ends) lines.push(`  ${id} -->|dead| ${endIds.get(end)}`)
    for (const aside of asides) lines.push(`  ${id} -->|poison| ${endIds.get(aside)}`)
    lines.push(`  office -.->|replay| ${id}`)
  }
  for (const { name } of destinations) {
    lines.push(`  ${endIds.get(name)}[(${label(name)})]`, `  ${endIds.get(name)} --> office`)
  }
  if (doors.length > 0) {
    lines.push('  office((office))', `  receipts([${label(receipts)}])`, '  receipts -.-> office')
  }
  return `${lines.join('\n')}\n`
}

const policiesOf = (rows: Topology['doors'][number]['rows']) => {
  const byName = new Map(rows.map(({ policy }) => [`${policy.name} ${limitWords(policy)}`, policy]))
  return [...byName.values()].filter(({ retries }) => retries > 0)
}

const label = (text: string): string =>
  `"${text.replace(/[^A-Za-z0-9 .,:/+=()_-]/gu, (char) => `#${char.codePointAt(0)};`)}"`
