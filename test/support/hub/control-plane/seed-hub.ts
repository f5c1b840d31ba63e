import { stringify } from 'yaml'
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  managedClusterSets,
  namespaces,
  serviceAccounts,
} from '../api/kinds.ts'
import type { KubeClient, ServerAddress } from '../api/kube-client.ts'
import { bootstrapAccount, hubNamespace } from '../api/ocm-names.ts'
import { installSharedRoles } from '../controllers/cluster-rbac.ts'

/** What is in a hub from the start. Several test hubs on one server find each other's. */
export const seedHub = async (client: KubeClient): Promise<void> => {
  await Promise.all([
    seedClusterInfo(client),
    seedBootstrapAccount(client),
    installSharedRoles(client),
    seedClusterSets(client),
  ])
}

/**
 * 'Root-CA / cluster-info: kube-public empty; seed cluster-info ConfigMap' (note §12), from which `spoke-command` takes
 * the hub's URL and CA (note §5).
 */
const seedClusterInfo = async (client: KubeClient): Promise<void> => {
  const { url, caPem } = client.server
  const kubeconfig = kubeconfigText(client.server)
  await client.createIfMissing(configMaps, {
    metadata: { name: 'cluster-info', namespace: 'kube-public' },
    data: { kubeconfig },
  })
  await client.createIfMissing(configMaps, {
    metadata: { name: 'kube-root-ca.crt', namespace: 'kube-public' },
    data: { 'ca.crt': caPem, server: url },
  })
}

/** A kubeconfig of a server, with a user if there is a token. */
export const kubeconfigText = ({ url, caPem }: ServerAddress, token?: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'hub', cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } },
    ],
    users: token === undefined ? [] : [{ name: 'user', user: { token } }],
    contexts: token === undefined ? [] : [{ name: 'hub', context: { cluster: 'hub', user: 'user' } }],
    'current-context': token === undefined ? '' : 'hub',
  })

/**
 * The service account `agent-registration-bootstrap`, which may create managed clusters and signing requests (note §5,
 * spoke-command).
 */
const seedBootstrapAccount = async (client: KubeClient): Promise<void> => {
  const roleName = 'open-cluster-management:bootstrap'
  const apiGroup = 'rbac.authorization.k8s.io'
  await client.createIfMissing(namespaces, { metadata: { name: hubNamespace } })
  await client.createIfMissing(serviceAccounts, { metadata: { name: bootstrapAccount, namespace: hubNamespace } })
  await client.createIfMissing(clusterRoles, {
    metadata: { name: roleName },
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests'],
        verbs: ['create', 'get', 'list', 'watch'],
      },
      {
        apiGroups: ['cluster.open-cluster-management.io'],
        resources: ['managedclusters'],
        verbs: ['get', 'create', 'list', 'watch'],
      },
      { apiGroups: ['cluster.open-cluster-management.io'], resources: ['managedclustersets/join'], verbs: ['create'] },
    ],
  })
  await client.createIfMissing(clusterRoleBindings, {
    metadata: { name: `${roleName}:agent-registration` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: roleName },
    subjects: [{ kind: 'ServiceAccount', name: bootstrapAccount, namespace: hubNamespace }],
  })
}

/**
 * 'Seed `default`/`global` sets' (note §12); 'the `global` set has a match-all LabelSelector and counts every cluster'
 * (note §0).
 */
const seedClusterSets = async (client: KubeClient): Promise<void> => {
  await client.createIfMissing(managedClusterSets, {
    metadata: { name: 'default' },
    spec: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } },
  })
  await client.createIfMissing(managedClusterSets, {
    metadata: { name: 'global' },
    spec: { clusterSelector: { selectorType: 'LabelSelector', labelSelector: {} } },
  })
}
