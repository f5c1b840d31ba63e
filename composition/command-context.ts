import type { Environment } from './config.ts'
import { loadConfig } from './config.ts'
import type { LoadedConfig } from './config.ts'

/** What a command may touch of the process. */
export interface CommandContext {
  readonly environment: Environment
  /** A line of the result, on stdout. */
  print(text: string): void
  /** Everything else, on stderr. */
  say(text: string): void
}

/** Options that every command has. */
export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** 0 done, 1 failed, 2 wrong use. */
export type ExitCode = 0 | 1 | 2

export const configOf = (context: CommandContext, options: CommonOptions): Promise<LoadedConfig> =>
  loadConfig({ environment: context.environment, file: options.config })

export const printJson = (context: CommandContext, value: unknown): void => context.print(JSON.stringify(value, null, 2))
