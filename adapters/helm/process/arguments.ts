import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { HelmFlags, HelmVersion } from '../../../core/packages/releases/ports.ts'
import type { HelmVerb, ReleaseKey } from '../../../core/packages/types.ts'

export type HelmOperation = HelmVerb | 'template'

type Major = HelmVersion['major']
type Words = readonly string[]

/** The form of one flag. An operation or a Helm major version that is not listed does not have the flag. */
interface FlagRow {
  readonly flag: keyof HelmFlags
  readonly on: readonly HelmOperation[]
  readonly say: (value: never, major: Major, operation: HelmOperation) => Words
}

const row = <K extends keyof HelmFlags>(
  flag: K,
  on: readonly HelmOperation[],
  say: (value: NonNullable<HelmFlags[K]>, major: Major, operation: HelmOperation) => Words,
): FlagRow => ({ flag, on, say })

const rendering = ['template', 'install', 'upgrade'] as const
const changing = ['install', 'upgrade', 'rollback', 'uninstall'] as const

const when =
  (...words: Words) =>
  (isOn: boolean): Words =>
    isOn ? words : []

/** Characters of the longest description that is stored in a record. */
const longestDescription = 500

/** A week. Helm cannot parse larger numbers in any form that JavaScript prints. */
const longestTimeoutSeconds = 604_800
const largestCount = 1_000_000

const count = (value: number): string => String(value > 0 ? Math.min(Math.trunc(value), largestCount) : 0)

const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').slice(0, longestDescription)

const dryRunWords = (where: 'server' | 'client', major: Major, operation: HelmOperation): Words =>
  operation === 'uninstall' || (operation === 'rollback' && major === 3) ? ['--dry-run'] : [`--dry-run=${where}`]

/**
 * Every flag that may be passed. Values are passed in files, never here. Flags for rendering on a cluster's behalf are
 * never passed.
 */
const table: readonly FlagRow[] = [
  row('createNamespace', ['install', 'upgrade'], when('--create-namespace')),
  row('disableHooks', ['template', ...changing], when('--no-hooks')),
  row('replace', ['install'], when('--replace')),
  // The watcher of Helm 4.1 may miss that an object was removed (helm issue 31766).
  row('wait', changing, (isOn, major, operation) =>
    isOn ? [major === 3 ? '--wait' : `--wait=${operation === 'uninstall' ? 'legacy' : 'watcher'}`] : [],
  ),
  row('timeoutSeconds', changing, (seconds) =>
    seconds > 0 ? [`--timeout=${Math.min(Math.ceil(seconds), longestTimeoutSeconds)}s`] : [],
  ),
  row('atomic', ['install', 'upgrade'], (isOn, major) =>
    isOn ? [major === 3 ? '--atomic' : '--rollback-on-failure'] : [],
  ),
  row('cleanupOnFail', ['upgrade', 'rollback'], when('--cleanup-on-fail')),
  // Helm 4 refuses to replace objects that it applies server-side.
  row('force', ['upgrade', 'rollback'], (isOn, major) =>
    isOn ? (major === 3 ? ['--force'] : ['--force-replace', '--server-side=false']) : [],
  ),
  row('recreate', ['upgrade', 'rollback'], (isOn, major) => (isOn && major === 3 ? ['--recreate-pods'] : [])),
  row('resetValues', ['upgrade'], when('--reset-values')),
  row('reuseValues', ['upgrade'], when('--reuse-values')),
  row('resetThenReuseValues', ['upgrade'], when('--reset-then-reuse-values')),
  row('maxHistory', ['upgrade', 'rollback'], (most) => [`--history-max=${count(most)}`]),
  row('install', ['upgrade'], when('--install')),
  row('description', ['install', 'upgrade', 'uninstall'], (text) => [`--description=${oneLine(text)}`]),
  row('devel', rendering, when('--devel')),
  row('subNotes', ['install', 'upgrade'], when('--render-subchart-notes')),
  row('skipCrds', rendering, when('--skip-crds')),
  row('includeCrds', ['template'], when('--include-crds')),
  row('disableOpenApiValidation', rendering, when('--disable-openapi-validation')),
  row('takeOwnership', rendering, when('--take-ownership')),
  row('keepHistory', ['uninstall'], when('--keep-history')),
  row('dryRun', ['template', ...changing], dryRunWords),
]

const flagWords = (operation: HelmOperation, major: Major, flags: HelmFlags): Words =>
  table
    .filter(({ flag, on }) => flags[flag] !== undefined && on.includes(operation))
    .flatMap(({ flag, say }) => say(flags[flag] as never, major, operation))

export interface HelmCommand {
  readonly operation: HelmOperation
  readonly major: Major
  readonly flags: HelmFlags
  readonly release: ReleaseKey
  /** Name of a file in the working folder; absent if the operation takes no chart. */
  readonly chartFile?: string
  readonly valuesFile?: string
  /** For a rollback; 0 is the previous revision. */
  readonly revision?: number
  /** The capabilities that a rendering without a cluster assumes. */
  readonly capabilities?: { readonly kubeVersion: string; readonly apiVersions: readonly string[] }
  /** Checks the values against the schemas of the chart, which must be of `packSchemas`. */
  readonly checksSchemas?: boolean
  /** Prints progress on stderr, in helm's own words. */
  readonly isVerbose?: boolean
}

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const namespacePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Returns what is wrong with a release's name or namespace, or undefined. Helm never receives a name that could be
 * taken for a flag.
 */
export const nameProblem = ({ name, namespace }: ReleaseKey): string | undefined => {
  if (name.length > 53 || !namePattern.test(name))
    return (
      'The release name must be at most 53 characters of a-z, 0-9, - and dots, and begin and end with a ' +
      'letter or digit.'
    )
  if (!namespacePattern.test(namespace))
    return 'The namespace must be at most 63 characters of a-z, 0-9 and -, and begin and end with a letter or digit.'
  return undefined
}

/** Returns the arguments of `helm`. Every value of a flag follows `=`, and every positional argument follows `--`. */
export const argumentsOf = (command: HelmCommand): Words => {
  const { operation, major, flags, release, chartFile, valuesFile, revision, capabilities } = command
  const rendersChart = chartFile !== undefined
  return [
    operation,
    `--namespace=${release.namespace}`,
    // A chart's schema may name any URL or file, and helm would read it. Values are checked beforehand, against schemas
    // whose addresses are withheld.
    ...(rendersChart && command.checksSchemas !== true ? ['--skip-schema-validation'] : []),
    ...(rendersChart && operation !== 'template' ? ['--output=json'] : []),
    ...(command.isVerbose === true ? ['--debug'] : []),
    ...(valuesFile === undefined ? [] : [`--values=${valuesFile}`]),
    ...(capabilities === undefined
      ? []
      : [
          `--kube-version=${capabilities.kubeVersion}`,
          ...capabilities.apiVersions.map((each) => `--api-versions=${each}`),
        ]),
    ...flagWords(operation, major, flags),
    '--',
    release.name,
    ...(rendersChart ? [chartFile] : []),
    ...(operation === 'rollback' ? [count(revision ?? 0)] : []),
  ]
}

/** The properties of a cluster, other than objects, that charts can query. */
export interface Capabilities {
  readonly kubeVersion: string
  /** `apps/v1` and `apps/v1/Deployment`. */
  readonly apiVersions: readonly string[]
}

const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'
/** An argument list is limited in size. */
const mostApiVersions = 6_000
const longestWord = 253
const discoveryLimitBytes = 16 * 1024 * 1024

const isWord = (text: string): boolean => text.length <= longestWord && /^[A-Za-z0-9][A-Za-z0-9./-]*$/.test(text)

/** Returns a member of a value of any shape, or undefined: a cluster may answer with any JSON. */
const at = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined
const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = at(value, key)
  return Array.isArray(list) ? list : []
}

/** From an APIGroupDiscoveryList. */
const versionsIn = (discovery: unknown): readonly string[] =>
  listAt(discovery, 'items').flatMap((item) => {
    const group = at(at(item, 'metadata'), 'name')
    return listAt(item, 'versions').flatMap((each) => {
      const version = at(each, 'version')
      if (typeof version !== 'string') return []
      const groupVersion = typeof group === 'string' && group !== '' ? `${group}/${version}` : version
      const kinds = listAt(each, 'resources').flatMap((resource) => {
        const kind = at(at(resource, 'responseKind'), 'kind')
        return typeof kind === 'string' ? [`${groupVersion}/${kind}`] : []
      })
      return [groupVersion, ...new Set(kinds)]
    })
  })

/**
 * Returns the version and kinds of a cluster as the caller sees them, or undefined if the cluster does not report them.
 */
export const capabilitiesOf = async (
  cluster: MemberCluster,
  signal: AbortSignal,
): Promise<Capabilities | undefined> => {
  const ask = async (target: string, accept: string): Promise<unknown> => {
    const answer = await cluster.request(
      { method: 'GET', target, headers: [['accept', accept]], limitBytes: discoveryLimitBytes },
      signal,
    )
    return isLeft(answer) || answer.right.status !== 200 ? undefined : answer.right.json
  }
  const [version, core, groups] = await Promise.all([
    ask('/version', 'application/json'),
    ask('/api', aggregated),
    ask('/apis', aggregated),
  ])
  const kubeVersion = at(version, 'gitVersion')
  if (typeof kubeVersion !== 'string' || !/^v?\d+\.\d+[0-9A-Za-z.+-]{0,60}$/.test(kubeVersion)) return undefined
  const apiVersions = [core, groups].flatMap(versionsIn).filter(isWord)
  return { kubeVersion, apiVersions: apiVersions.slice(0, mostApiVersions) }
}
