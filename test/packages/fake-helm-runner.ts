import { Ajv2020 } from 'ajv/dist/2020.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import { valuesByChart } from '../../adapters/charts/chart-values.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { valuesRefused, type Chart } from '../../core/packages/charts/ports.ts'
import {
  HelmMissing,
  HelmRefused,
  HelmStopped,
  type HelmChart,
  type HelmEvent,
  type HelmFailure,
  type HelmRendering,
  type HelmRunner,
  type HelmVersion,
  type HelmWork,
} from '../../core/packages/releases/ports.ts'
import type { Release, ReleaseStatus } from '../../core/packages/types.ts'

/** What a chart of the fake renders to; `$RELEASE` and `$(key)` stand for the release's name and a top-level value. */
export interface FakeChart {
  readonly name: string
  readonly version: string
  readonly defaults: FreeObject
  readonly manifest: string
  /** Names of hooks, ConfigMaps that run before installing and upgrading. */
  readonly hooks: readonly string[]
  readonly notes: string
  /** It is waited for in vain. */
  readonly neverReady: boolean
}

const plainChart: FakeChart = {
  name: 'berth',
  version: '1.0.0',
  defaults: { text: 'calm' },
  hooks: [],
  notes: '',
  neverReady: false,
  manifest:
    '---\n# Source: berth/templates/map.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: $RELEASE-map\ndata:\n  text: $(text)\n',
}

/** An archive that the fake understands. Any other one renders to a single ConfigMap. */
export const fakeArchive = (chart: Partial<FakeChart>): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ ...plainChart, ...chart }))

const readArchive = (archive: Uint8Array): FakeChart => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(archive)) as FakeChart
  } catch {
    return plainChart
  }
}

/** HelmRunner without a program or a cluster: releases are kept in memory. */
export interface FakeHelmRunner extends HelmRunner {
  /** Every operation that was asked for, oldest first. */
  readonly asked: readonly { readonly operation: string; readonly work: HelmWork }[]
  /** Undefined: there is no helm. */
  found: HelmVersion | undefined
  /** The stored revisions, oldest first. */
  revisions(namespace: string, name: string): readonly Release[]
}

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

const render = (work: HelmWork, { archive, values }: HelmChart): HelmRendering => {
  const chart = readArchive(archive)
  const all: FreeObject = { ...chart.defaults, ...values }
  const fill = (text: string): string =>
    text.replaceAll('$RELEASE', work.release.name).replace(/\$\((\w+)\)/g, (_whole, key: string) => String(all[key]))
  const hooks = chart.hooks.map((name) => ({
    name: fill(name),
    kind: 'ConfigMap',
    path: `${chart.name}/templates/hook.yaml`,
    manifest: 'kind: ConfigMap\n',
    events: ['pre-install', 'pre-upgrade'],
    weight: 3,
    delete_policies: ['before-hook-creation'],
  }))
  return { manifest: fill(chart.manifest), hooks, notes: fill(chart.notes), release: undefined }
}

/** Judges as helm does, where the schema has no draft; the texts are those of another library. */
const schemaCheck = async (archive: Uint8Array, values: FreeObject): Outcome<Failure<'ValuesRefused'>, void> => {
  const charts = valuesByChart(await readChart(archive, archiveLimits), values)
  if (isLeft(charts)) return charts
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const errors = charts.right.flatMap(({ path, chart, values: own }) => {
    const schema = (chart as Chart).files.get('values.schema.json')
    if (
      schema === undefined ||
      ajv.validate(JSON.parse(Buffer.from(schema).toString()) as object, JSON.parse(toWireJson(own)))
    )
      return []
    return (ajv.errors ?? []).map(
      ({ instancePath, message }) =>
        `${[path, ...instancePath.split('/').slice(1)].filter((part) => part !== '').join('.') || '(root)'}: ${message ?? ''}`,
    )
  })
  return errors.length === 0 ? right(undefined) : left(valuesRefused(errors))
}

export const makeFakeHelmRunner = (): FakeHelmRunner => {
  const releases = new Map<string, Release[]>()
  const asked: { readonly operation: string; readonly work: HelmWork }[] = []
  const keyOf = ({ target, release }: HelmWork): string => `${target.cluster.uid}/${release.namespace}/${release.name}`
  const historyOf = (work: HelmWork): Release[] => releases.get(keyOf(work)) ?? []

  const refusal = (work: HelmWork, signal: AbortSignal) => {
    const { name, namespace } = work.release
    if (name.length > 53 || !namePattern.test(name) || !namePattern.test(namespace))
      return HelmRefused('That is no name of a release or namespace.')
    if (fake.found === undefined) return HelmMissing('No helm can be used.')
    return signal.aborted ? HelmStopped('The operation was ended before helm was started.') : undefined
  }

  const tell = (
    work: HelmWork,
    resource: string,
    name: string | undefined,
    method: 'POST' | 'PATCH' | 'DELETE' = 'POST',
  ): void => {
    const { namespace } = work.release
    const target = `/api/v1/namespaces/${namespace}/${resource}${name === undefined ? '' : `/${name}`}`
    const event: HelmEvent = {
      kind: 'call',
      method,
      target,
      status: method === 'POST' ? 201 : 200,
      object: { group: resource === 'deployments' ? 'apps' : 'core', version: 'v1', resource, namespace, name },
      isDryRun: false,
    }
    work.onEvent?.(event)
  }

  const record = (
    work: HelmWork,
    status: ReleaseStatus,
    rendering: HelmRendering,
    chart: FreeObject,
    config: FreeObject,
  ): Release => {
    const history = historyOf(work)
    const release: Release = {
      ...work.release,
      version: (history.at(-1)?.version ?? 0) + 1,
      info: { status, description: work.flags.description ?? 'Complete', notes: rendering.notes },
      chart: { metadata: chart },
      config,
      manifest: rendering.manifest,
      hooks: rendering.hooks,
    }
    return release
  }

  const supersede = (history: readonly Release[]): Release[] =>
    history.map((each) =>
      each.info.status === 'deployed' ? { ...each, info: { ...each.info, status: 'superseded' as const } } : each,
    )

  /** In vain. */
  const waitFor = (seconds: number, signal: AbortSignal): Promise<'time' | 'cancelled'> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve('time'), seconds * 1000)
      signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer)
          resolve('cancelled')
        },
        { once: true },
      )
    })

  const apply = async (work: HelmWork, given: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering> => {
    const rendering = render(work, given)
    const chart = readArchive(given.archive)
    const metadata = { name: chart.name, version: chart.version }
    const release = record(work, 'deployed', rendering, metadata, given.values ?? {})
    if (work.flags.dryRun !== undefined)
      return right({ ...rendering, release: { ...release, info: { ...release.info, status: 'pending-install' } } })
    tell(work, 'secrets', undefined)
    for (let hooks = chart.hooks.length; hooks > 0; hooks -= 1) tell(work, 'configmaps', undefined)
    tell(work, 'configmaps', undefined)
    if (chart.neverReady) tell(work, 'deployments', undefined)
    const waits = chart.neverReady && (work.flags.wait === true || work.flags.atomic === true)
    const end = waits ? await waitFor(work.flags.timeoutSeconds ?? 300, signal) : 'ready'
    const stored: Release = end === 'ready' ? release : { ...release, info: { ...release.info, status: 'failed' } }
    const before = historyOf(work)
    if (end === 'ready' || work.flags.atomic !== true)
      releases.set(keyOf(work), [...(end === 'ready' ? supersede(before) : before), stored])
    tell(work, 'secrets', `sh.helm.release.v1.${work.release.name}.v${release.version}`, 'PATCH')
    if (end === 'ready') return right({ ...rendering, release })
    return left(
      end === 'time'
        ? HelmRefused('context deadline exceeded')
        : HelmStopped('Helm was ended because the operation was cancelled. The release is recorded as failed.'),
    )
  }

  const fake: FakeHelmRunner = {
    asked,
    found: { version: '4.1.4', major: 4, origin: 'setting' },
    revisions: (namespace, name) => [...releases].find(([key]) => key.endsWith(`/${namespace}/${name}`))?.[1] ?? [],
    version: async () => fake.found,
    async template(work, chart, signal) {
      asked.push({ operation: 'template', work })
      const refused = refusal(work, signal)
      return refused === undefined ? right({ ...render(work, chart), notes: '' }) : left(refused)
    },
    async checkValues(work, { archive }, values, signal) {
      asked.push({ operation: 'checkValues', work })
      const refused = refusal(work, signal)
      return refused === undefined ? schemaCheck(archive, values) : left(refused)
    },
    async install(work, chart, signal) {
      asked.push({ operation: 'install', work })
      const refused = refusal(work, signal)
      if (refused !== undefined) return left(refused)
      const last = historyOf(work).at(-1)?.info.status
      const isFree =
        last === undefined || (work.flags.replace === true && (last === 'failed' || last === 'uninstalled'))
      return isFree || work.flags.dryRun !== undefined
        ? apply(work, chart, signal)
        : left(HelmRefused('cannot re-use a name that is still in use'))
    },
    async upgrade(work, chart, signal) {
      asked.push({ operation: 'upgrade', work })
      const refused = refusal(work, signal)
      if (refused !== undefined) return left(refused)
      const isThere = historyOf(work).some(({ info }) => info.status !== 'uninstalled')
      return isThere || work.flags.install === true
        ? apply(work, chart, signal)
        : left(HelmRefused(`"${work.release.name}" has no deployed releases`))
    },
    async rollback(work, revision, signal) {
      asked.push({ operation: 'rollback', work })
      const refused = refusal(work, signal)
      if (refused !== undefined) return left(refused)
      const history = historyOf(work)
      const wanted = revision === 0 ? history.at(-2) : history.find(({ version }) => version === revision)
      if (wanted === undefined) return left(HelmRefused('release: not found'))
      if (work.flags.dryRun !== undefined) return right(undefined)
      const next: Release = {
        ...wanted,
        version: (history.at(-1)?.version ?? 0) + 1,
        info: { ...wanted.info, status: 'deployed', description: `Rollback to ${wanted.version}` },
      }
      tell(work, 'secrets', undefined)
      releases.set(keyOf(work), [...supersede(history), next])
      return right(undefined)
    },
    async uninstall(work, signal) {
      asked.push({ operation: 'uninstall', work })
      const refused = refusal(work, signal)
      if (refused !== undefined) return left(refused)
      const history = historyOf(work)
      const last = history.at(-1)
      if (last === undefined)
        return left(HelmRefused(`uninstall: Release not loaded: ${work.release.name}: release: not found`))
      if (work.flags.dryRun !== undefined) return right(undefined)
      tell(work, 'configmaps', `${work.release.name}-map`, 'DELETE')
      if (work.flags.keepHistory === true)
        releases.set(keyOf(work), [...history.slice(0, -1), { ...last, info: { ...last.info, status: 'uninstalled' } }])
      else releases.delete(keyOf(work))
      return right(undefined)
    },
  }
  return fake
}
