import * as t from 'io-ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import { isObject } from '../../core/kernel/json.ts'
import type { AppReleases } from '../../core/packages/editors/ports.ts'
import type { AppRelease } from '../../core/packages/editors/types.ts'

const maxBytes = 2 * 1024 * 1024
/** The number of kinds of one installation. Each kind is listed. */
const maxComponents = 200

const Component = t.intersection([t.type({ version: t.string, kind: t.string }), t.partial({ group: t.string })])
const Requirement = t.intersection([t.type({ key: t.string, operator: t.string }), t.partial({ values: t.array(t.string) })])
const Selector = t.partial({ matchLabels: t.record(t.string, t.string), matchExpressions: t.array(Requirement) })
const AppReleaseRow = t.type({
  spec: t.intersection([
    t.type({ release: t.partial({ form: t.unknown }) }),
    t.partial({ components: t.array(Component), selector: Selector, resourceKeys: t.array(t.string), formKeys: t.array(t.string) }),
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
    const answer = await cluster.request({ method: 'GET', target, limitBytes: maxBytes }, signal)
    if (isLeft(answer)) return answer
    const { status, json } = answer.right
    if (status === 404 || status === 403) return right(undefined)
    return status === 200 ? right(readAppRelease(json, name)) : left(ClusterUnreachable(`The cluster answered ${status} when asked for the AppRelease ${name}.`))
  },
}
