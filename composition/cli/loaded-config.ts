import type { LoadedConfig } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'

export const configOf = (context: Pick<CommandContext, 'environment'>, options: CommonOptions): Promise<LoadedConfig> =>
  loadConfig({ environment: context.environment, file: options.config })
