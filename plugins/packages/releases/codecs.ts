import * as t from 'io-ts'
import type { Json } from '../../../core/kernel/json.ts'
import type { Release, ReleaseHeader } from '../../../core/packages/types.ts'
import {
  answer,
  AnyJson,
  FreeObjectCodec,
  freeText,
  int32,
  listOf,
  noted,
  optional,
  QueryBoolean,
  QueryInt,
  request,
  SafeInteger,
  textLines,
} from '../../kit/codecs.ts'
import type { ReleaseOut } from '../codecs.ts'
import { chartSourceProps, LooseBoolean, looseInteger, Namespace, ReleaseName } from '../codecs.ts'

const units: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, μs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y

/** Returns the seconds of a Go duration: `1h30m`, `5m0s`, `1.5s`, `0`. Undefined if it is malformed or negative. */
export const parseGoDuration = (text: string): number | undefined => {
  if (text === '0') return 0
  let seconds = 0
  part.lastIndex = 0
  while (part.lastIndex < text.length) {
    const found = part.exec(text)
    if (found === null) return undefined
    seconds += Number(found[1]) * (units[found[2] ?? ''] ?? 0)
  }
  return text === '' ? undefined : seconds
}

/** Returns the seconds of a numeric duration: large numbers are nanoseconds, as in Go; others are seconds. */
export const secondsOfCount = (count: number): number => (count < 1e6 ? count : count / 1e9)

const longestSeconds = 24 * 3600

/** A wait: a Go duration, or an integer of nanoseconds; an integer below a million is seconds. Decodes to seconds. */
export const Duration = noted(
  new t.Type<number, number, unknown>(
    'a duration like "5m0s" of at most 24 hours',
    (u): u is number => typeof u === 'number',
    (u, c) => {
      const seconds = typeof u === 'string' && u.length <= 64 ? parseGoDuration(u) : typeof u === 'number' && Number.isSafeInteger(u) && u >= 0 ? secondsOfCount(u) : undefined
      return seconds === undefined || seconds > longestSeconds ? t.failure(u, c) : t.success(Math.ceil(seconds))
    },
    t.identity,
  ),
  { description: 'A duration in the format of Go (`5m0s`), or an integer in nanoseconds; a number below 1,000,000 is in seconds.' },
)

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const decodeText = (text: string): string | undefined => {
  if (text.length % 4 !== 0 || !base64.test(text)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** A YAML document in base64, as JSON carries bytes. Decodes to its text. */
const YamlBytes = noted(
  new t.Type<string, string, unknown>(
    'a YAML document in base64',
    t.string.is,
    (u, c) => {
      const text = typeof u === 'string' ? decodeText(u) : undefined
      return text === undefined ? t.failure(u, c) : t.success(text)
    },
    t.identity,
  ),
  { type: 'string', format: 'byte' },
)

const jsonAt = (u: object, ...keys: readonly string[]): unknown => keys.map((key) => (u as Record<string, unknown>)[key]).find((value) => value !== undefined)

/** `{"K": "a.b", "V": 1}`. Go accepts lower-case keys too. */
const KeyValuePair = noted(
  new t.Type<{ readonly key: string; readonly value: Json }, unknown, unknown>(
    'an object with K, a dotted path, and V, any JSON value',
    (u): u is { readonly key: string; readonly value: Json } => typeof u === 'object' && u !== null && 'key' in u,
    (u, c) => {
      if (typeof u !== 'object' || u === null || Array.isArray(u)) return t.failure(u, c)
      const [key, value] = [jsonAt(u, 'K', 'k'), jsonAt(u, 'V', 'v')]
      return typeof key === 'string' && key !== '' && key.length <= 4000 && value !== undefined && AnyJson.is(value) ? t.success({ key, value }) : t.failure(u, c)
    },
    t.identity,
  ),
  { type: 'object' },
)

const SetLine = textLines(64 * 1024)
const valuesProps = {
  replaceValues: optional(FreeObjectCodec),
  valuesFile: optional(freeText(512)),
  valuesPatch: optional(listOf(FreeObjectCodec, 10_000)),
  valueBytes: optional(listOf(YamlBytes, 100)),
  values: optional(listOf(SetLine, 1000)),
  stringValues: optional(listOf(SetLine, 1000)),
  kv_pairs: optional(listOf(KeyValuePair, 1000)),
}

const actionProps = {
  createNamespace: optional(t.boolean),
  dryRun: optional(t.boolean),
  disableHooks: optional(t.boolean),
  wait: optional(t.boolean),
  timeout: optional(Duration),
  atomic: optional(t.boolean),
  description: optional(textLines(512)),
  devel: optional(t.boolean),
  subNotes: optional(t.boolean),
  skipCRDs: optional(t.boolean),
  disableOpenAPIValidation: optional(t.boolean),
  takeOwnership: optional(t.boolean),
  partOf: optional(freeText(253)),
}

export const InstallReleaseOptions = request(
  {
    ...chartSourceProps,
    ...valuesProps,
    ...actionProps,
    releaseName: ReleaseName,
    namespace: optional(Namespace),
    clientOnly: optional(t.boolean),
    replace: optional(t.boolean),
    includeCRDs: optional(t.boolean),
  },
  'InstallReleaseOptions',
)
export type InstallReleaseOptions = t.TypeOf<typeof InstallReleaseOptions>

export const UpgradeReleaseOptions = request(
  {
    ...chartSourceProps,
    ...valuesProps,
    ...actionProps,
    namespace: optional(Namespace),
    install: optional(t.boolean),
    cleanupOnFail: optional(t.boolean),
    force: optional(t.boolean),
    recreate: optional(t.boolean),
    resetValues: optional(t.boolean),
    reuseValues: optional(t.boolean),
    resetThenReuseValues: optional(t.boolean),
    maxHistory: optional(int32(0, 1000)),
  },
  'UpgradeReleaseOptions',
)
export type UpgradeReleaseOptions = t.TypeOf<typeof UpgradeReleaseOptions>

const Seconds = looseInteger(0, longestSeconds)

export const UninstallReleaseRequest = request(
  { namespace: optional(Namespace), disable_hooks: optional(LooseBoolean), purge: optional(LooseBoolean), timeout: optional(Seconds) },
  'UninstallReleaseRequest',
)

export const RollbackReleaseRequest = request(
  {
    namespace: optional(Namespace),
    version: optional(int32(0)),
    dry_run: optional(t.boolean),
    disable_hooks: optional(t.boolean),
    recreate: optional(t.boolean),
    wait: optional(t.boolean),
    force: optional(t.boolean),
    cleanup_on_fail: optional(t.boolean),
    timeout: optional(Seconds),
    description: optional(textLines(512)),
  },
  'RollbackReleaseRequest',
)
export type RollbackReleaseRequest = t.TypeOf<typeof RollbackReleaseRequest>

/** The filters of a list, named as in `helm list`. Each key may be in the query instead. */
export const ReleaseListOptions = request(
  {
    all: optional(LooseBoolean),
    namespace: optional(Namespace),
    sort: optional(t.union([SafeInteger, freeText(16)])),
    byDate: optional(LooseBoolean),
    sortReverse: optional(LooseBoolean),
    limit: optional(looseInteger(0)),
    offset: optional(looseInteger(0)),
    filter: optional(freeText(1000)),
    short: optional(LooseBoolean),
    uninstalled: optional(LooseBoolean),
    superseded: optional(LooseBoolean),
    uninstalling: optional(LooseBoolean),
    deployed: optional(LooseBoolean),
    failed: optional(LooseBoolean),
    pending: optional(LooseBoolean),
    full: optional(LooseBoolean),
  },
  'ReleaseListOptions',
)

export const HistoryQuery = request({ max: optional(QueryInt), namespace: optional(Namespace), full: optional(QueryBoolean) }, 'HistoryQuery')
export const RevisionQuery = request({ version: optional(QueryInt), namespace: optional(Namespace) }, 'RevisionQuery')

type ReleaseOut = t.TypeOf<typeof ReleaseOut>

/** Returns a whole release, key for key. */
export const toRelease = (release: Release): ReleaseOut => {
  const { config, hooks, apply_method, ...rest } = release
  return { ...rest, config, hooks: hooks === undefined ? undefined : [...hooks], apply_method }
}

/** Returns a row of a list: trimmed, or whole when whole releases were requested. */
export const toReleaseRow = (row: ReleaseHeader | Release): ReleaseOut => {
  if (!('chartMetadata' in row)) return toRelease(row)
  const { chartMetadata, ...rest } = row
  return { ...rest, chart: { metadata: chartMetadata }, config: undefined, manifest: undefined, hooks: undefined, apply_method: undefined }
}

/** Returns a release without the files, templates and default values of its chart. */
export const toReleaseState = (release: Release): ReleaseOut => {
  const { templates: _templates, values: _values, files: _files, ...chart } = release.chart
  return toRelease({ ...release, chart })
}

const HelmDriver = request({ pkg3: optional(request({ driverName: optional(freeText(64)) }, 'HelmDriverOfVersion')) }, 'HelmDriver')
const driverOptions = { driver: optional(HelmDriver), 'driver.pkg3.driverName': optional(freeText(64)) }
/** The driver is an object or one key with points. Answers show it in `data`. */
export const TillerOptions = request({ ...driverOptions, data: optional(request(driverOptions, 'TillerData')) }, 'TillerOptions')

export const ConsoleConfig = answer(
  {
    id: SafeInteger,
    userID: SafeInteger,
    clusterID: t.string,
    type: SafeInteger,
    data: answer({ driver: answer({ pkg3: answer({ driverName: t.string }, 'DriverOfVersion') }, 'DriverData') }, 'ConsoleConfigData'),
    createdUnix: SafeInteger,
    updatedUnix: SafeInteger,
  },
  'ConsoleConfig',
)
export type ConsoleConfig = t.TypeOf<typeof ConsoleConfig>
