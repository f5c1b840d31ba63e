import 'reflect-metadata'
import { runCommandLine } from './cli.ts'
import { installCrashHandlers } from './crash-handlers.ts'

installCrashHandlers()
const exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  print: (text) => void process.stdout.write(`${text}\n`),
  say: (text) => void process.stderr.write(`${text}\n`),
})
process.exit(exitCode)
