import { Agent, request } from 'undici'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import {
  accounts,
  clusterRoleBindings,
  clusterRoles,
  managedClusters,
  managedClusterSetBindings,
  namespaces,
  secrets,
  serviceAccounts,
} from '../support/hub/api/kinds.ts'
import { KubeRefusal, makeKubeClient, type KubeClient } from '../support/hub/api/kube-client.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { accountNamespace } from '../support/hub/profiles/account-controller.ts'
import { startTestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'
import { gone, hub } from './test-hub.fixture.ts'
import { needing } from '../support/components/needing.ts'

/** What the API of the hub does beside agents and profiles. */
const test = needing('kubernetes', 'spoke-kubernetes')

export const declareHubApiCases = (): void => {
  test('an Account gets a service account with a token and its roles, which go with it', async (t) => {
    const name = hub.name('ace.user.7')
    await hub.client.create(accounts, { metadata: { name }, spec: { username: 'anna', uid: '7' } })
    await until('the account', async () =>
      (await hub.client.get(accounts, name))?.status?.phase === 'Current' ? true : undefined,
    )
    const secret = () => hub.client.get(secrets, `${name}-token`, accountNamespace)
    await until('the token', async () => ((await secret())?.data?.['token'] === undefined ? undefined : true))
    t.truthy(await hub.client.get(clusterRoleBindings, `${name}.proxy`))
    t.deepEqual((await hub.client.get(clusterRoles, `${name}.impersonate`))?.rules[0]?.resourceNames, ['anna'])
    await hub.client.remove(accounts, { metadata: { name } })
    await gone('the token', secret)
    await gone('the binding', () => hub.client.get(clusterRoleBindings, `${name}.impersonate`))
  })

  test('the webhooks check accept, join and bind, and apply the default set', async (t) => {
    const guarded = await startTestHub((await kubernetes())!, { webhooks: true, defaultClusterSet: true })
    t.teardown(() => guarded.stop())
    const [name, namespace] = [guarded.name(), guarded.name()]
    await guarded.agent(name)
    const cluster = await until('registration', () => guarded.client.get(managedClusters, name))
    t.is(cluster.metadata.labels?.[clusterSetLabel], 'default')
    const viewer = makeKubeClient(guarded.client.server, { token: (await kubernetes())!.tokenFor('viewer') })
    t.teardown(() => viewer.close())
    const apiGroup = 'rbac.authorization.k8s.io'
    const role = {
      metadata: { name: guarded.name() },
      rules: [
        {
          apiGroups: ['cluster.open-cluster-management.io'],
          resources: ['managedclusters', 'managedclustersetbindings'],
          verbs: ['create', 'patch', 'get'],
        },
      ],
    }
    await guarded.client.create(clusterRoles, role)
    await guarded.client.create(clusterRoleBindings, {
      metadata: role.metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: role.metadata.name },
      subjects: [{ kind: 'User', apiGroup, name: 'viewer' }],
    })
    await until('the role', () => viewer.get(managedClusters, name).catch(() => undefined))
    const refused = async (work: Promise<unknown>) =>
      ((cause: KubeRefusal | undefined) => [cause?.status, cause?.message.replace(/^.*denied the request: /, '')])(
        await t.throwsAsync(work, { instanceOf: KubeRefusal }),
      )
    t.deepEqual(
      await refused(viewer.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: true } })),
      [
        403,
        `managedclusters/accept.cluster.open-cluster-management.io "${name}" is forbidden: user "viewer" cannot update the HubAcceptsClient field`,
      ],
    )
    t.deepEqual(
      await refused(
        viewer.patch(managedClusters, { metadata: { name } }, { metadata: { labels: { [clusterSetLabel]: 'other' } } }),
      ),
      [
        403,
        'managedclustersets/join.cluster.open-cluster-management.io "default" is forbidden: user "viewer" cannot add/remove a ManagedCluster to/from ManagedClusterSet "default"',
      ],
    )
    await guarded.client.create(namespaces, { metadata: { name: namespace } })
    const set = guarded.name()
    t.deepEqual(
      (
        await refused(
          viewer.create(managedClusterSetBindings, { metadata: { name: set, namespace }, spec: { clusterSet: set } }),
        )
      )[0],
      403,
    )
    t.deepEqual(
      (
        await refused(
          guarded.client.create(managedClusterSetBindings, {
            metadata: { name: 'other', namespace },
            spec: { clusterSet: set },
          }),
        )
      )[0],
      400,
    )
    // Removing the label puts the cluster into the default set again.
    const changed = await guarded.client.patch(
      managedClusters,
      { metadata: { name } },
      { metadata: { labels: { [clusterSetLabel]: null } } },
    )
    t.is(changed?.metadata.labels?.[clusterSetLabel], 'default')
  })

  test('the gateway forwards requests of users who can reach the spoke', async (t) => {
    const guarded = await startTestHub((await kubernetes())!, { spokes: (await spokeKubernetes())!, gateway: true })
    t.teardown(() => guarded.stop())
    const [name, user, namespace] = [guarded.name(), guarded.name('ace.user.7'), guarded.name()]
    const agent = await guarded.agent(name)
    await until('registration', () => guarded.client.get(managedClusters, name))
    const apiGroup = 'rbac.authorization.k8s.io'
    const bind = async (client: KubeClient, role: string) =>
      client.create(clusterRoleBindings, {
        metadata: { name: guarded.name() },
        roleRef: { apiGroup, kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', apiGroup, name: user }],
      })
    await guarded.spoke.create(namespaces, { metadata: { name: namespace } })
    const base = `${guarded.entrance.url}/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways`
    const dispatcher = new Agent({ connect: { ca: guarded.entrance.caPem } })
    t.teardown(() => dispatcher.destroy())
    const token = (await kubernetes())!.tokenFor('admin')
    const ask = async (path: string, options: { token?: string; method?: 'GET' | 'DELETE'; user?: string } = {}) => {
      const headers = {
        authorization: `Bearer ${options.token ?? token}`,
        ...(options.user === undefined
          ? {}
          : { 'impersonate-user': options.user, 'impersonate-extra-ace.appscode.com%2Forg-id': '3' }),
      }
      const answer = await request(path.startsWith('/') ? `${guarded.entrance.url}${path}` : `${base}/${path}`, {
        method: options.method ?? 'GET',
        dispatcher,
        headers,
      })
      return {
        status: answer.statusCode,
        body: (await answer.body.json()) as {
          readonly metadata?: { readonly name?: string }
          readonly message?: string
          readonly status?: { readonly userInfo?: { readonly username: string; readonly extra?: object } }
        },
      }
    }
    const ours = `${name}/proxy/api/v1/namespaces/${namespace}`
    t.like(await ask(ours), { status: 200, body: { metadata: { name: namespace } } })
    t.like(await ask(ours, { user }), {
      status: 403,
      body: {
        message: `clustergateways.gateway.open-cluster-management.io "${name}" is forbidden: User "${user}" cannot use resource "clustergateways/proxy" in API group "gateway.open-cluster-management.io" at the cluster scope`,
      },
    })
    await guarded.client.create(clusterRoles, {
      metadata: { name: guarded.name('reach') },
      rules: [
        { apiGroups: ['gateway.open-cluster-management.io'], resources: ['clustergateways/proxy'], verbs: ['get'] },
      ],
    })
    await bind(guarded.client, guarded.name('reach'))
    const denied = await until('the right to reach it', async () =>
      ((answer) => (answer.body.message?.startsWith('clustergateways') === true ? undefined : answer))(
        await ask(ours, { user }),
      ),
    )
    t.like(denied, {
      status: 403,
      body: {
        message: `namespaces "${namespace}" is forbidden: User "${user}" cannot get resource "namespaces" in API group "" in the namespace "${namespace}"`,
      },
    })
    await bind(guarded.spoke, 'view')
    await until('the right on the spoke', async () => ((await ask(ours, { user })).status === 200 ? true : undefined))
    t.is((await ask(ours, { user, method: 'DELETE' })).status, 403)
    t.is((await ask(ours, { token: 'unknown' })).status, 401)
    t.is((await ask(ours, { token: (await kubernetes())!.tokenFor('viewer'), user })).status, 403)
    t.is((await ask(`${guarded.name()}/proxy/version`)).status, 404)
    t.is((await ask(`/api/v1/namespaces/${namespace}`)).status, 404, 'the hub itself is not the spoke')
    await agent.stop()
    t.is((await ask(ours)).status, 503)
  })

  test('a namespace is emptied and finished, and a token Secret is filled', async (t) => {
    const namespace = hub.name()
    await hub.client.create(namespaces, { metadata: { name: namespace } })
    await hub.client.create(serviceAccounts, { metadata: { name: 'mate', namespace } })
    await hub.client.create(secrets, {
      metadata: { name: 'mate', namespace, annotations: { 'kubernetes.io/service-account.name': 'mate' } },
      type: 'kubernetes.io/service-account-token',
    })
    const secret = await until('the token', async () =>
      ((found) => (found?.data?.['token'] === undefined ? undefined : found))(
        await hub.client.get(secrets, 'mate', namespace),
      ),
    )
    t.deepEqual(Object.keys(secret.data ?? {}).sort(), ['ca.crt', 'namespace', 'token'])
    await hub.client.remove(namespaces, { metadata: { name: namespace } })
    await gone('the namespace', () => hub.client.get(namespaces, namespace))
  })
}
