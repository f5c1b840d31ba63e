import {
  accounts,
  clusterRoleBindings,
  clusterRoles,
  namespaces,
  secrets,
  serviceAccounts,
  type Account,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import { watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'

export const accountNamespace = 'open-cluster-management-cluster-auth'
const proxyRole = 'open-cluster-management:cluster-gateway:proxy'
const apiGroup = 'rbac.authorization.k8s.io'

/**
 * 'Controller (not us) then creates SA + token Secret in `open-cluster-management-cluster-auth`, ClusterRoleBinding
 * `<acc>.proxy`, ClusterRole/Binding `<acc>.impersonate`; status.phase InProgress/Current/Failed' (note §5,
 * sync-accounts).
 */
export const runAccountController = (fixture: HubFixture, serves: (account: Account) => boolean): void => {
  const { client, signal } = fixture
  const { add } = fixture.reconciler({
    name: 'account',
    reconcile: async (name) => {
      const account = await client.get(accounts, name)
      if (
        account === undefined ||
        account.metadata.deletionTimestamp !== undefined ||
        account.status?.phase === 'Current'
      )
        return
      await installRoles(client)
      await grantAccount(client, account)
      const type = (account.spec?.username ?? '').includes('system:serviceaccount:') ? 'ServiceAccount' : 'User'
      await client.patch(
        accounts,
        account,
        { status: { phase: 'Current', type, serviceAccountRef: { name } } },
        { subresource: 'status' },
      )
    },
  })
  watchObjects<Account>(client, accounts, {
    keeps: serves,
    onChange: ({ metadata }, isGone) => {
      if (!isGone) add(metadata.name)
    },
    signal,
  })
}

const installRoles = async (client: KubeClient): Promise<void> => {
  await client.createIfMissing(clusterRoles, {
    metadata: { name: proxyRole },
    rules: [
      {
        apiGroups: ['gateway.open-cluster-management.io'],
        resources: ['clustergateways/proxy'],
        verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
      },
    ],
  })
}

/**
 * 'Lets the account's ServiceAccount impersonate exactly the user in `spec.username`' (real controllers, 10); the
 * gateway is for the user with the name of the Account.
 */
const grantAccount = async (client: KubeClient, { metadata: { name, uid = '' }, spec }: Account): Promise<void> => {
  const ownerReferences = [{ apiVersion: accounts.apiVersion, kind: accounts.kind, name, uid }]
  await client.createIfMissing(namespaces, { metadata: { name: accountNamespace } })
  await client.createIfMissing(serviceAccounts, { metadata: { name, namespace: accountNamespace, ownerReferences } })
  await client.createIfMissing(secrets, {
    metadata: {
      name: `${name}-token`,
      namespace: accountNamespace,
      annotations: { 'kubernetes.io/service-account.name': name },
      ownerReferences,
    },
    type: 'kubernetes.io/service-account-token',
  })
  await client.createIfMissing(clusterRoleBindings, {
    metadata: { name: `${name}.proxy`, ownerReferences },
    roleRef: { apiGroup, kind: 'ClusterRole', name: proxyRole },
    subjects: [{ kind: 'User', apiGroup, name }],
  })
  const impersonate = { metadata: { name: `${name}.impersonate`, ownerReferences } }
  await client.createIfMissing(clusterRoles, {
    ...impersonate,
    rules: [
      { apiGroups: [''], resources: ['users'], resourceNames: [spec?.username ?? ''], verbs: ['impersonate'] },
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['userextras/ace.appscode.com/org-id'],
        verbs: ['impersonate'],
      },
    ],
  })
  await client.createIfMissing(clusterRoleBindings, {
    ...impersonate,
    roleRef: { apiGroup, kind: 'ClusterRole', name: impersonate.metadata.name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: accountNamespace }],
  })
}
