import { writeSync } from 'node:fs'
import { type Debugger, type InspectorNotification, Session } from 'node:inspector'
import { parentPort, workerData } from 'node:worker_threads'
import type { Blocked } from './watchdog.ts'

const { beats, every, after } = workerData as { beats: Int32Array; every: number; after: number }
/** How long the debugger may take to stop the main thread: within native code it can't. */
const PATIENCE = 1000
const DEEPEST = 12

let last = -1
/** Counted in looks of our own rather than in time: a machine that slept was not blocked. */
let missed = 0
let told = false

const look = (): void => {
  const now = Atomics.load(beats, 0)
  missed = now === last ? missed + 1 : 0
  last = now
  if (missed === 0) told = false
  else if (!told && missed * every >= after) {
    told = true
    whereItIs((frames) => tell({ ms: Math.round(missed * every), frames }))
  }
}

const tell = (blocked: Blocked): void => {
  const lines = blocked.frames.map((frame) => `    at ${frame}`)
  const head = `reprieve: the event loop has been blocked for ${blocked.ms} ms${lines.length > 0 ? ':' : ''}`
  // by the thread's own stream it would wait for the main thread
  writeSync(2, `${[head, ...lines].join('\n')}\n`)
  parentPort?.postMessage(blocked)
}

/** Stops the main thread for a moment and reads its stack: whoever blocks it is on top. */
const whereItIs = (answer: (frames: readonly string[]) => void): void => {
  const session = new Session()
  const files = new Map<string, string>()
  let over = false
  const end = (frames: readonly string[]): void => {
    if (over) return
    over = true
    clearTimeout(patience)
    answer(frames)
    session.post('Debugger.resume', () => session.disconnect())
  }
  const patience = setTimeout(() => end([]), PATIENCE)
  session.on('Debugger.scriptParsed', ({ params }) => void files.set(params.scriptId, params.url))
  session.on('Debugger.paused', ({ params }: InspectorNotification<Debugger.PausedEventDataType>) =>
    end(params.callFrames.slice(0, DEEPEST).map((frame) => frameOf(frame, files))),
  )
  try {
    session.connectToMainThread()
    session.post('Debugger.enable', () => session.post('Debugger.pause'))
  } catch {
    end([])
  }
}

const frameOf = (
  { functionName, location: { scriptId, lineNumber, columnNumber } }: Debugger.CallFrame,
  files: ReadonlyMap<string, string>,
): string =>
  `${functionName || 'anonymous'} (${files.get(scriptId) ?? ''}:${lineNumber + 1}:${(columnNumber ?? 0) + 1})`

setInterval(look, every)
