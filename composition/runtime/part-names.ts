import { busPurposes } from '../../core/bus/types.ts'
import { commandNames } from '../part/describe.ts'
import { runtimeSettings } from '../part/runtime-settings.ts'
import type { SettingRows } from '../part/setting.ts'
import { runtimeMetricNames, workerMetricNames } from './http/metrics.ts'
import { pageProblems } from './http/pages/pages.ts'
import type { AnyPart } from '../part/part.ts'

/** The commands of the runtime; `help` is that of commander. @internal */
export const runtimeCommandNames: readonly string[] = [
  'serve',
  'openapi',
  'doctor',
  'support-bundle',
  'migrate',
  'keys',
  'backup',
  'demo',
  'database',
  'config',
  'help',
  'test-port',
]

/** The first words of paths that no page can have. @internal */
const runtimePages: readonly string[] = ['api', 'v1']

/** Returns the names of a part in the forms that settings, metrics and tables have. */
const prefixesOf = ({ plugin: { id } }: AnyPart) => {
  const words = id.replaceAll('-', '_')
  return { setting: `MOORAGE_${words.toUpperCase()}_`, metric: `moorage_${words}_`, table: `${words}_` }
}

const settingNames = (settings: SettingRows = {}): readonly string[] => Object.values(settings).map(({ env }) => env)
const metricNames = ({ metrics = [] }: AnyPart): readonly string[] =>
  metrics.flatMap(({ gauges }) => Object.keys(gauges))
const commandsOf = ({ commands }: AnyPart): readonly string[] =>
  commands === undefined ? [] : commandNames([commands])

const pageNames = ({ pages = [], sites = [] }: AnyPart): readonly string[] => [
  ...pages.map(({ name }) => name),
  ...sites.map(({ root }) => root),
]
const isWordOf = (id: string, name: string): boolean =>
  (name === id || name.startsWith(`${id}-`)) && /^[a-z0-9-]+$/.test(name)

const isSubjectOf = (id: string, subject: string): boolean =>
  (subject === id || subject.startsWith(`${id}.`)) && /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(subject)
/** The width of the column. */
const longestPurpose = 32

/** Returns the faults of names that are not those of the part itself. */
const foreignNames = (part: AnyPart): readonly string[] => {
  const { id } = part.plugin
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(id))
    return [`The id of the plugin ${id} must be lower case letters, digits and -.`]
  const prefix = prefixesOf(part)
  return [
    ...settingNames(part.settings)
      .filter((env) => !env.startsWith(prefix.setting))
      .map((env) => `The setting ${env} of the plugin ${id} must start with ${prefix.setting}.`),
    ...metricNames(part)
      .filter((name) => !name.startsWith(prefix.metric))
      .map((name) => `The metric ${name} of the plugin ${id} must start with ${prefix.metric}.`),
    ...commandsOf(part)
      .filter((name) => name !== id)
      .map((name) => `The command ${name} of the plugin ${id} must be a subcommand of ${id}.`),
    ...[...(part.objectRows ?? []), ...(part.sealedColumns ?? [])]
      .filter(({ table }) => !table.startsWith(prefix.table))
      .map(({ table }) => `The table ${table} of the plugin ${id} must start with ${prefix.table}.`),
    ...pageNames(part)
      .filter((name) => !isWordOf(id, name))
      .map((name) => `The page ${name} of the plugin ${id} must be ${id}, or start with ${id}- and be lower case.`),
    ...pageProblems(part.pages ?? []).map((problem) => `${problem} (plugin ${id})`),
    ...(part.subjects ?? [])
      .filter(({ subject }) => !isSubjectOf(id, subject))
      .map(
        ({ subject }) =>
          `The subject ${subject} of the plugin ${id} must be ${id}, or start with ${id}. and have no wildcard.`,
      ),
    ...(part.subjects ?? [])
      .filter(({ purpose }) => !isWordOf(id, purpose) || purpose.length > longestPurpose)
      .map(
        ({ purpose }) =>
          `The purpose ${purpose} of credentials of the plugin ${id} must be ${id}, or start with ${id}-.`,
      ),
    ...(part.migrations === undefined || part.migrations.part === id
      ? []
      : [`The migrations of the plugin ${id} are those of the part ${part.migrations.part}.`]),
  ]
}

interface Named {
  readonly id: string
  readonly name: string
}

/** Returns the names that two parts have, or the runtime and a part. */
const repeated = (noun: string, named: readonly Named[]): readonly string[] => {
  const owners = new Map<string, string>()
  const problems: string[] = []
  for (const { id, name } of named) {
    const owner = owners.get(name)
    if (owner === undefined) owners.set(name, id)
    else problems.push(`The ${noun} ${name} of the plugin ${id} is already in use by ${owner}.`)
  }
  return problems
}

const frame = 'the service itself'

/** Returns the faults of the names of parts of a deployer, beside the parts of this repository. */
export const nameProblems = (own: readonly AnyPart[], outside: readonly AnyPart[]): readonly string[] => {
  const parts = [...own, ...outside]
  const namesOf = (of: (part: AnyPart) => readonly string[], ofRuntime: readonly string[] = []): readonly Named[] => [
    ...ofRuntime.map((name) => ({ id: frame, name })),
    ...parts.flatMap((part) => of(part).map((name) => ({ id: part.plugin.id, name }))),
  ]
  return [
    ...outside.flatMap(foreignNames),
    ...repeated(
      'id',
      namesOf(({ plugin }) => [plugin.id]),
    ),
    ...repeated(
      'setting',
      namesOf(({ settings }) => settingNames(settings), settingNames(runtimeSettings)),
    ),
    ...repeated(
      'name of a setting',
      namesOf(({ settings = {} }) => Object.keys(settings), Object.keys(runtimeSettings)),
    ),
    ...repeated('metric', namesOf(metricNames, [...runtimeMetricNames, ...workerMetricNames])),
    ...repeated('command', namesOf(commandsOf, runtimeCommandNames)),
    ...repeated(
      'tag',
      namesOf(({ tags = [] }) => tags.map(({ name }) => name)),
    ),
    ...repeated(
      'subject',
      namesOf(({ subjects = [] }) => subjects.map(({ subject }) => subject)),
    ),
    ...repeated(
      'purpose of credentials',
      namesOf(({ subjects = [] }) => [...new Set(subjects.map(({ purpose }) => purpose))], busPurposes),
    ),
    ...repeated('page', namesOf(pageNames, runtimePages)),
    ...repeated(
      'object type',
      namesOf(({ objectRows = [] }) => objectRows.map(({ type }) => type)),
    ),
    ...repeatedPrefixes(parts),
  ]
}

/** Parts such as `a` and `a-b` are distinguished by the prefixes of their tables. */
const repeatedPrefixes = (parts: readonly AnyPart[]): readonly string[] =>
  repeated(
    'prefix of tables',
    parts.map((part) => ({ id: part.plugin.id, name: prefixesOf(part).table })),
  )
