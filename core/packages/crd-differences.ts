import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import { askObject } from './ask-objects.ts'
import type { Chart, ChartTexts } from './chart-ports.ts'
import { objectsOf, type ManifestObject } from './manifest-objects.ts'
import { asTable, entriesOf } from './value-tables.ts'

/** Definitions that are looked at; a chart with more is an exception. */
const maxAsked = 50

/** The custom resource definitions under `crds/` of a chart and its subcharts. */
export const chartCrds = async (texts: Pick<ChartTexts, 'parseAll'>, chart: Chart): Promise<readonly ManifestObject[]> => {
  const found: ManifestObject[] = []
  for (const [path, bytes] of chart.files) {
    if (!/^crds\/.+\.(?:ya?ml|json)$/.test(path)) continue
    const objects = await objectsOf(texts, new TextDecoder().decode(bytes))
    if (!isLeft(objects)) found.push(...objects.right.filter(({ kind }) => kind === 'CustomResourceDefinition'))
  }
  for (const sub of chart.subcharts) found.push(...(await chartCrds(texts, sub)))
  return found
}

/** Whether everything that is wanted is there; what a cluster adds by itself does not count. */
export const isContained = (wanted: Json | undefined, live: Json | undefined): boolean => {
  if (Array.isArray(wanted)) return Array.isArray(live) && wanted.length === live.length && wanted.every((item, index) => isContained(item as Json, live[index] as Json))
  const table = asTable(wanted)
  if (table === undefined) return wanted === live || String(wanted) === String(live)
  const there = asTable(live)
  return there !== undefined && entriesOf(table).every(([key, value]) => isContained(value, there[key]) || isEmpty(value))
}

const isEmpty = (value: Json): boolean => value === null || value === '' || value === false || (Array.isArray(value) && value.length === 0) || (asTable(value) !== undefined && entriesOf(value as FreeObject).length === 0)

export interface CrdStanding {
  /** Not on the cluster. */
  readonly missing: readonly string[]
  /** There, in another form than the chart's. */
  readonly differing: readonly string[]
}

/** How the chart's definitions stand on the cluster. A caller who may not read them is told that they are missing or not at all. */
export const compareCrds = async (cluster: MemberCluster, crds: readonly ManifestObject[], signal: AbortSignal): Promise<CrdStanding> => {
  const missing: string[] = []
  const differing: string[] = []
  for (const crd of crds.slice(0, maxAsked)) {
    const live = await askObject(cluster, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${encodeURIComponent(crd.name)}`, signal)
    if (live === undefined) missing.push(crd.name)
    else if (!isContained(crd.body.spec, live.spec)) differing.push(crd.name)
  }
  return { missing, differing }
}
