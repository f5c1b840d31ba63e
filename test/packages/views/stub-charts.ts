import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { makeChartTexts } from '../../../adapters/charts/chart-threads.ts'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { AccountId, ClusterId, UserId } from '../../../core/kernel/ids.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { ChartMissing, type Chart, type ChartSource, type FetchedChart } from '../../../core/packages/charts/ports.ts'
import type { ChartReader } from '../../../core/packages/charts/chart-cache.ts'
import type { ChartRef, SourceRef } from '../../../core/packages/types.ts'
import { slices } from '../texts.ts'

export const harbour: SourceRef = {
  apiGroup: 'charts.x-helm.dev',
  kind: 'Legacy',
  namespace: '',
  name: 'https://charts.example.com',
}
export const refOf = (name: string, version = '1.0.0', source = harbour): ChartRef => ({ name, version, source })
export const text = (content: string): Uint8Array => new TextEncoder().encode(content)

const table = (content: string | undefined): FreeObject => {
  const parsed = kubernetesYamlText.parse(content ?? '')
  if (isLeft(parsed)) throw new Error(parsed.left.message)
  return (parsed.right ?? {}) as FreeObject
}

/** A chart of the given files; Chart.yaml is made where there is none. */
export const stubChart = (name: string, version: string, files: Readonly<Record<string, string>> = {}): Chart => {
  const all: Record<string, string> = {
    'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: ${version}\ndescription: The ${name}\n`,
    ...files,
  }
  return {
    name,
    version,
    metadata: table(all['Chart.yaml']),
    values: table(all['values.yaml']),
    files: new Map(Object.entries(all).map(([path, content]) => [path, text(content)])),
    subcharts: [],
  }
}

export const fetched = (chart: Chart, source = harbour): FetchedChart => ({
  chart,
  ref: { name: chart.name, version: chart.version, source },
  digest: `sha256:${chart.name}`,
  size: 1000,
})

/** Short texts alone: no thread is there. */
export const stubTexts = makeChartTexts({ run: () => Promise.reject(new Error('no thread is to be asked')) }, slices)

/** A source of just these charts; counts what is asked of it. */
export const stubSource = (charts: readonly Chart[]): ChartSource & { readonly asked: ChartRef[] } => {
  const asked: ChartRef[] = []
  return {
    asked,
    async fetch(ref) {
      asked.push(ref)
      const found = charts.find(
        ({ name, version }) => name === ref.name && (ref.version === '' || version === ref.version),
      )
      return found === undefined
        ? left(ChartMissing(`There is no chart ${ref.name} ${ref.version}.`))
        : right(fetched(found, ref.source))
    },
  }
}

export const stubCluster = (id = 1): MemberCluster => {
  const unasked = () => Promise.reject(new Error('the cluster is not to be asked'))
  return {
    id: id as ClusterId,
    ownerId: (id + 100) as AccountId,
    ownerName: 'acme',
    name: 'prod',
    uid: `uid-${id}`,
    request: unasked,
    relay: unasked,
  }
}
export const reader = (userId = 7, clusterId = 1): ChartReader => ({
  cluster: stubCluster(clusterId),
  userId: userId as UserId,
})
export const signal: AbortSignal = new AbortController().signal

/** A clock that shows what its `at` is set to. */
export const clockAt = (start = 0) => {
  const clock = { at: start, now: () => new Date(clock.at) }
  return clock
}
