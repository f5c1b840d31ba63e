import type { CommandContext, ExitCode } from './part/command-context.ts'
import { runCommands } from './runtime/cli/command-line.ts'
import type { OwnParts } from './runtime/cli/runtime-context.ts'
import type { ConfigInput, LoadedConfig } from './runtime/config/config.ts'
import type { RuntimeSettings } from './part/runtime-settings.ts'
import type { ValuesOf } from './part/setting.ts'
import type { OwnPart } from './parts.ts'
import { loadParts, partCommands } from './parts.ts'

/** The service: the runtime with the parts of this repository. */

type Intersection<U> = (U extends unknown ? (of: U) => void : never) extends (of: infer I) => void ? I : never
type RowsOf<P> = P extends { readonly settings?: infer Rows } ? NonNullable<Rows> : never

/** Every setting of the runtime and of the parts of this repository. */
export type Settings = RuntimeSettings & ValuesOf<Intersection<RowsOf<OwnPart>>>

/** The parts of this repository. @internal */
export const ownParts: OwnParts = { load: loadParts, commands: partCommands }

/** Runs `moorage ...` and returns its exit code: 0 done, 1 failed, 2 wrong usage. */
export const runCommandLine = (words: readonly string[], context: CommandContext): Promise<ExitCode> =>
  runCommands(words, { ...context, ownParts })

/** Reads the file and the environment. Throws StartRefused with every problem at once. @internal */
export const loadConfig = async (input: Omit<ConfigInput, 'ownParts'>): Promise<LoadedConfig<Settings>> => {
  const { loadConfig: load } = await import('./runtime/config/config.ts')
  return (await load({ ...input, ownParts: loadParts })) as LoadedConfig<Settings>
}
