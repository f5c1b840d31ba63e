import { isTree, type KubeObject } from './kube-object.ts'

/** A kind of object that the API serves. */
export interface ResourceKind {
  readonly group: string
  readonly version: string
  /** Plural, as in paths. */
  readonly resource: string
  readonly kind: string
  readonly isNamespaced: boolean
}

const builtIn = `
v1 Namespace namespaces cluster
v1 Node nodes cluster
v1 PersistentVolume persistentvolumes cluster
v1 ConfigMap configmaps
v1 Endpoints endpoints
v1 Event events
v1 LimitRange limitranges
v1 PersistentVolumeClaim persistentvolumeclaims
v1 Pod pods
v1 ReplicationController replicationcontrollers
v1 ResourceQuota resourcequotas
v1 Secret secrets
v1 Service services
v1 ServiceAccount serviceaccounts
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster
apiregistration.k8s.io/v1 APIService apiservices cluster
apps/v1 DaemonSet daemonsets
apps/v1 Deployment deployments
apps/v1 ReplicaSet replicasets
apps/v1 StatefulSet statefulsets
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers
batch/v1 CronJob cronjobs
batch/v1 Job jobs
coordination.k8s.io/v1 Lease leases
networking.k8s.io/v1 Ingress ingresses
networking.k8s.io/v1 IngressClass ingressclasses cluster
networking.k8s.io/v1 NetworkPolicy networkpolicies
policy/v1 PodDisruptionBudget poddisruptionbudgets
rbac.authorization.k8s.io/v1 ClusterRole clusterroles cluster
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings cluster
rbac.authorization.k8s.io/v1 Role roles
rbac.authorization.k8s.io/v1 RoleBinding rolebindings
scheduling.k8s.io/v1 PriorityClass priorityclasses cluster
storage.k8s.io/v1 StorageClass storageclasses cluster
`

const parsed: readonly ResourceKind[] = builtIn
  .trim()
  .split('\n')
  .map((line) => {
    const [apiVersion = '', kind = '', resource = '', scope] = line.split(' ')
    return { ...groupOf(apiVersion), kind, resource, isNamespaced: scope === undefined }
  })

/** The two halves of an `apiVersion`. */
export function groupOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const [first = '', second] = apiVersion.split('/')
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

export const apiVersionOf = ({ group, version }: ResourceKind): string =>
  group === '' ? version : `${group}/${version}`

/** Not by a definition. */
export const isBuiltIn = (kind: ResourceKind): boolean => parsed.includes(kind)

/** What is served: the built-in kinds and those of the definitions that are there now. */
export const kindsWith = (definitions: readonly KubeObject[]): readonly ResourceKind[] => [
  ...parsed,
  ...definitions.flatMap(kindsOfDefinition),
]

function kindsOfDefinition({ spec = {} }: KubeObject): readonly ResourceKind[] {
  const names = isTree(spec['names']) ? spec['names'] : {}
  const versions = Array.isArray(spec['versions']) ? spec['versions'].filter(isTree) : []
  return versions
    .filter((version) => version['served'] !== false)
    .map((version) => ({
      group: String(spec['group']),
      version: String(version['name']),
      resource: String(names['plural']),
      kind: String(names['kind']),
      isNamespaced: spec['scope'] !== 'Cluster',
    }))
}
