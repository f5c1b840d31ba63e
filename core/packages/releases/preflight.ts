import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { askObject } from './kubernetes-objects.ts'
import { apiRootOf, groupVersionOf } from '../../formats/kubernetes/objects.ts'
import type { Chart, ChartTools } from '../charts/ports.ts'
import type { HelmFailure, HelmRunner, HelmWork, StoredParts } from './ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import { toWireJson } from '../../kernel/json.ts'

/** Maximum number of kinds that are checked; each costs one small request. */
const maxAsked = 40
/** Maximum total size of a Secret or ConfigMap, as enforced by API servers. */
export const recordLimitBytes = 1024 * 1024

interface Question {
  readonly group: string
  readonly resource: string
  readonly kind: string
  readonly namespace: string
}

/** Returns the plurals of the kinds that the release needs, from the cluster's discovery; unknown kinds are omitted. */
const questionsOf = async (
  cluster: MemberCluster,
  objects: readonly ManifestObject[],
  home: string,
  signal: AbortSignal,
): Promise<readonly Question[]> => {
  const byVersion = Map.groupBy(objects, ({ apiVersion }) => apiVersion)
  const asked = new Map<string, Question>()
  for (const [apiVersion, needed] of [...byVersion].slice(0, maxAsked)) {
    const list = await askObject(cluster, apiRootOf(apiVersion), signal)
    const served = (Array.isArray(list?.resources) ? (list.resources as readonly Json[]) : [])
      .map(asTable)
      .filter((each) => each !== undefined && !String(each.name).includes('/'))
    const byKind = new Map(served.toReversed().map((each) => [each?.kind, each]))
    for (const { kind, namespace: own } of needed) {
      const found = byKind.get(kind)
      if (found === undefined) continue
      const namespace = found.namespaced === true ? own || home : ''
      const question = { group: groupVersionOf(apiVersion).group, resource: String(found.name), kind, namespace }
      asked.set(`${apiVersion} ${question.resource} ${namespace}`, question)
    }
  }
  return [...asked.values()].slice(0, maxAsked)
}

const isDenied = async (
  cluster: MemberCluster,
  { group, resource, namespace }: Question,
  verb: string,
  signal: AbortSignal,
): Promise<boolean> => {
  const resourceAttributes = { group, resource, verb, ...(namespace === '' ? {} : { namespace }) }
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
  const answer = await cluster.request(
    {
      method: 'POST',
      target: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      headers: [['content-type', 'application/json']],
      body: new TextEncoder().encode(toWireJson(body)),
    },
    signal,
  )
  if (isLeft(answer) || answer.right.status >= 300) return false
  return asTable(asTable(answer.right.json as Json)?.status)?.allowed === false
}

/**
 * Returns the rights that the release needs and the caller lacks, one line each. If the cluster does not answer, the
 * right is assumed; helm will fail if it is missing.
 */
export const missingRights = async (
  cluster: MemberCluster,
  objects: readonly ManifestObject[],
  { home, verb }: { readonly home: string; readonly verb: 'create' | 'patch' },
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const lines: string[] = []
  for (const question of await questionsOf(cluster, objects, home, signal)) {
    if (await isDenied(cluster, question, verb, signal)) {
      lines.push(
        `${verb} ` +
          `${question.resource}${question.group === '' ? '' : `.${question.group}`}${question.namespace === '' ? ' (for the whole cluster)' : ` in the namespace ${question.namespace}`}`,
      )
    }
  }
  return lines
}

/** Returns approximately what Helm will store for the release; subcharts are not included. */
export const storedParts = (chart: Chart, manifest: string, values: FreeObject | undefined): StoredParts => ({
  record: { chart: { metadata: chart.metadata, values: chart.values }, config: values ?? {}, manifest },
  files: new Map([...chart.files].filter(([path]) => !path.startsWith('charts/'))),
})

/** Returns the largest files of a chart, for display. */
export const bigFiles = (chart: Chart): string =>
  [...chart.files]
    .filter(([path]) => !path.startsWith('charts/'))
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, 5)
    .map(([path, bytes]) => `${path} (${Math.ceil(bytes.length / 1024)} KiB)`)
    .join(', ')

/** Checks values against the schemas of a chart and of each enabled subchart, as the helm that installs it does. */
export const checkValues = async (
  {
    helm,
    chartTools,
  }: { readonly helm: Pick<HelmRunner, 'checkValues'>; readonly chartTools: Pick<ChartTools, 'packSchemas'> },
  work: HelmWork,
  { chart, values }: { readonly chart: Chart; readonly values: FreeObject },
  signal: AbortSignal,
): Outcome<HelmFailure | Failure<'ValuesRefused'>, void> => {
  const schemas = await chartTools.packSchemas(chart, values)
  if (isLeft(schemas)) return schemas
  return schemas.right === undefined ? right(undefined) : helm.checkValues(work, schemas.right, values, signal)
}
