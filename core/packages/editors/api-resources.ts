import { isLeft, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import { getOrMake } from '../../kernel/cache.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject, own, ownObject, ownText } from '../../kernel/json.ts'
import { apiRootOf, groupVersionOf } from '../../formats/kubernetes/objects.ts'
import type { ResourceId } from './types.ts'

/** One resource as the cluster's API lists it. */
export interface ApiResource {
  readonly plural: string
  readonly kind: string
  readonly isNamespaced: boolean
}

/** The resources that the cluster's API serves. Each list is requested once. */
export interface ApiResources {
  /** Undefined if the cluster does not serve the kind. */
  ofKind(apiVersion: string, kind: string): Outcome<MemberFailure, ApiResource | undefined>
  /** Fills in version, plural, kind and scope as far as the cluster knows them; given fields are kept. */
  complete(resource: ResourceId): Outcome<MemberFailure, ResourceId>
}

type Lists = (apiVersion: string) => Outcome<MemberFailure, readonly ApiResource[]>

const safeApiVersion = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\/)?v[0-9][a-z0-9]*$/
const safePlural = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const maxBytes = 4 * 1024 * 1024

const itemsOf = (json: unknown, key: string): readonly FreeObject[] => {
  const items = isObject(json as Json) ? own(json as FreeObject, key) : undefined
  return Array.isArray(items) ? (items as readonly Json[]).filter(isObject) : []
}

const toResource = (item: FreeObject): ApiResource => ({
  plural: ownText(item, 'name'),
  kind: ownText(item, 'kind'),
  isNamespaced: own(item, 'namespaced') === true,
})

/** Returns the versions of a group, the preferred one first; empty if the cluster does not serve the group. */
const versionsOf = async (
  cluster: MemberCluster,
  group: string,
  signal: AbortSignal,
): Outcome<MemberFailure, readonly string[]> => {
  if (group === '') return right(['v1'])
  const answer = await cluster.request({ method: 'GET', target: `/apis/${group}` }, signal)
  if (isLeft(answer)) return answer
  if (answer.right.status !== 200) return right([])
  const preferred = isObject(answer.right.json as Json)
    ? ownText(ownObject(answer.right.json as FreeObject, 'preferredVersion'), 'version')
    : ''
  return right(
    [...new Set([preferred, ...itemsOf(answer.right.json, 'versions').map((item) => ownText(item, 'version'))])].filter(
      (version) => version !== '',
    ),
  )
}

const makeLists = (cluster: MemberCluster, signal: AbortSignal): Lists => {
  const asked = new Map<string, ReturnType<Lists>>()
  const ask: Lists = async (apiVersion) => {
    if (!safeApiVersion.test(apiVersion)) return right([])
    const answer = await cluster.request({ method: 'GET', target: apiRootOf(apiVersion), limitBytes: maxBytes }, signal)
    if (isLeft(answer)) return answer
    return right(
      answer.right.status === 200
        ? itemsOf(answer.right.json, 'resources')
            .map(toResource)
            .filter(({ plural }) => safePlural.test(plural))
        : [],
    )
  }
  return (apiVersion) => getOrMake(asked, apiVersion, () => ask(apiVersion))
}

/** Returns an ApiResources that queries the cluster as the caller, for the duration of one unit of work. */
export const makeApiResources = (cluster: MemberCluster, signal: AbortSignal): ApiResources => {
  const lists = makeLists(cluster, signal)
  return {
    ofKind: async (apiVersion, kind) =>
      pipe(
        await lists(apiVersion),
        map((list) => list.find((resource) => resource.kind === kind)),
      ),
    complete: async (resource) => {
      const { group, name, kind } = resource
      const versions = resource.version === '' ? await versionsOf(cluster, group, signal) : right([resource.version])
      if (isLeft(versions)) return versions
      for (const version of versions.right) {
        const list = await lists(apiVersionOf({ group, version }))
        if (isLeft(list)) return list
        const found = list.right.find((each) => (name === '' ? each.kind === kind : each.plural === name))
        if (found !== undefined)
          return right({
            group,
            version,
            name: found.plural,
            kind: found.kind,
            scope: found.isNamespaced ? 'Namespaced' : 'Cluster',
          })
      }
      return right(resource)
    },
  }
}

const safeName = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,252}$/
const safeNamespace = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Returns the path of one object, or of the collection if no name is given; undefined for names that no object can
 * have.
 */
export const objectPath = (
  apiVersion: string,
  resource: ApiResource,
  namespace: string,
  name?: string,
): string | undefined => {
  if (
    !safeApiVersion.test(apiVersion) ||
    !safeNamespace.test(namespace) ||
    (name !== undefined && !safeName.test(name))
  )
    return undefined
  const inNamespace = resource.isNamespaced ? `/namespaces/${namespace}` : ''
  return `${apiRootOf(apiVersion)}${inNamespace}/${resource.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

/** `apps/v1` or `v1`. */
export const apiVersionOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === '' ? version : `${group}/${version}`

/** Cluster-scoped kinds of Kubernetes itself, as `group/Kind`. */
const clusterKinds: ReadonlySet<string> = new Set([
  '/Namespace',
  '/Node',
  '/PersistentVolume',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
  'certificates.k8s.io/CertificateSigningRequest',
  'flowcontrol.apiserver.k8s.io/FlowSchema',
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration',
  'networking.k8s.io/IngressClass',
  'node.k8s.io/RuntimeClass',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/VolumeAttachment',
])

/** Reports whether a kind is cluster-scoped: by the built-in list, or by `metadata.resource` of its editor. */
export const isClusterScoped = (
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  ofEditor: FreeObject,
): boolean => {
  const { group } = groupVersionOf(apiVersion)
  const isEdited = ownText(ofEditor, 'kind') === kind && ownText(ofEditor, 'group') === group
  return clusterKinds.has(`${group}/${kind}`) || (isEdited && ownText(ofEditor, 'scope') === 'Cluster')
}
