import type { SettingRow, settingsTable } from './settings-table.ts'

type SettingsTable = typeof settingsTable
export type SettingName = keyof SettingsTable

type ValueOf<Row> =
  Row extends SettingRow<infer A, infer Presence> ? ('maybe' extends Presence ? A | undefined : A) : never

/** Every setting of the table, parsed and typed; paths are absolute, secrets are wrapped. */
export type Settings = { readonly [Name in SettingName]: ValueOf<SettingsTable[Name]> }
