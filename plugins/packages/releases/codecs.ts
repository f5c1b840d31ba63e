import * as t from 'io-ts'
import type { Json } from '../../../core/kernel/json.ts'
import type { Release, ReleaseHeader } from '../../../core/packages/types.ts'
import {
  answer,
  AnyJson,
  described,
  FreeObjectCodec,
  freeText,
  int32,
  listOf,
  noted,
  optional,
  plainValue,
  QueryBoolean,
  QueryInt,
  request,
  SafeInteger,
  textLines,
} from '../../kit/codecs.ts'
import type { ReleaseOut } from '../codecs.ts'
import { chartSourceProps, LooseBoolean, looseInteger, Namespace, ReleaseName } from '../codecs.ts'

const units: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
}
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
      const seconds =
        typeof u === 'string' && u.length <= 64
          ? parseGoDuration(u)
          : typeof u === 'number' && Number.isSafeInteger(u) && u >= 0
            ? secondsOfCount(u)
            : undefined
      return seconds === undefined || seconds > longestSeconds ? t.failure(u, c) : t.success(Math.ceil(seconds))
    },
    t.identity,
  ),
  {
    description:
      'A duration in the format of Go (`5m0s`), or an integer in nanoseconds; a number below 1,000,000 is in seconds.',
  },
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

const jsonAt = (u: object, ...keys: readonly string[]): unknown =>
  keys.map((key) => (u as Record<string, unknown>)[key]).find((value) => value !== undefined)

/** `{"K": "a.b", "V": 1}`. Go accepts lower-case keys too. */
const KeyValuePair = noted(
  new t.Type<{ readonly key: string; readonly value: Json }, unknown, unknown>(
    'an object with K, a dotted path, and V, any JSON value',
    (u): u is { readonly key: string; readonly value: Json } => typeof u === 'object' && u !== null && 'key' in u,
    (u, c) => {
      if (typeof u !== 'object' || u === null || Array.isArray(u)) return t.failure(u, c)
      const [key, value] = [jsonAt(u, 'K', 'k'), jsonAt(u, 'V', 'v')]
      return typeof key === 'string' && key !== '' && key.length <= 4000 && value !== undefined && AnyJson.is(value)
        ? t.success({ key, value })
        : t.failure(u, c)
    },
    t.identity,
  ),
  { type: 'object' },
)

const SetLine = textLines(64 * 1024)
const valuesProps = {
  replaceValues: described(
    optional(FreeObjectCodec),
    'The complete values of the release; without other fields for values, and none by default.',
  ),
  valuesFile: described(
    optional(freeText(512)),
    'The file of the chart whose values are the base; `values.yaml` if it is absent or empty.',
  ),
  valuesPatch: described(
    optional(listOf(FreeObjectCodec, 10_000)),
    'The operations (RFC 6902) that change the base, at most 10,000; without the fields after it, and none by default.',
  ),
  valueBytes: described(
    optional(listOf(YamlBytes, 100)),
    'YAML documents in base64 that are merged over the base, in order, at most 100; none by default.',
  ),
  values: described(
    optional(listOf(SetLine, 1000)),
    'Lines as for `helm --set`, applied after `valueBytes`, at most 1,000 of 65,536 characters; none by default.',
  ),
  stringValues: described(
    optional(listOf(SetLine, 1000)),
    'Lines as for `helm --set-string`, applied after `values`, at most 1,000 of 65,536 characters; none by default.',
  ),
  kv_pairs: described(
    optional(listOf(KeyValuePair, 1000)),
    'Values by their paths, applied last, at most 1,000: `K` is a path with dots and `V` any JSON value; none by ' +
      'default.',
  ),
}

const actionProps = {
  createNamespace: described(
    optional(t.boolean),
    'Whether to create the namespace if it does not exist; false by default.',
  ),
  dryRun: described(
    optional(t.boolean),
    'Whether to change nothing and return the changes in the result of the task; false by default.',
  ),
  disableHooks: described(optional(t.boolean), 'Whether to omit the hooks of the chart; false by default.'),
  wait: described(optional(t.boolean), 'Whether the task waits until the objects are ready; false by default.'),
  timeout: described(
    optional(Duration),
    'The longest time of each single wait, at most 24 hours, 5 minutes by default: a duration of Go (`5m0s`), or ' +
      'an integer in nanoseconds; a number below 1,000,000 is in seconds.',
  ),
  atomic: described(
    optional(t.boolean),
    'Whether a failed operation is undone; false by default. It waits for the objects, too.',
  ),
  description: described(
    optional(textLines(512)),
    'The description of the revision, at most 512 characters; that of Helm by default.',
  ),
  devel: described(
    optional(t.boolean),
    'Whether the newest version may be a pre-release if no version is given; false by default.',
  ),
  subNotes: described(optional(t.boolean), 'Whether the notes of subcharts are rendered, too; false by default.'),
  skipCRDs: described(
    optional(t.boolean),
    'Whether to omit the custom resource definitions of the chart; false by default.',
  ),
  disableOpenAPIValidation: described(
    optional(t.boolean),
    'Whether to omit the check of the objects against the schema of the cluster; false by default.',
  ),
  takeOwnership: described(
    optional(t.boolean),
    'Whether objects that exist and belong to no release become part of this one; false by default.',
  ),
  partOf: described(
    optional(freeText(253)),
    'The application to which the release belongs, at most 253 characters, written as `app.kubernetes.io/part-of` ' +
      'on the chart; none by default.',
  ),
}

export const InstallReleaseOptions = request(
  {
    ...chartSourceProps,
    ...valuesProps,
    ...actionProps,
    releaseName: described(
      ReleaseName,
      'The name of the new release: at most 53 lower-case letters, digits, hyphens and dots.',
    ),
    namespace: described(optional(Namespace), 'The namespace of the new release; `default` if it is absent or empty.'),
    clientOnly: described(
      optional(t.boolean),
      'Whether to render without any request to the cluster, which changes nothing; false by default.',
    ),
    replace: described(
      optional(t.boolean),
      'Whether to reuse the name of a failed or uninstalled release; false by default.',
    ),
    includeCRDs: described(
      optional(t.boolean),
      'Whether a rendering includes the custom resource definitions of the chart; it has no effect on an ' +
        'installation. False by default.',
    ),
  },
  'InstallReleaseOptions',
)
export type InstallReleaseOptions = t.TypeOf<typeof InstallReleaseOptions>

export const UpgradeReleaseOptions = request(
  {
    ...chartSourceProps,
    ...valuesProps,
    ...actionProps,
    namespace: described(
      optional(Namespace),
      'The namespace of the release; all namespaces are searched if it is absent or empty.',
    ),
    install: described(optional(t.boolean), 'Whether to install the release if it does not exist; false by default.'),
    cleanupOnFail: described(
      optional(t.boolean),
      'Whether new objects are removed if the upgrade fails; false by default.',
    ),
    force: described(optional(t.boolean), 'Whether objects that cannot be changed are replaced; false by default.'),
    recreate: described(optional(t.boolean), 'Whether the pods of the release are restarted; false by default.'),
    resetValues: described(
      optional(t.boolean),
      'Whether to start from the defaults of the chart, without the values of the former revision; false by default.',
    ),
    reuseValues: described(
      optional(t.boolean),
      'Whether to merge the given values over those of the former revision; false by default.',
    ),
    resetThenReuseValues: described(
      optional(t.boolean),
      'Whether to merge the given values over those of the former revision and these over the defaults of the new ' +
        'chart; false by default.',
    ),
    maxHistory: described(
      optional(int32(0, 1000)),
      'The number of revisions to keep, 0 to 1,000, where 0 is no limit; that of Helm by default.',
    ),
  },
  'UpgradeReleaseOptions',
)
export type UpgradeReleaseOptions = t.TypeOf<typeof UpgradeReleaseOptions>

const Seconds = looseInteger(0, longestSeconds)

export const UninstallReleaseRequest = request(
  {
    namespace: described(
      optional(Namespace),
      'The namespace of the release; all namespaces are searched if it is absent or empty.',
    ),
    disable_hooks: described(optional(LooseBoolean), 'Whether to omit the hooks of the chart; false by default.'),
    purge: described(optional(LooseBoolean), 'Whether to remove the history of the release, too; true by default.'),
    timeout: described(
      optional(Seconds),
      'The longest time of each single wait in seconds, 0 to 86,400; 300 if it is absent or 0.',
    ),
  },
  'UninstallReleaseRequest',
)

export const RollbackReleaseRequest = request(
  {
    namespace: described(
      optional(Namespace),
      'The namespace of the release; all namespaces are searched if it is absent or empty.',
    ),
    version: described(optional(int32(0)), 'The revision to return to; the previous one if it is absent or 0.'),
    dry_run: described(
      optional(t.boolean),
      'Whether to change nothing and return the changes in the result of the task; false by default.',
    ),
    disable_hooks: described(optional(t.boolean), 'Whether to omit the hooks of the chart; false by default.'),
    recreate: described(optional(t.boolean), 'Whether the pods of the release are restarted; false by default.'),
    wait: described(optional(t.boolean), 'Whether the task waits until the objects are ready; false by default.'),
    force: described(optional(t.boolean), 'Whether objects that cannot be changed are replaced; false by default.'),
    cleanup_on_fail: described(
      optional(t.boolean),
      'Whether new objects are removed if the rollback fails; false by default.',
    ),
    timeout: described(
      optional(Seconds),
      'The longest time of each single wait in seconds, 0 to 86,400; 300 if it is absent or 0.',
    ),
    description: described(
      optional(textLines(512)),
      'The description of the new revision, at most 512 characters; that of Helm by default.',
    ),
  },
  'RollbackReleaseRequest',
)
export type RollbackReleaseRequest = t.TypeOf<typeof RollbackReleaseRequest>

/** The filters of a list, named as in `helm list`. Each key may be in the query instead. */
export const ReleaseListOptions = request(
  {
    all: described(
      optional(LooseBoolean),
      'Whether to list releases in every status; false by default. It takes precedence over the fields for single ' +
        'statuses.',
    ),
    namespace: described(
      optional(Namespace),
      'The namespace of the releases; all namespaces if it is absent or empty.',
    ),
    sort: described(
      optional(t.union([SafeInteger, freeText(16)])),
      'The order: `name` (the default), `name-desc`, `date`, `date-desc`, or 1 to 3 for the last three.',
    ),
    byDate: described(
      optional(LooseBoolean),
      'Whether to order by the time of the last deployment, the oldest first; false by default. It takes ' +
        'precedence over `sort`.',
    ),
    sortReverse: described(
      optional(LooseBoolean),
      'Whether to order by name backwards, or with `byDate` by time, the newest first; false by default. It takes ' +
        'precedence over `sort`.',
    ),
    limit: described(
      optional(looseInteger(0)),
      'The highest number of releases to return; 0, the default, is no limit.',
    ),
    offset: described(optional(looseInteger(0)), 'The number of releases to omit at the beginning; 0 by default.'),
    filter: described(
      optional(freeText(1000)),
      'A pattern (regular expression) that occurs in the name, at most 1,000 characters; all names if it is ' +
        'absent or empty.',
    ),
    short: described(optional(LooseBoolean), 'The flag of `helm list` for names alone; accepted and ignored.'),
    uninstalled: described(
      optional(LooseBoolean),
      'Whether to list uninstalled releases whose history is kept; false by default.',
    ),
    superseded: described(optional(LooseBoolean), 'Whether to list superseded revisions; false by default.'),
    uninstalling: described(
      optional(LooseBoolean),
      'Whether to list releases that are being uninstalled; false by default.',
    ),
    deployed: described(
      optional(LooseBoolean),
      'Whether to list deployed releases; false by default. Without any status, deployed and failed releases are ' +
        'listed.',
    ),
    failed: described(optional(LooseBoolean), 'Whether to list failed releases; false by default, but see `deployed`.'),
    pending: described(
      optional(LooseBoolean),
      'Whether to list releases with an operation in progress; false by default.',
    ),
    full: described(
      optional(LooseBoolean),
      'Whether rows are whole releases; false by default. More than 128 MiB are refused.',
    ),
  },
  'ReleaseListOptions',
)

export const HistoryQuery = request(
  {
    max: described(
      optional(QueryInt),
      'The highest number of revisions to return; 256 by default, and if it is less than 1.',
    ),
    namespace: described(
      optional(plainValue(Namespace)),
      'The namespace of the release; all namespaces are searched if it is absent or empty.',
    ),
    full: described(optional(QueryBoolean), 'Whether rows are whole releases; false by default.'),
  },
  'HistoryQuery',
)
export const RevisionQuery = request(
  {
    version: described(optional(QueryInt), 'The number of the revision; the newest if it is absent or less than 1.'),
    namespace: described(
      optional(plainValue(Namespace)),
      'The namespace of the release; all namespaces are searched if it is absent or empty.',
    ),
  },
  'RevisionQuery',
)

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
  return {
    ...rest,
    chart: { metadata: chartMetadata },
    config: undefined,
    manifest: undefined,
    hooks: undefined,
    apply_method: undefined,
  }
}

/** Returns a release without the files, templates and default values of its chart. */
export const toReleaseState = (release: Release): ReleaseOut => {
  const { templates: _templates, values: _values, files: _files, ...chart } = release.chart
  return toRelease({ ...release, chart })
}

const HelmDriverOfVersion = request(
  {
    driverName: described(
      optional(freeText(64)),
      'The storage driver, `Secret` or `ConfigMap` in any case; `Secret` if it is absent or empty.',
    ),
  },
  'HelmDriverOfVersion',
)
const HelmDriver = request(
  {
    pkg3: described(optional(HelmDriverOfVersion), 'The settings of the package manager; absent to use the default.'),
  },
  'HelmDriver',
)
const driverOptions = {
  driver: described(optional(HelmDriver), 'The driver as an object.'),
  'driver.pkg3.driverName': described(
    optional(freeText(64)),
    'The driver by one key: `Secret` or `ConfigMap` in any case. The object takes precedence.',
  ),
}
/** The driver is an object or one key with points. Answers show it in `data`. */
export const TillerOptions = request(
  {
    ...driverOptions,
    data: described(
      optional(request(driverOptions, 'TillerData')),
      'The setting in the form of an answer, used if there is no driver beside it.',
    ),
  },
  'TillerOptions',
)

const DriverOfVersion = described(
  answer({ driverName: described(t.string, 'The storage driver: `Secret` or `ConfigMap`.') }, 'DriverOfVersion'),
  'The settings of the package manager.',
)
const DriverData = described(
  answer({ pkg3: DriverOfVersion }, 'DriverData'),
  'The settings of the storage driver, by version of the package manager.',
)
const ConsoleConfigData = described(answer({ driver: DriverData }, 'ConsoleConfigData'), 'The setting itself.')

export const ConsoleConfig = answer(
  {
    id: described(SafeInteger, 'The id of the setting; 0 for the default.'),
    userID: described(SafeInteger, 'The id of the account that owns the cluster.'),
    clusterID: described(t.string, 'The UID of the cluster.'),
    type: described(SafeInteger, 'The type of the setting, always 1.'),
    data: ConsoleConfigData,
    createdUnix: described(SafeInteger, 'The time of the creation in seconds since 1970; 0 for the default.'),
    updatedUnix: described(SafeInteger, 'The time of the last change in seconds since 1970; 0 for the default.'),
  },
  'ConsoleConfig',
)
export type ConsoleConfig = t.TypeOf<typeof ConsoleConfig>
