import { isLeft } from 'fp-ts/lib/Either.js'
import { runtimeSettings } from '../../part/runtime-settings.ts'
import { inPlace } from './in-place.ts'
import type { SettingRow, SettingRows } from '../../part/setting.ts'
import { fileKey } from '../../part/setting.ts'

/**
 * Returns the settings of the runtime and of parts, in the order in which they are listed. `config print`, `config
 * schema` and the documentation are derived from it. A new setting is one row of its part, and its use.
 */
export const settingsOf = (parts: readonly { readonly settings?: SettingRows }[]): SettingRows => {
  const groups = [runtimeSettings, ...parts.map(({ settings = {} }) => settings)].map((table) =>
    Object.entries(table as SettingRows).map(([name, row]) => ({ name, row, id: row.env, after: row.after })),
  )
  return Object.fromEntries(inPlace(groups).map(({ name, row }) => [name, row]))
}

/** Returns the JSON Schema (2020-12) of the settings file, which is also the reference of all settings. */
export const configSchema = (settings: SettingRows): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Moorage settings',
  description: 'Each key is also an environment variable, named in x-env; the environment wins.',
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(Object.values(settings).map((row) => [fileKey(row), propertyOf(row)])),
})

const propertyOf = (row: SettingRow<unknown>): object => ({
  ...row.type.schema,
  ...orNull(row),
  description: row.description,
  ...defaultOf(row),
  'x-env': row.env,
  ...(row.type.isSecret ? { 'x-secret': true } : {}),
})

/** Allows null: a key without a value counts as absent, and `config print` shows an absent setting that way. */
const orNull = ({ type, fallback }: SettingRow<unknown>): object =>
  fallback === undefined ? { type: [type.schema['type'], 'null'] } : {}

/** Returns the default. A default that depends on other settings is described in words. */
const defaultOf = (row: SettingRow<unknown>): object => {
  if (typeof row.fallback !== 'string') return row.fallbackText === undefined ? {} : { 'x-default': row.fallbackText }
  const value = row.type.parse(row.fallback)
  return isLeft(value) ? {} : { default: row.type.show(value.right) }
}
