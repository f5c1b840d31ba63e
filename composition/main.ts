import { openBrowser } from '../adapters/system/browser.ts'
import 'reflect-metadata'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// The first process of a container ignores signals that it does not listen for. Others end by them.
const endUnlessHeard = (): void => {
  if (process.listenerCount('SIGTERM') === 1) process.exit(143)
}
if (process.pid === 1) process.on('SIGTERM', endUnlessHeard)

// Compiled code is cached between starts, which halves their cost. The cache is not in the temporary folder of the
// system, where another user could place code for this process to run.
const packageRoot = import.meta.url.endsWith('/dist/composition/main.js') ? '../../' : '../'
enableCompileCache(fileURLToPath(new URL(`${packageRoot}node_modules/.cache/moorage`, import.meta.url)))

// Names that packages look up themselves, such as that of the database, do not wait for the threads on which files are
// read.
const { makeNameResolver, useForAllNames } = await import('../adapters/outbound/name-resolver.ts')
useForAllNames(makeNameResolver())

const { runCommandLine } = await import('./moorage.ts')
const { installCrashHandlers, unwrittenOutput } = await import('./runtime/cli/lifecycle.ts')

installCrashHandlers()
const exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  print: (text) => void process.stdout.write(`${text}\n`),
  say: (text) => void process.stderr.write(`${text}\n`),
  ...(process.stdout.isTTY
    ? {
        terminal: {
          write: (text: string) => void process.stdout.write(text),
          columns: () => process.stdout.columns,
          rows: () => process.stdout.rows,
        },
      }
    : {}),
  onInterrupt: (listener) => {
    process.once('SIGINT', listener)
    return () => void process.off('SIGINT', listener)
  },
  openBrowser: (url) => openBrowser(url),
})
// Output that a pipe has not taken yet would be lost when the process exits. When the reader has closed, an error ends
// the wait.
const taken = (stream: NodeJS.WriteStream): Promise<void> => new Promise((resolve) => stream.write('', () => resolve()))
await Promise.all([taken(process.stdout), taken(process.stderr)])
const fault = unwrittenOutput()
if (fault !== undefined) process.stderr.write(`moorage: the result could not be written as a whole (${fault}).\n`)
process.exit(exitCode === 0 && fault !== undefined ? 1 : exitCode)
