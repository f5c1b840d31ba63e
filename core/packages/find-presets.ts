import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { ClusterUnreachable, type ClusterAnswer, type MemberCluster, type MemberFailure } from '../clusters/ports.ts'
import type { Failure } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import { presetsInForce, readPreset, type ChartPreset } from './chart-presets.ts'
import { makeApiResources } from './editor-discovery.ts'
import { labelTest } from './label-selector.ts'
import { asTable } from './value-tables.ts'
import { PresetsRefused, VariantMissing } from './view-ports.ts'

/** Whose variant is asked for; `name` is the plural, and one of it and `kind` is there. */
export interface VariantWish {
  readonly group: string
  readonly name: string
  readonly kind: string
  readonly variant: string
  /** Empty: presets of the cluster alone. */
  readonly namespace: string
}

export type PresetFailure = Failure<'VariantMissing'> | Failure<'PresetsRefused'> | MemberFailure
type Found<A> = Promise<Either<PresetFailure, A>>

const editors = '/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors'
const presets = '/apis/charts.x-helm.dev/v1alpha1'
const maxBytes = 8 * 1024 * 1024
const pageSize = 500
const maxPages = 10

/** An object of the cluster; undefined for 404, also of a cluster that does not know the kind. */
const readObject = (answer: ClusterAnswer, what: string): Either<PresetFailure, FreeObject | undefined> => {
  if (answer.status === 404) return right(undefined)
  if (answer.status === 403) return left(PresetsRefused(`The cluster does not let you read ${what}.`))
  const object = answer.status === 200 ? asTable(answer.json as Json) : undefined
  return object === undefined ? left(ClusterUnreachable(`The cluster answered ${answer.status} when asked for ${what}.`)) : right(object)
}

const ask = async (cluster: MemberCluster, target: string, what: string, signal: AbortSignal): Found<FreeObject | undefined> => {
  const answer = await cluster.request({ method: 'GET', target, limitBytes: maxBytes }, signal)
  return isLeft(answer) ? answer : readObject(answer.right, what)
}

const listPresets = async (cluster: MemberCluster, collection: string, what: string, signal: AbortSignal): Found<readonly ChartPreset[]> => {
  const found: ChartPreset[] = []
  let after = ''
  for (let page = 0; page < maxPages; page += 1) {
    const target = `${presets}/${collection}?limit=${pageSize}${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`
    const list = await ask(cluster, target, what, signal)
    if (isLeft(list)) return list
    const items: readonly Json[] = Array.isArray(list.right?.['items']) ? (list.right['items'] as readonly Json[]) : []
    found.push(...items.flatMap((item) => readPreset(asTable(item) ?? {}) ?? []))
    const next = asTable(list.right?.['metadata'])?.['continue']
    if (typeof next !== 'string' || next === '') return right(found)
    after = next
  }
  return left(PresetsRefused(`The cluster has more than ${pageSize * maxPages} ${what}.`))
}

/** The selector of a variant; undefined for a variant that selects nothing. */
const selectorOf = async (cluster: MemberCluster, wish: VariantWish, signal: AbortSignal): Found<FreeObject | undefined> => {
  const group = wish.group === 'core' ? '' : wish.group
  const resource = await makeApiResources(cluster, signal).complete({ group, version: '', name: wish.name, kind: wish.kind, scope: '' })
  if (isLeft(resource)) return resource
  const { version, name } = resource.right
  const asked = `${wish.name || wish.kind}${group === '' ? '' : `.${group}`}`
  if (version === '' || name === '') return left(VariantMissing(`The cluster serves no resource ${asked}.`))
  const editor = await ask(cluster, `${editors}/${encodeURIComponent(`${group || 'core'}-${version}-${name}`)}`, 'ResourceEditors', signal)
  if (isLeft(editor)) return editor
  const listed = asTable(editor.right?.['spec'])?.['variants']
  const variants = (Array.isArray(listed) ? (listed as readonly Json[]) : []).map(asTable)
  const variant = variants.find((each) => each?.['name'] === wish.variant)
  if (variant === undefined) return left(VariantMissing(`The cluster knows no variant ${wish.variant} of ${asked}.`))
  return right(asTable(variant['selector']))
}

/** The presets of a variant, the weakest first; everything is read as the caller. */
export const findPresets = async (cluster: MemberCluster, wish: VariantWish, signal: AbortSignal): Found<readonly ChartPreset[]> => {
  const selector = await selectorOf(cluster, wish, signal)
  if (isLeft(selector)) return selector
  if (selector.right === undefined) return right([])
  const isSelected = labelTest(selector.right)
  if (isSelected === undefined) return left(VariantMissing(`The selector of the variant ${wish.variant} cannot be read.`))
  const ofCluster = await listPresets(cluster, 'clusterchartpresets', 'ClusterChartPresets', signal)
  if (isLeft(ofCluster)) return ofCluster
  const inNamespace = `namespaces/${encodeURIComponent(wish.namespace)}/chartpresets`
  const ofNamespace = wish.namespace === '' ? right([]) : await listPresets(cluster, inNamespace, `ChartPresets of the namespace ${wish.namespace}`, signal)
  return isLeft(ofNamespace) ? ofNamespace : right(presetsInForce(ofCluster.right, ofNamespace.right, isSelected))
}
