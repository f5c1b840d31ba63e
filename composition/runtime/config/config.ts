import { resolve as absolutePath } from 'node:path'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { StartRefused } from '../../part/boot.ts'
import type { RawSetting } from '../../part/setting-type.ts'
import { showAddress } from '../../part/setting-type.ts'
import type { Environment } from '../../part/setting.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { runtimeSettings } from '../../part/runtime-settings.ts'
import type { AnyPart } from '../../part/part.ts'
import type { SettingRow, SettingRows } from '../../part/setting.ts'
import { fileKey } from '../../part/setting.ts'
import { settingsOf } from './settings.ts'

/** Returns the known word that a misspelt one most likely means, or undefined when no word is close. */
const nearestWord = (wrong: string, known: readonly string[]): string | undefined => {
  const allowed = Math.max(2, Math.floor(wrong.length / 3))
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const word of known) {
    const distance = editDistance(wrong, word)
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { word, distance }
  }
  return best?.word
}

/** Returns the Levenshtein distance: insertions, deletions and substitutions. */
const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...to].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** The source of a setting's value. */
type SettingSource = 'default' | 'file' | 'environment'

export interface LoadedConfig<Settings extends RuntimeSettings = RuntimeSettings> {
  readonly settings: Settings
  /** The settings that the deployment knows: those of the runtime and of its parts. */
  readonly rows: SettingRows
  /** The parts of this repository, then those of MOORAGE_PLUGINS. */
  readonly parts: readonly AnyPart[]
  /** The number of parts of this repository. */
  readonly ownParts: number
  readonly sources: Readonly<Record<string, SettingSource>>
  /** The file that was read, or undefined. */
  readonly file: string | undefined
}

export interface ConfigInput {
  /** Loads the parts of this repository. */
  readonly ownParts: () => Promise<readonly AnyPart[]>
  readonly environment: Environment
  /** Takes precedence over MOORAGE_CONFIG. */
  readonly file?: string | undefined
}

/** Reads the file and the environment. Throws StartRefused with every problem at once; no message contains a value. */
export const loadConfig = async (input: ConfigInput): Promise<LoadedConfig> => {
  const problems: string[] = []
  const file = input.file ?? emptyAsAbsent(input.environment['MOORAGE_CONFIG'])
  const fromFile = file === undefined ? {} : await readConfigFile(file, problems)
  const given = (row: SettingRow<unknown>) => givenValue(row, input.environment, fromFile, file)
  const own = await input.ownParts()
  const parts = [...own, ...(await outsideParts(given(runtimeSettings.plugins)?.raw, own, problems))]
  const rows = settingsOf(parts)
  problems.push(...unknownKeys(Object.keys(fromFile), Object.values(rows).map(fileKey), `the key`, ` in ${file ?? ''}`))
  problems.push(...unknownVariables(input.environment, rows))

  const { values, sources } = readValues(rows, given, problems)
  const settings = values as RuntimeSettings
  if (parts.length > own.length) problems.push(...(await tableFaults(parts, own.length, settings.databaseUrl)))
  if (problems.length === 0) problems.push(...contradictions(settings))
  if (problems.length > 0) throw new StartRefused(problems)
  return { settings, rows, parts, ownParts: own.length, sources, file }
}

/**
 * Returns the settings of the runtime without loading a part, or undefined if there is a problem with one of them, of
 * which `loadConfig` tells. Settings of parts, and unknown ones, are not checked.
 */
export const loadRuntimeSettings = async (
  input: Omit<ConfigInput, 'ownParts'>,
): Promise<RuntimeSettings | undefined> => {
  const problems: string[] = []
  const file = input.file ?? emptyAsAbsent(input.environment['MOORAGE_CONFIG'])
  const fromFile = file === undefined ? {} : await readConfigFile(file, problems)
  const { values } = readValues(runtimeSettings, (row) => givenValue(row, input.environment, fromFile, file), problems)
  const settings = values as RuntimeSettings
  return problems.length === 0 && contradictions(settings).length === 0 ? settings : undefined
}

type GivenOf = (row: SettingRow<unknown>) => GivenValue | undefined

/** Reads settings. Adds what is wrong to `problems`. */
const readValues = (rows: SettingRows, given: GivenOf, problems: string[]) => {
  const values: Record<string, unknown> = {}
  const sources: Record<string, SettingSource> = {}
  // Defaults of others are below the data folder.
  const { dataDir } = runtimeSettings
  for (const [name, row] of [['dataDir', dataDir] as const, ...Object.entries(rows)]) {
    if (name in values) continue
    const told = given(row)
    sources[name] = told?.source ?? 'default'
    const raw = told?.raw ?? fallbackOf(row, String(values['dataDir']))
    if (raw === undefined) continue
    const value = row.type.parse(raw)
    if (isLeft(value)) problems.push(`${told?.label ?? row.env} must be ${value.left}.`)
    else values[name] = pathSettings.has(name) ? absolutePath(String(value.right)) : value.right
  }
  return { values, sources }
}

/** Returns the parts of MOORAGE_PLUGINS: their settings are known once their modules are loaded. */
const outsideParts = async (
  plugins: RawSetting | undefined,
  own: readonly AnyPart[],
  problems: string[],
): Promise<readonly AnyPart[]> => {
  const places = plugins === undefined ? right([]) : runtimeSettings.plugins.type.parse(plugins)
  if (isLeft(places)) return []
  const { loadOutsideParts } = await import('../outside-parts.ts')
  const outside = await loadOutsideParts(places.right, process.cwd(), own)
  problems.push(...outside.problems)
  return outside.parts
}

/** Returns the faults of the tables of a deployer's parts. Where the database is not known, it is SQLite. */
const tableFaults = async (
  parts: readonly AnyPart[],
  ownParts: number,
  databaseUrl: RuntimeSettings['databaseUrl'] | undefined,
): Promise<readonly string[]> => {
  const { outsideMigrationFaults } = await import('../migrations.ts')
  const isMysql = databaseUrl?.reveal().startsWith('mysql') === true
  return outsideMigrationFaults({ parts, ownParts }, isMysql ? 'mysql' : 'sqlite')
}

const pathSettings = new Set(['dataDir', 'tempDir', 'keyring'])

const emptyAsAbsent = (text: string | undefined): string | undefined =>
  text === undefined || text.trim() === '' ? undefined : text

const fallbackOf = (row: SettingRow<unknown>, dataDir: string): string | undefined =>
  typeof row.fallback === 'function' ? row.fallback({ dataDir }) : row.fallback

interface GivenValue {
  readonly raw: RawSetting
  readonly source: SettingSource
  readonly label: string
}

/**
 * Returns the given value of a setting. An empty variable counts as absent, since container platforms set empty
 * variables.
 */
const givenValue = (
  row: SettingRow<unknown>,
  environment: Environment,
  fromFile: Readonly<Record<string, RawSetting>>,
  file: string | undefined,
): GivenValue | undefined => {
  const variable = emptyAsAbsent(environment[row.env])
  if (variable !== undefined) return { raw: variable, source: 'environment', label: row.env }
  const raw = fromFile[fileKey(row)]
  return raw === undefined ? undefined : { raw, source: 'file', label: `${fileKey(row)} in ${file ?? ''}` }
}

const readConfigFile = async (file: string, problems: string[]): Promise<Readonly<Record<string, RawSetting>>> => {
  const { readConfigYaml } = await import('./config-file.ts')
  const read = readConfigYaml(file)
  problems.push(...read.problems)
  return read.values
}

const unknownKeys = (
  given: readonly string[],
  known: readonly string[],
  noun: string,
  place: string,
): readonly string[] =>
  given
    .filter((key) => !known.includes(key))
    .map((key) => {
      // A variable as a key of the file is a common mistake.
      const near = nearestWord(key, known) ?? nearestWord(key.toLowerCase().replace(/^moorage_/, ''), known)
      return `There is no setting for ${noun} ${key}${place}${near === undefined ? '' : `: did you mean ${near}?`}`
    })

/**
 * Variables that Kubernetes sets for a Service named `moorage...`, those of tests and client commands, and settings of
 * later plugins.
 */
const foreignVariable =
  /^MOORAGE_(TEST_\w+|SERVER|TOKEN|CLOUD_[ABC]_\w+|(\w+_)?SERVICE_(HOST|PORT)(_\w+)?|(\w+_)?PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$/

const unknownVariables = (environment: Environment, rows: SettingRows): readonly string[] => {
  const known = ['MOORAGE_CONFIG', ...Object.values(rows).map(({ env }) => env)]
  const given = Object.keys(environment).filter((name) => name.startsWith('MOORAGE_') && !foreignVariable.test(name))
  return unknownKeys(given, known, 'the variable', '')
}

const contradictions = (settings: RuntimeSettings): readonly string[] => {
  const problems: string[] = []
  const ops = showAddress(settings.opsListen)
  if (settings.opsListen.port !== 0 && [settings.listen, settings.marketplaceListen].map(showAddress).includes(ops)) {
    problems.push(
      `MOORAGE_OPS_LISTEN must differ from MOORAGE_LISTEN and MOORAGE_MARKETPLACE_LISTEN: ${ops} would be taken twice.`,
    )
  }
  if ((settings.tlsCertificate === undefined) !== (settings.tlsKey === undefined)) {
    problems.push(
      'MOORAGE_TLS_CERTIFICATE and MOORAGE_TLS_KEY belong together: set both, or neither for a self-signed ' +
        'certificate.',
    )
  }
  if (settings.workers > 1 && settings.databaseUrl.reveal() === 'sqlite::memory:')
    problems.push('MOORAGE_WORKERS must be 1 with sqlite::memory:, since no other process can read that database.')
  return problems
}
