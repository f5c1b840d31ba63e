import { fileKey, settingsTable } from './settings-table.ts'
import type { SettingRow } from './settings-table.ts'
import { isLeft } from 'fp-ts/lib/Either.js'

const rows = Object.values(settingsTable as Readonly<Record<string, SettingRow<unknown>>>)

/** The JSON Schema (2020-12) of the settings file; also the reference of all settings. */
export const configSchema = (): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Moorage settings',
  description: 'Each key is also an environment variable, named in x-env; the environment wins.',
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(rows.map((row) => [fileKey(row), propertyOf(row)])),
})

const propertyOf = (row: SettingRow<unknown>): object => ({
  ...row.type.schema,
  ...orNull(row),
  description: row.description,
  ...defaultOf(row),
  'x-env': row.env,
  ...(row.type.isSecret ? { 'x-secret': true } : {}),
})

/** A key without a value counts as absent, and `config print` shows a setting that is absent so. */
const orNull = ({ type, fallback }: SettingRow<unknown>): object => (fallback === undefined ? { type: [type.schema['type'], 'null'] } : {})

/** A default that depends on other settings is described in words. */
const defaultOf = (row: SettingRow<unknown>): object => {
  if (typeof row.fallback !== 'string') return row.fallbackText === undefined ? {} : { 'x-default': row.fallbackText }
  const value = row.type.parse(row.fallback)
  return isLeft(value) ? {} : { default: row.type.show(value.right) }
}
