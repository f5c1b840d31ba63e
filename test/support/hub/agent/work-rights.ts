import { clusterRoles, type Kind, type KubeObject, type Manifest, type Rule } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'

/** The service account of the work agent, as the operator of the agents makes it. */
const workUser = 'system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa'
const aggregateLabel = 'open-cluster-management.io/aggregate-to-work'
const verbs = ['get', 'create', 'update', 'patch', 'delete']

/** What the operator adds to the role `admin` by itself, as far as works of tests need it. */
const execution: readonly Rule[] = [
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs },
  { apiGroups: [''], resources: ['namespaces'], verbs },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'],
    verbs,
  },
]

const has = (values: readonly string[] | undefined, wanted: string): boolean =>
  values?.some((value) => value === '*' || value === wanted) === true

/**
 * Returns the message with which a cluster refuses an object of a work; undefined if the work agent may apply it. 'The
 * work agent's account is bound to `admin` only, ... a ClusterRole with the label aggregate-to-work adds' rights (real
 * controllers, 2). The stand-in acts as the admin of the spoke, so it looks itself.
 */
export const whyForbidden = async (
  spoke: KubeClient,
  { kind: { apiVersion, plural } }: { readonly kind: Kind<KubeObject> },
  { metadata: { name } }: Manifest,
): Promise<string | undefined> => {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const [admin, { items }] = await Promise.all([
    spoke.get(clusterRoles, 'admin'),
    spoke.list(clusterRoles, { labelSelector: `${aggregateLabel}=true` }),
  ])
  const rules = [...execution, ...(admin?.rules ?? []), ...items.flatMap((role) => role.rules ?? [])]
  const isAllowed = (verb: string): boolean =>
    rules.some((rule) => has(rule.apiGroups, group) && has(rule.resources, plural) && has(rule.verbs, verb))
  const denied = ['get', 'create', 'patch'].find((verb) => !isAllowed(verb))
  if (denied === undefined) return undefined
  const resource = group === '' ? plural : `${plural}.${group}`
  return `${resource} "${name}" is forbidden: User "${workUser}" cannot ${denied} resource "${plural}" in API group "${group}"`
}
