import 'reflect-metadata'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Compiled code is kept between starts, which halves what they cost. Not in the system's temporary folder, where another
// user could put code for us to run.
const packageRoot = import.meta.url.endsWith('/dist/composition/main.js') ? '../../' : '../'
enableCompileCache(fileURLToPath(new URL(`${packageRoot}node_modules/.cache/moorage`, import.meta.url)))

const { runCommandLine } = await import('./cli/command-line.ts')
const { installCrashHandlers } = await import('./cli/lifecycle.ts')

installCrashHandlers()
const exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  print: (text) => void process.stdout.write(`${text}\n`),
  say: (text) => void process.stderr.write(`${text}\n`),
  ...(process.stdout.isTTY
    ? { terminal: { write: (text: string) => void process.stdout.write(text), columns: () => process.stdout.columns, rows: () => process.stdout.rows } }
    : {}),
  onInterrupt: (listener) => {
    process.once('SIGINT', listener)
    return () => void process.off('SIGINT', listener)
  },
})
// What a pipe has not taken yet would be lost with the process. A reader that left ends the wait with an error.
const taken = (stream: NodeJS.WriteStream): Promise<void> => new Promise((resolve) => stream.write('', () => resolve()))
await Promise.all([taken(process.stdout), taken(process.stderr)])
process.exit(exitCode)
