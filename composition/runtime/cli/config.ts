import type { CommonOptions, ExitCode } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { fileKey } from '../../part/setting.ts'
import { configSchema, settingsOf } from '../config/settings.ts'
import type { LoadedConfig } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

export const configOf = (
  context: Pick<RuntimeContext, 'environment' | 'ownParts'>,
  options: CommonOptions,
): Promise<LoadedConfig> =>
  loadConfig({ environment: context.environment, file: options.config, ownParts: context.ownParts.load })

interface ShownSetting {
  readonly key: string
  readonly env: string
  readonly value: unknown
  readonly source: string
}

/** Returns every setting as its type shows it. A secret is never shown. */
export const shownSettings = ({ settings, sources, rows }: LoadedConfig): readonly ShownSetting[] =>
  Object.entries(rows).map(([name, row]) => {
    const value = (settings as Readonly<Record<string, unknown>>)[name]
    return {
      key: fileKey(row),
      env: row.env,
      value: value === undefined ? null : row.type.show(value),
      source: sources[name] ?? 'default',
    }
  })

export const printConfig = async (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const shown = shownSettings(config)
  if (options.json === true) {
    printJson(context, {
      file: config.file ?? null,
      settings: Object.fromEntries(shown.map(({ key, value }) => [key, value])),
      sources: Object.fromEntries(shown.map(({ key, source }) => [key, source])),
    })
    return 0
  }
  for (const { key, value, env, source } of shown) {
    context.print(`${key}: ${value === null ? '' : toWireJson(value)}`.trimEnd().padEnd(64) + ` # ${env}, ${source}`)
  }
  return 0
}

export const printConfigSchema = async (context: RuntimeContext): Promise<ExitCode> => {
  printJson(context, configSchema(settingsOf(await context.ownParts.load())))
  return 0
}
