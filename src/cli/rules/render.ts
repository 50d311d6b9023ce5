import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { loadBook } from '../../book.ts'
import { ReprieveError } from '../../core/error.ts'
import { explain, type RuleBook } from '../../rules/index.ts'
import {
  count,
  matrixRows,
  type Part,
  pairsOf,
  renderDapr,
  renderMatrix,
  renderRunbook,
  renderSheet,
  showLoss,
  topologyMermaid,
  topologyOf,
  topologyText,
} from '../../rules/render/index.ts'
import { action, type Ended } from '../action.ts'
import { bookFile, type Common } from '../options.ts'
import { inert, inertLines } from '../print/inert.ts'
import { calmOnStderr, warnOnStderr } from '../print/paint.ts'
import { remark, say, sayJson } from '../print/say.ts'

interface RenderFlags extends Common {
  readonly out?: string
  readonly format?: 'text' | 'mermaid'
  readonly exact?: true
}

/** What a kind makes: a page, what programs get of it, and what was lost on the way. */
interface Rendered {
  readonly text: string
  readonly json: unknown
  /** Where `--out` may be a folder, all that goes into it. */
  readonly files?: readonly { readonly name: string; readonly text: string }[]
  readonly warnings?: readonly string[]
}

type Kind = (book: RuleBook, part: Part, flags: RenderFlags) => Rendered

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    'sheet',
    (book, part) => {
      const all = pairsOf(book, part).map((rules) => explain(rules))
      return { text: renderSheet(book, part), json: part.event === undefined ? all : all[0] }
    },
  ],
  ['matrix', (book, part) => ({ text: renderMatrix(book, part), json: matrixRows(book, part) })],
  [
    'topology',
    (book, part, { format }) => {
      const topology = topologyOf(book, part)
      const text = format === 'mermaid' ? topologyMermaid(topology) : topologyText(topology)
      return { text, json: { ...topology, doors: topology.doors.map(asJson) } }
    },
  ],
  [
    'runbook',
    (book, part) => {
      const text = renderRunbook(book, part)
      return { text, json: { runbook: text } }
    },
  ],
  [
    'dapr',
    (book, { service }, { exact = false }) => {
      const { resiliency, subscriptions, losses } = renderDapr(book, { service, exact })
      const files = [resiliency, ...subscriptions]
      return { text: resiliency.text, json: { files, losses }, files, warnings: losses.map(showLoss) }
    },
  ],
])

const LATER: readonly string[] = ['prometheus', 'grafana']

const asJson = ({ rows, ...door }: ReturnType<typeof topologyOf>['doors'][number]) => ({
  ...door,
  events: rows.map(({ event, policy, deadLetter }) => ({
    event,
    policy: policy.name,
    destination: deadLetter.destination,
    quarantine: deadLetter.quarantine,
  })),
})

export const registerRender = (rules: Command): void => {
  rules
    .command('render')
    .description('the rules as documents')
    .argument('<kind>', [...KINDS.keys()].join(', '))
    .argument('[service]', 'of this service only')
    .argument('[event]', 'of this event only (sheet, matrix)')
    .option('--out <path>', 'write there instead: a file, or for dapr a folder')
    .addOption(
      new Option('--format <format>', 'how topology is drawn (else text)').choices(['text', 'mermaid']),
    )
    .option('--exact', 'dapr: constant delays, which Dapr keeps, in place of growing ones')
    .action(action(render))
}

const render = async (flags: RenderFlags, kind: string, service?: string, event?: string): Promise<Ended> => {
  const make = KINDS.get(kind) ?? unknownKind(kind)
  checkUse(kind, flags, event)
  const rendered = make(await loadBook(bookFile(flags)), { service, event }, flags)
  for (const warning of flags.json ? [] : (rendered.warnings ?? [])) {
    remark(`${warnOnStderr('warning:')} ${inert(warning)}`)
  }
  const written = flags.out === undefined ? undefined : await write(flags.out, rendered)
  if (flags.json) return sayJson(written ? { written, ...warningsOf(rendered) } : rendered.json)
  if (written) return remark(written.map((file) => `wrote ${inert(file)}`).join('\n'))
  say(inertLines(rendered.text.trimEnd()))
  const left = (rendered.files?.length ?? 1) - 1
  if (left > 0)
    remark(calmOnStderr(`and ${count(left, 'subscription')}: --out <folder> writes all, a file each`))
}

const warningsOf = ({ warnings }: Rendered) => (warnings ? { warnings } : {})

/** A folder for what has several files, unless a single YAML file is asked for. */
const write = async (out: string, { text, files }: Rendered): Promise<readonly string[]> => {
  const wanted =
    files && !/\.ya?ml$/.test(out)
      ? files.map((file) => ({ path: join(out, file.name), text: file.text }))
      : [{ path: out, text }]
  for (const { path, text: content } of wanted) {
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, content)
    } catch (error) {
      throw new ReprieveError('bad_usage', `'${path}' can't be written: ${(error as Error).message}`, {
        fix: 'name another path',
        cause: error,
      })
    }
  }
  return wanted.map(({ path }) => path)
}

const checkUse = (kind: string, { format, exact }: RenderFlags, event: string | undefined): void => {
  const wrong =
    (format !== undefined && kind !== 'topology' && '--format is for topology') ||
    (exact && kind !== 'dapr' && '--exact is for dapr') ||
    (event !== undefined && !['sheet', 'matrix'].includes(kind) && `${kind} is for a service or for all`)
  if (wrong) throw new ReprieveError('bad_usage', wrong, { fix: 'leave it out' })
}

const unknownKind = (kind: string): never => {
  const known = [...KINDS.keys()].join(', ')
  const what = LATER.includes(kind) ? `${kind} can't be rendered yet` : `nothing is rendered as '${kind}'`
  throw new ReprieveError('bad_usage', what, { fix: `one of ${known} (not yet: ${LATER.join(', ')})` })
}
