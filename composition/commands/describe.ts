import type { Command } from 'commander'
import type { CommandContext, ExitCode } from '../command-context.ts'

/** Takes part in building the command line: adds commands whose action sets the exit code. */
export type Describe = (program: Command, run: RunCommand, context: CommandContext) => void
/** Wraps a command's work as commander's action. */
export type RunCommand = (work: () => Promise<ExitCode>) => Promise<void>
