#!/usr/bin/env node
import { fail } from './failure.ts'
import { checkNode } from './node-version.ts'
import { wantsJson } from './print/say.ts'
import { createProgram } from './program.ts'

// whoever reads our answers may stop in the middle: `reprieve dlq list | head -1`
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

try {
  checkNode(process.versions.node)
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = fail(error, wantsJson())
}
// a connection that won't close must not keep anyone waiting: the work is done
setTimeout(() => process.exit(), 3000).unref()
