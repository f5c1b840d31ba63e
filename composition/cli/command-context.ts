import type { Environment, LoadedConfig } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'

/** What a command may touch of the process. */
export interface CommandContext {
  readonly environment: Environment
  /** A line of the result, on stdout. */
  print(text: string): void
  /** Everything else, on stderr. */
  say(text: string): void
  /** Set where stdout is a terminal: for what is drawn in place. */
  readonly terminal?: { write(text: string): void; columns(): number; rows(): number }
  /** Has `listener` called when the person at the keyboard wants the command to end; answers how to stop that. */
  onInterrupt?(listener: () => void): () => void
}

/** Options that every command has. */
export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** 0 done, 1 failed, 2 wrong use, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 130

export const configOf = (context: CommandContext, options: CommonOptions): Promise<LoadedConfig> =>
  loadConfig({ environment: context.environment, file: options.config })

export const printJson = (context: CommandContext, value: unknown): void => context.print(JSON.stringify(value, null, 2))
