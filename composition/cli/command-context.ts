import type { Environment, LoadedConfig } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import { toWireJson } from '../../core/kernel/json.ts'

/** The parts of the process that a command may use. */
export interface CommandContext {
  readonly environment: Environment
  /** Prints a line of the result to stdout. */
  print(text: string): void
  /** Prints any other line to stderr. */
  say(text: string): void
  /** Set when stdout is a terminal, for output that is redrawn in place. */
  readonly terminal?: { write(text: string): void; columns(): number; rows(): number }
  /** Registers `listener` for an interrupt from the keyboard. Returns a function that removes it. */
  onInterrupt?(listener: () => void): () => void
}

/** The options of every command. */
export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** 0: done, 1: failed, 2: wrong usage, 130: interrupted. */
export type ExitCode = 0 | 1 | 2 | 130

export const configOf = (context: CommandContext, options: CommonOptions): Promise<LoadedConfig> =>
  loadConfig({ environment: context.environment, file: options.config })

export const printJson = (context: CommandContext, value: unknown): void => context.print(toWireJson(value, 2))
