import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, own, ownObject, ownText } from '../../kernel/json.ts'
import type { Chart, ChartFailure, ChartSource, ChartTools } from '../charts/ports.ts'
import type { StorageDriverOf } from '../ports.ts'
import type { HelmFailure, HelmRendering, HelmRunner, HelmWork } from '../releases/ports.ts'
import { checkValues } from '../releases/preflight.ts'
import type { ChartRef, ReleaseKey } from '../types.ts'
import { completedSource } from '../types.ts'
import type { ApiResources } from './api-resources.ts'
import { makeApiResources } from './api-resources.ts'
import type { EditorCatalog } from './ports.ts'
import { EditorMissing, EditorUnfit, ModelRefused } from './ports.ts'
import type { EditorChart, EditorSubject, ResourceEditor, ResourceId } from './types.ts'

const editorAnnotation = 'meta.x-helm.dev/editor'
const resourceKeysAnnotation = 'meta.x-helm.dev/resource-keys'
const formKeysAnnotation = 'meta.x-helm.dev/form-keys'

const declaredKeys = (chart: Chart, annotation: string): readonly string[] =>
  ownText(ownObject(chart.metadata, 'annotations'), annotation)
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')

/** Returns EditorUnfit for a chart that cannot serve as an editor. */
const unfit = (chart: Chart, what: string): Either<Failure<'EditorUnfit'>, never> =>
  left(EditorUnfit(`The chart ${chart.name} ${chart.version} cannot serve as an editor: ${what}.`))

/**
 * Returns the resource that an editor chart declares in its annotation, `{"group", "version", "resource"}`; undefined
 * for other charts.
 */
export const editedResourceOf = (metadata: FreeObject): Pick<ResourceId, 'group' | 'name'> | undefined => {
  try {
    const named = JSON.parse(ownText(ownObject(metadata, 'annotations'), editorAnnotation)) as Json
    return isObject(named) && ownText(named, 'resource') !== ''
      ? { group: ownText(named, 'group'), name: ownText(named, 'resource') }
      : undefined
  } catch {
    return undefined
  }
}

/** Reads the values and annotations of an editor chart. Failure: EditorUnfit. @internal */
export const readEditorChart = (chart: Chart): Either<Failure<'EditorUnfit'>, EditorChart> => {
  const resource = own(ownObject(chart.values, 'metadata'), 'resource')
  if (!isObject(resource)) return unfit(chart, 'its values have no metadata.resource')
  const defaults = new Map<string, FreeObject>()
  for (const [key, value] of Object.entries(ownObject(chart.values, 'resources'))) {
    if (!isObject(value) || ownText(value, 'apiVersion') === '' || ownText(value, 'kind') === '')
      return unfit(chart, `resources.${key} of its values names no apiVersion and kind`)
    defaults.set(key, value)
  }
  const declared = declaredKeys(chart, resourceKeysAnnotation)
  return right({
    defaults,
    resource,
    usesForm: own(chart.values, 'form') !== undefined,
    resourceKeys: new Set(declared.length > 0 ? declared : defaults.keys()),
    formKeys: new Set(declaredKeys(chart, formKeysAnnotation)),
  })
}

const defaultsFile = 'values.yaml'

/** Returns the chart without its default values, which helm would merge into the given values. */
export const withoutDefaults = (chart: Chart): Chart => ({
  ...chart,
  values: {},
  files: new Map([...chart.files].filter(([path]) => path !== defaultsFile)),
})

/** The editor of the requested resource, with access to its charts. */
export interface OpenedEditor {
  readonly subject: EditorSubject
  readonly editor: ResourceEditor
  readonly resources: ApiResources
}
export interface OpenedChart {
  readonly chart: Chart
  readonly facts: EditorChart
}

export type OpenFailure = ChartFailure | MemberFailure | Failure<'EditorMissing'> | Failure<'EditorUnfit'>

export interface OpenChartsDeps {
  readonly editorCatalog: EditorCatalog
  readonly chartSource: ChartSource
}

/** Finds the editor. A missing version or plural of the resource is filled in from the cluster's API. */
export const makeOpenEditor =
  ({ editorCatalog }: Pick<OpenChartsDeps, 'editorCatalog'>) =>
  async (
    cluster: MemberCluster,
    subject: EditorSubject,
    signal: AbortSignal,
  ): Outcome<MemberFailure | Failure<'EditorMissing'>, OpenedEditor> => {
    const resources = makeApiResources(cluster, signal)
    const { version, name } = subject.resource
    const resource =
      version !== '' && name !== '' ? right(subject.resource) : await resources.complete(subject.resource)
    if (isLeft(resource)) return resource
    if (resource.right.version === '' || resource.right.name === '')
      return left(
        EditorMissing(
          'There is no editor for it: the cluster does not serve that resource, and the request does not ' +
            'say its version and plural.',
        ),
      )
    const completed = { ...subject, resource: resource.right }
    return pipe(
      await editorCatalog.find(cluster, resource.right, signal),
      map((editor) => ({ subject: completed, editor, resources })),
    )
  }

const nameOf = ({ resource }: ResourceEditor): string =>
  `${resource.name}${resource.group === '' ? '' : `.${resource.group}`}`

const fetchFor = async (
  deps: OpenChartsDeps,
  cluster: MemberCluster,
  ref: ChartRef,
  signal: AbortSignal,
): Outcome<ChartFailure, Chart> =>
  pipe(
    await deps.chartSource.fetch(
      { ...ref, source: completedSource(ref.source) },
      { cluster, tenantId: cluster.ownerId },
      signal,
    ),
    map(({ chart }) => chart),
  )

/** Fetches the chart that turns options into a model. Failures: EditorMissing if the editor has none, ChartFailure. */
export const fetchOptionsChart = async (
  deps: OpenChartsDeps,
  cluster: MemberCluster,
  { editor }: OpenedEditor,
  signal: AbortSignal,
): Outcome<OpenFailure, Chart> =>
  editor.options === undefined
    ? left(EditorMissing(`The editor of ${nameOf(editor)} has no options chart.`))
    : fetchFor(deps, cluster, editor.options, signal)

/**
 * Fetches the chart that turns a model into objects, with its metadata. Failures: EditorMissing, EditorUnfit,
 * ChartFailure.
 */
export const fetchEditorChart = async (
  deps: OpenChartsDeps,
  cluster: MemberCluster,
  { editor }: OpenedEditor,
  signal: AbortSignal,
): Outcome<OpenFailure, OpenedChart> => {
  if (editor.editor === undefined) return left(EditorMissing(`The editor of ${nameOf(editor)} has no editor chart.`))
  const chart = await fetchFor(deps, cluster, editor.editor, signal)
  if (isLeft(chart)) return chart
  const edited = editedResourceOf(chart.right.metadata)
  if (edited?.group !== editor.resource.group || edited.name !== editor.resource.name)
    return unfit(chart.right, `its annotation meta.x-helm.dev/editor does not name ${nameOf(editor)}`)
  return pipe(
    readEditorChart(chart.right),
    map((facts) => ({ chart: chart.right, facts })),
  )
}

export interface RenderChartDeps {
  readonly helm: HelmRunner
  readonly chartTools: ChartTools
  readonly driverOf: StorageDriverOf
}
export type RenderFailure = HelmFailure | Failure<'ValuesRefused'>

/**
 * Renders a chart with exactly these values and without its defaults. `lookup` reads the cluster as the caller; nothing
 * is written.
 */
export const makeRenderChart =
  ({ helm, chartTools, driverOf }: RenderChartDeps) =>
  async (
    cluster: MemberCluster,
    release: ReleaseKey,
    chart: Chart,
    values: FreeObject,
    signal: AbortSignal,
  ): Outcome<RenderFailure, HelmRendering> => {
    const bare = withoutDefaults(chart)
    const target = { cluster, driver: await driverOf(cluster), tenantId: cluster.ownerId }
    const work: HelmWork = { target, release, flags: { dryRun: 'server' } }
    const checked = await checkValues({ helm, chartTools }, work, { chart: bare, values }, signal)
    if (isLeft(checked)) return checked
    return helm.template(work, { archive: await chartTools.pack(bare), values }, signal)
  }
export type RenderChart = ReturnType<typeof makeRenderChart>

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const releaseName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const group = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)?$/
const version = /^(?:v[0-9]{1,4}(?:(?:alpha|beta)[0-9]{1,4})?)?$/
const plural = /^(?:[a-z0-9-]{1,63})?$/
const kind = /^(?:[A-Z][A-Za-z0-9]{0,62})?$/
const scope = /^(?:Namespaced|Cluster)?$/

interface Rule {
  readonly at: string
  readonly key: string
  readonly pattern: RegExp
  readonly max: number
  readonly what: string
  readonly isNeeded?: boolean
}

const resourceRules: readonly Rule[] = [
  { at: 'metadata.resource.group', key: 'group', pattern: group, max: 253, what: 'an API group' },
  {
    at: 'metadata.resource.version',
    key: 'version',
    pattern: version,
    max: 20,
    what: 'a version of an API group, like v1',
  },
  {
    at: 'metadata.resource.name',
    key: 'name',
    pattern: plural,
    max: 63,
    what: 'the plural of a resource, in lower-case letters',
  },
  { at: 'metadata.resource.kind', key: 'kind', pattern: kind, max: 63, what: 'a kind' },
  { at: 'metadata.resource.scope', key: 'scope', pattern: scope, max: 10, what: 'Namespaced or Cluster' },
]
const releaseRules: readonly Rule[] = [
  { at: 'metadata.release.name', key: 'name', pattern: releaseName, max: 53, what: 'a release name', isNeeded: true },
  { at: 'metadata.release.namespace', key: 'namespace', pattern: label, max: 63, what: 'a namespace' },
]

/** Returns the texts that the rules name; an absent or null text is empty. */
const readTexts = (object: FreeObject, rules: readonly Rule[], problems: string[]): ReadonlyMap<string, string> =>
  new Map(
    rules.map((rule) => {
      const value = own(object, rule.key) ?? ''
      const isFine =
        typeof value === 'string' &&
        value.length <= rule.max &&
        (value === '' ? rule.isNeeded !== true : rule.pattern.test(value))
      if (!isFine) problems.push(`${rule.at}: ${rule.what} is expected`)
      return [rule.key, typeof value === 'string' ? value : '']
    }),
  )

const readPart = (
  metadata: FreeObject,
  key: string,
  rules: readonly Rule[],
  problems: string[],
): ReadonlyMap<string, string> => {
  const part = own(metadata, key)
  if (isObject(part)) return readTexts(part, rules, problems)
  problems.push(`metadata.${key}: an object is expected`)
  return new Map()
}

/**
 * Returns the subject of a model, of options or of a request: `metadata.resource` and `metadata.release`. The resource
 * must have a plural or a kind, and the release a name; the namespace defaults to `default`. Failure: ModelRefused.
 */
export const readSubject = (model: FreeObject): Either<Failure<'ModelRefused'>, EditorSubject> => {
  const metadata = own(model, 'metadata')
  if (!isObject(metadata))
    return left(
      ModelRefused('The body is not valid: metadata: an object is expected.', {
        errors: ['metadata: an object is expected'],
      }),
    )
  const problems: string[] = []
  const resource = readPart(metadata, 'resource', resourceRules, problems)
  const release = readPart(metadata, 'release', releaseRules, problems)
  const text = (texts: ReadonlyMap<string, string>, key: string): string => texts.get(key) ?? ''
  if (problems.length === 0 && text(resource, 'name') === '' && text(resource, 'kind') === '')
    problems.push('metadata.resource: the name (plural) or the kind is needed')
  if (problems.length > 0)
    return left(ModelRefused(`The body is not valid: ${problems.join('; ')}.`, { errors: problems }))
  return right({
    resource: {
      group: coreless(text(resource, 'group')),
      version: text(resource, 'version'),
      name: text(resource, 'name'),
      kind: text(resource, 'kind'),
      scope: text(resource, 'scope'),
    },
    release: { name: text(release, 'name'), namespace: text(release, 'namespace') || 'default' },
  })
}

/** Clients write the core group as an empty string or as `core`. */
const coreless = (name: string): string => (name === 'core' ? '' : name)

/** Feature sets name their objects freely; the release's name is not part of the names. */
export const isFeatureSet = ({ group: of, name }: Pick<ResourceId, 'group' | 'name'>): boolean =>
  of === 'ui.k8s.appscode.com' && name === 'featuresets'
