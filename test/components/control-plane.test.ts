import { KubeConfig, CoreV1Api } from '@kubernetes/client-node'
import { kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'

const test = needing('kubernetes')

test('it tells its version and keeps a ConfigMap', async (t) => {
  const server = (await kubernetes())!
  const version = await server.request('GET', '/version')
  t.is(version.status, 200)
  t.is((version.body as { major: string }).major, '1')
  const namespace = await server.createNamespace()
  const config = new KubeConfig()
  config.loadFromFile(server.adminKubeconfigPath)
  const core = config.makeApiClient(CoreV1Api)
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'berth' }, data: { depth: '12' } } })
  const read = await core.readNamespacedConfigMap({ namespace, name: 'berth' })
  t.deepEqual(read.data, { depth: '12' })
})

test('the viewer has no rights until a role is bound to it', async (t) => {
  const server = (await kubernetes())!
  const namespace = await server.createNamespace()
  const token = server.tokenFor('viewer')
  const read = () => server.request('GET', `/api/v1/namespaces/${namespace}/configmaps`, undefined, { token })
  t.is((await read()).status, 403)
  const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const binding = {
    metadata: { name: 'viewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
  }
  t.is((await server.request('POST', `${roles}/rolebindings`, binding)).status, 201)
  t.is((await untilNot(403, read)).status, 200)
})

test('a client certificate carries its user and groups', async (t) => {
  const server = (await kubernetes())!
  const config = new KubeConfig()
  config.loadFromString(await server.createUserKubeconfig('zoe', ['crew', 'system:masters']))
  const core = config.makeApiClient(CoreV1Api)
  const namespaces = await core.listNamespace()
  t.true(namespaces.items.some((item) => item.metadata?.name === 'default'))
})

test('an unknown token is refused', async (t) => {
  const server = (await kubernetes())!
  t.is((await server.request('GET', '/api', undefined, { token: 'nobody' })).status, 401)
})

/** The server learns of a new role binding by a watch, a moment later. */
async function untilNot<A extends { readonly status: number }>(status: number, ask: () => Promise<A>): Promise<A> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await ask()
    if (answer.status !== status) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return ask()
}
