import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import { isObject } from '../../../core/kernel/json.ts'
import type { AppReleases, EditorCatalog } from '../../../core/packages/editors/ports.ts'
import { EditorMissing } from '../../../core/packages/editors/ports.ts'
import type { AppRelease, ResourceEditor, ResourceId } from '../../../core/packages/editors/types.ts'
import type { ChartRef } from '../../../core/packages/types.ts'

const Texts = (...names: readonly string[]) =>
  t.partial(Object.fromEntries(names.map((name) => [name, t.union([t.string, t.null])])))

const ChartRow = t.intersection([
  t.type({ name: t.string }),
  t.partial({
    version: t.union([t.string, t.null]),
    sourceRef: t.intersection([t.type({ name: t.string }), Texts('apiGroup', 'kind', 'namespace')]),
  }),
])
const ResourceRow = t.intersection([t.type({ version: t.string, name: t.string }), Texts('group', 'kind', 'scope')])
const UiRow = t.partial({
  options: t.union([ChartRow, t.null]),
  editor: t.union([ChartRow, t.null]),
  instanceLabelPaths: t.union([t.array(t.string), t.null]),
})
const ResourceEditorRow = t.type({
  spec: t.intersection([t.type({ resource: ResourceRow }), t.partial({ ui: t.union([UiRow, t.null]) })]),
})

const toChartRef = (row: t.TypeOf<typeof ChartRow> | null | undefined): ChartRef | undefined =>
  row === null || row === undefined
    ? undefined
    : {
        name: row.name,
        version: row.version ?? '',
        source: {
          apiGroup: row.sourceRef?.['apiGroup'] ?? '',
          kind: row.sourceRef?.['kind'] ?? '',
          namespace: row.sourceRef?.['namespace'] ?? '',
          name: row.sourceRef?.name ?? '',
        },
      }

const toResource = (row: t.TypeOf<typeof ResourceRow>): ResourceId => ({
  group: row['group'] ?? '',
  version: row.version,
  name: row.name,
  kind: row['kind'] ?? '',
  scope: row['scope'] ?? '',
})

/** Written as `.spec.selector.matchLabels`. */
const toPath = (text: string): readonly string[] => text.split('.').filter((key) => key !== '')

/**
 * Parses a ResourceEditor object of the cluster. Returns undefined if it has another shape. Defaults of chart sources
 * are not filled in.
 */
const readResourceEditor = (json: unknown): ResourceEditor | undefined => {
  const decoded = ResourceEditorRow.decode(json)
  if (isLeft(decoded)) return undefined
  const { resource, ui } = decoded.right.spec
  return {
    resource: toResource(resource),
    options: toChartRef(ui?.options),
    editor: toChartRef(ui?.editor),
    instanceLabelPaths: (ui?.instanceLabelPaths ?? []).map(toPath).filter((path) => path.length > 0),
    origin: 'cluster',
  }
}

const collection = '/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors'
const maxBytes = 1024 * 1024

/** `core-v1-configmaps`, `apps-v1-deployments`. @internal */
export const editorName = ({ group, version, name }: Pick<ResourceId, 'group' | 'version' | 'name'>): string =>
  `${group === '' ? 'core' : group}-${version}-${name}`

/** Fills the fields that the cluster's editor leaves open from the built-in one. */
const completed = (own: ResourceEditor, builtIn: ResourceEditor | undefined): ResourceEditor =>
  builtIn === undefined
    ? own
    : {
        ...own,
        resource: builtIn.resource,
        options: own.options ?? builtIn.options,
        editor: own.editor ?? builtIn.editor,
        instanceLabelPaths: own.instanceLabelPaths.length > 0 ? own.instanceLabelPaths : builtIn.instanceLabelPaths,
      }

/** EditorCatalog over ResourceEditor objects of the cluster, with the built-in ones as fallback. */
export const makeClusterEditorCatalog = (builtIns: readonly ResourceEditor[]): EditorCatalog => {
  const byName = new Map(builtIns.map((editor) => [editorName(editor.resource), editor]))
  return {
    find: async (cluster, resource, signal) => {
      const name = editorName(resource)
      const builtIn = byName.get(name)
      const answer = await cluster.request(
        { method: 'GET', target: `${collection}/${encodeURIComponent(name)}`, limitBytes: maxBytes },
        signal,
      )
      if (isLeft(answer)) return answer
      const { status, json } = answer.right
      // A cluster without the group reports that only to callers who may read it, and 403 to all others.
      if (status === 404 || status === 403) {
        if (builtIn !== undefined) return right(builtIn)
        return left(
          EditorMissing(
            `There is no editor for ${name}: the cluster ${status === 403 ? 'shows you' : 'has'} no ` +
              'ResourceEditor of that name, and none is built in.',
          ),
        )
      }
      if (status !== 200)
        return left(ClusterUnreachable(`The cluster answered ${status} when asked for the ResourceEditor ${name}.`))
      const own = readResourceEditor(json)
      return own === undefined
        ? left(EditorMissing(`The ResourceEditor ${name} of the cluster is not of its shape.`))
        : right(completed(own, builtIn))
    },
  }
}

const maxReleaseBytes = 2 * 1024 * 1024
/** The number of kinds of one installation. Each kind is listed. */
const maxComponents = 200

const Component = t.intersection([t.type({ version: t.string, kind: t.string }), t.partial({ group: t.string })])
const Requirement = t.intersection([
  t.type({ key: t.string, operator: t.string }),
  t.partial({ values: t.array(t.string) }),
])
const Selector = t.partial({ matchLabels: t.record(t.string, t.string), matchExpressions: t.array(Requirement) })
const AppReleaseRow = t.type({
  spec: t.intersection([
    t.type({ release: t.partial({ form: t.unknown }) }),
    t.partial({
      components: t.array(Component),
      selector: Selector,
      resourceKeys: t.array(t.string),
      formKeys: t.array(t.string),
    }),
  ]),
})

const operators: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
}

/** Returns undefined for an unknown operator. */
const requirementText = ({ key, operator, values }: t.TypeOf<typeof Requirement>): string | undefined =>
  Object.hasOwn(operators, operator) ? operators[operator]?.(key, (values ?? []).join(',')) : undefined

const readAppRelease = (json: unknown, releaseName: string): AppRelease | undefined => {
  const decoded = AppReleaseRow.decode(json)
  if (isLeft(decoded)) return undefined
  const { components, selector, resourceKeys, formKeys, release } = decoded.right.spec
  const expressions = (selector?.matchExpressions ?? []).map(requirementText)
  if (expressions.includes(undefined) || (components ?? []).length > maxComponents) return undefined
  // The release's own label always applies: a wider selector would match objects of others.
  const labels = { ...selector?.matchLabels, 'app.kubernetes.io/instance': releaseName }
  return {
    components: (components ?? []).map(({ group, version, kind }) => ({ group: group ?? '', version, kind })),
    selector: [...Object.entries(labels).map(([key, value]) => `${key}=${value}`), ...expressions].join(','),
    resourceKeys: new Set(resourceKeys),
    formKeys: new Set(formKeys),
    form: isObject(release.form) ? release.form : undefined,
  }
}

/** AppReleases over the objects of that kind in the cluster. */
export const clusterAppReleases: AppReleases = {
  find: async (cluster, { namespace, name }, signal) => {
    const target = `/apis/drivers.x-helm.dev/v1alpha1/namespaces/${encodeURIComponent(namespace)}/appreleases/${encodeURIComponent(name)}`
    const answer = await cluster.request({ method: 'GET', target, limitBytes: maxReleaseBytes }, signal)
    if (isLeft(answer)) return answer
    const { status, json } = answer.right
    if (status === 404 || status === 403) return right(undefined)
    return status === 200
      ? right(readAppRelease(json, name))
      : left(ClusterUnreachable(`The cluster answered ${status} when asked for the AppRelease ${name}.`))
  },
}
