import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { ClusterAnswer, MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import { ClusterUnreachable } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ReadChartDeps, ReadChartFailure, ReadChartInput } from '../charts/chart-cache.ts'
import { openReader } from '../charts/chart-cache.ts'
import { asTable, entriesOf, mergeTables } from '../../formats/helm/value-tables.ts'
import { makeApiResources } from '../editors/api-resources.ts'
import { PresetsRefused, VariantMissing } from './types.ts'

/** Values prepared in a cluster for charts: a ClusterChartPreset, or a ChartPreset of one namespace. */
export interface ChartPreset {
  readonly name: string
  readonly labels: FreeObject
  readonly values: FreeObject
}

/** Reads an object of either kind; undefined if it has no name. Missing fields are empty. @internal */
export const readPreset = (object: FreeObject): ChartPreset | undefined => {
  const metadata = asTable(object['metadata'])
  const name: Json | undefined = metadata?.['name']
  if (typeof name !== 'string' || name === '') return undefined
  return {
    name,
    labels: asTable(metadata?.['labels']) ?? {},
    values: asTable(asTable(object['spec'])?.['values']) ?? {},
  }
}

const byName = (one: ChartPreset, other: ChartPreset): number =>
  one.name < other.name ? -1 : one.name > other.name ? 1 : 0

/**
 * Returns the presets in force, lowest precedence first: the selected ones of the cluster, by name, then those of the
 * namespace. A preset of the namespace hides one of the cluster with the same name, regardless of its own labels.
 *
 * @internal
 */
export const presetsInForce = (
  cluster: readonly ChartPreset[],
  namespaced: readonly ChartPreset[],
  isSelected: (labels: FreeObject) => boolean,
): readonly ChartPreset[] => {
  const selected = cluster.filter(({ labels }) => isSelected(labels))
  const wanted = new Set(selected.map(({ name }) => name))
  const own = namespaced.filter(({ name, labels }) => wanted.has(name) || isSelected(labels))
  const hidden = new Set(own.map(({ name }) => name))
  return [...selected.filter(({ name }) => !hidden.has(name)).sort(byName), ...[...own].sort(byName)]
}

/** Merges presets over a chart's values, in order. @internal */
export const withPresets = (values: FreeObject, presets: readonly ChartPreset[]): FreeObject =>
  presets.reduce((merged, preset) => mergeTables(merged, preset.values), values)

type Labels = Readonly<Record<string, Json | undefined>>
type Test = (labels: Labels) => boolean

const valueOf = (labels: Labels, key: string): Json | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined

const expressionTest = (given: FreeObject): Test | undefined => {
  const { key, operator, values } = given
  if (typeof key !== 'string') return undefined
  const among: readonly Json[] = Array.isArray(values) ? (values as readonly Json[]) : []
  switch (operator) {
    case 'In':
      return (labels) => among.includes(valueOf(labels, key) ?? null)
    case 'NotIn':
      // As in Kubernetes, an object without the label is not in the set.
      return (labels) => !among.includes(valueOf(labels, key) ?? null)
    case 'Exists':
      return (labels) => valueOf(labels, key) !== undefined
    case 'DoesNotExist':
      return (labels) => valueOf(labels, key) === undefined
    default:
      return undefined
  }
}

/**
 * Returns a test for a Kubernetes label selector (`matchLabels`, `matchExpressions`; an empty one matches everything).
 * Undefined if it is not a selector.
 *
 * @internal
 */
export const labelTest = (selector: FreeObject): Test | undefined => {
  const { matchLabels = {}, matchExpressions = [] } = selector
  const pairs = asTable(matchLabels ?? {})
  const expressions = Array.isArray(matchExpressions ?? [])
    ? ((matchExpressions ?? []) as readonly Json[]).map(asTable)
    : undefined
  if (pairs === undefined || expressions === undefined) return undefined
  const tests = [
    ...entriesOf(pairs).map(
      ([key, value]): Test =>
        (labels) =>
          valueOf(labels, key) === value,
    ),
    ...expressions.map((each) => (each === undefined ? undefined : expressionTest(each))),
  ]
  const known = tests.filter((test) => test !== undefined)
  return known.length === tests.length ? (labels) => known.every((test) => test(labels)) : undefined
}

/** The requested variant and its resource; `name` is the plural, and it or `kind` is set. */
export interface RequestedVariant {
  readonly group: string
  readonly name: string
  readonly kind: string
  readonly variant: string
  /** Empty means presets of the cluster only. */
  readonly namespace: string
}

export type PresetFailure = Failure<'VariantMissing'> | Failure<'PresetsRefused'> | MemberFailure
type Found<A> = Promise<Either<PresetFailure, A>>

const editors = '/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors'
const presets = '/apis/charts.x-helm.dev/v1alpha1'
const maxBytes = 8 * 1024 * 1024
const pageSize = 500
const maxPages = 10

/** Returns an object of the cluster; undefined for 404, including from a cluster that does not know the kind. */
const readObject = (answer: ClusterAnswer, what: string): Either<PresetFailure, FreeObject | undefined> => {
  if (answer.status === 404) return right(undefined)
  if (answer.status === 403) return left(PresetsRefused(`The cluster does not let you read ${what}.`))
  const object = answer.status === 200 ? asTable(answer.json as Json) : undefined
  return object === undefined
    ? left(ClusterUnreachable(`The cluster answered ${answer.status} when asked for ${what}.`))
    : right(object)
}

const ask = async (
  cluster: MemberCluster,
  target: string,
  what: string,
  signal: AbortSignal,
): Found<FreeObject | undefined> => {
  const answer = await cluster.request({ method: 'GET', target, limitBytes: maxBytes }, signal)
  return isLeft(answer) ? answer : readObject(answer.right, what)
}

const listPresets = async (
  cluster: MemberCluster,
  collection: string,
  what: string,
  signal: AbortSignal,
): Found<readonly ChartPreset[]> => {
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

/** Returns the selector of a variant; undefined for a variant that selects nothing. */
const selectorOf = async (
  cluster: MemberCluster,
  requested: RequestedVariant,
  signal: AbortSignal,
): Found<FreeObject | undefined> => {
  const group = requested.group === 'core' ? '' : requested.group
  const resource = await makeApiResources(cluster, signal).complete({
    group,
    version: '',
    name: requested.name,
    kind: requested.kind,
    scope: '',
  })
  if (isLeft(resource)) return resource
  const { version, name } = resource.right
  const asked = `${requested.name || requested.kind}${group === '' ? '' : `.${group}`}`
  if (version === '' || name === '') return left(VariantMissing(`The cluster serves no resource ${asked}.`))
  const editor = await ask(
    cluster,
    `${editors}/${encodeURIComponent(`${group || 'core'}-${version}-${name}`)}`,
    'ResourceEditors',
    signal,
  )
  if (isLeft(editor)) return editor
  const listed = asTable(editor.right?.['spec'])?.['variants']
  const variants = (Array.isArray(listed) ? (listed as readonly Json[]) : []).map(asTable)
  const variant = variants.find((each) => each?.['name'] === requested.variant)
  if (variant === undefined)
    return left(VariantMissing(`The cluster knows no variant ${requested.variant} of ${asked}.`))
  return right(asTable(variant['selector']))
}

/** Returns the presets of a variant, lowest precedence first; everything is read as the caller. @internal */
export const findPresets = async (
  cluster: MemberCluster,
  requested: RequestedVariant,
  signal: AbortSignal,
): Found<readonly ChartPreset[]> => {
  const selector = await selectorOf(cluster, requested, signal)
  if (isLeft(selector)) return selector
  if (selector.right === undefined) return right([])
  const isSelected = labelTest(selector.right)
  if (isSelected === undefined)
    return left(VariantMissing(`The selector of the variant ${requested.variant} cannot be read.`))
  const ofCluster = await listPresets(cluster, 'clusterchartpresets', 'ClusterChartPresets', signal)
  if (isLeft(ofCluster)) return ofCluster
  const inNamespace = `namespaces/${encodeURIComponent(requested.namespace)}/chartpresets`
  const ofNamespace =
    requested.namespace === ''
      ? right([])
      : await listPresets(cluster, inNamespace, `ChartPresets of the namespace ${requested.namespace}`, signal)
  return pipe(
    ofNamespace,
    map((presets) => presetsInForce(ofCluster.right, presets, isSelected)),
  )
}

export interface GetChartValuesInput extends ReadChartInput {
  /** With an empty `variant`, no presets apply. */
  readonly requested: RequestedVariant
}

/** Returns the default values of a chart, with the presets of a variant merged over them. */
export const makeGetChartValues =
  (deps: ReadChartDeps) =>
  async (
    call: SignedInCall<never>,
    { grant, ref, requested }: GetChartValuesInput,
  ): Outcome<ReadChartFailure | PresetFailure, FreeObject> => {
    const reader = await openReader(deps, call, grant)
    if (isLeft(reader)) return reader
    const fetched = await deps.open(ref, reader.right, call.signal)
    if (isLeft(fetched)) return fetched
    const { values } = fetched.right.chart
    if (requested.variant === '') return right(values)
    return pipe(
      await findPresets(reader.right.cluster, requested, call.signal),
      map((found) => withPresets(values, found)),
    )
  }
