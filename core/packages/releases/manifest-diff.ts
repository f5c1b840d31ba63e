import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { DiffTools } from '../../formats/kubernetes/manifest-diff.ts'
import { diffManifests, describeDiff, isContained } from '../../formats/kubernetes/manifest-diff.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { Chart, ChartTexts } from '../charts/ports.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { askObject, objectsOf } from './kubernetes-objects.ts'

/** A comparison, as one line and in full. */
export interface ComparedManifests {
  readonly text: string
  readonly diff: FreeObject
}

/** Compares two manifests for display; both texts come from Helm. */
export const compareManifests = async (
  deps: DiffTools & { readonly chartTexts: ChartTexts },
  from: string,
  to: string,
  about: { readonly home: string; readonly redact: (text: string) => string },
): Outcome<Failure, ComparedManifests> => {
  const before = await objectsOf(deps.chartTexts, from)
  const after = await objectsOf(deps.chartTexts, to)
  if (isLeft(before)) return before
  if (isLeft(after)) return after
  const diff = await diffManifests(deps, before.right, after.right, about)
  return right({ text: describeDiff(diff), diff: diff as unknown as FreeObject })
}

/** Maximum number of CRDs that are compared; few charts have more. */
const maxAsked = 50

/** Returns the CRDs under `crds/` of a chart and its subcharts. */
export const chartCrds = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  chart: Chart,
): Promise<readonly ManifestObject[]> => {
  const found: ManifestObject[] = []
  for (const [path, bytes] of chart.files) {
    if (!/^crds\/.+\.(?:ya?ml|json)$/.test(path)) continue
    const objects = await objectsOf(texts, new TextDecoder().decode(bytes))
    if (!isLeft(objects)) found.push(...objects.right.filter(({ kind }) => kind === 'CustomResourceDefinition'))
  }
  for (const sub of chart.subcharts) found.push(...(await chartCrds(texts, sub)))
  return found
}

export interface CrdStatus {
  /** Not on the cluster. */
  readonly missing: readonly string[]
  /** On the cluster, but different from the chart's. */
  readonly differing: readonly string[]
}

/**
 * Compares the chart's CRDs with those on the cluster. For a caller who cannot read them, reports only whether they are
 * missing.
 */
export const compareCrds = async (
  cluster: MemberCluster,
  crds: readonly ManifestObject[],
  signal: AbortSignal,
): Promise<CrdStatus> => {
  const missing: string[] = []
  const differing: string[] = []
  for (const crd of crds.slice(0, maxAsked)) {
    const live = await askObject(
      cluster,
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${encodeURIComponent(crd.name)}`,
      signal,
    )
    if (live === undefined) missing.push(crd.name)
    else if (!isContained(crd.body.spec, live.spec)) differing.push(crd.name)
  }
  return { missing, differing }
}
