import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { expectStatus, importCluster } from '../clusters/cluster-world.ts'
import { needing } from '../support/components/needing.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { clusterApi, makeMembers, startSpokeWorld, statusOf, type SpokeWorld } from './spoke-world.ts'

/** The lists of a hub's clusters, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

let world: SpokeWorld
test.before(async () => {
  world = await startSpokeWorld()
})
test.after.always(() => world?.service.stop())

const setLabel = 'cluster.open-cluster-management.io/clusterset'
const rolesApi = '/apis/authorization.k8s.appscode.com/v1alpha1'
const routes = ['managed-clusters', 'not-accepted-clusters', 'accepted-clusters', 'available-clusters']
const named = ({ json }: ServiceAnswer, prefix: string): readonly { name: string }[] => (json as { name: string }[]).filter(({ name }) => name.startsWith(prefix))
const namesIn = async (route: string, prefix: string, person = world.owner): Promise<readonly string[]> =>
  named(await expectStatus(world.get(route, person), 200), prefix).map(({ name }) => name.slice(prefix.length))

test('a cluster is listed by what the hub has decided, with what it states of itself', async (t) => {
  const prefix = `${world.name()}-`
  await world.plantCluster(`${prefix}b`, { metadata: { labels: { [setLabel]: 'edge' } }, spec: { hubAcceptsClient: true, managedClusterClientConfigs: [{ url: 'https://10.0.0.1:6443' }, { url: 'https://other' }] } })
  await world.plantCluster(`${prefix}a`, { spec: { hubAcceptsClient: true } })
  await world.plantCluster(`${prefix}c`)
  await world.must('PATCH', `${clusterApi}/${prefix}b/status`, { status: { clusterClaims: [{ name: 'zone', value: 'x' }, { name: 'id.k8s.io', value: 'uid-b' }] } }, 'application/merge-patch+json')
  t.deepEqual(named(await world.get('accepted-clusters'), prefix), [
    { name: `${prefix}a`, clusterURL: '', clusterUID: '' },
    { name: `${prefix}b`, clusterURL: 'https://10.0.0.1:6443', clusterUID: 'uid-b', clusterSet: 'edge' },
  ])
  t.deepEqual(await namesIn('not-accepted-clusters', prefix), ['c'])
  t.deepEqual(await namesIn('available-clusters', prefix), ['a', 'b'])
})

test('a cluster that is being deleted asks for nothing any longer, but is a spoke until it is gone', async (t) => {
  const prefix = `${world.name()}-`
  const metadata = { finalizers: ['example.com/stay'] }
  await world.plantCluster(`${prefix}spoke`, { metadata, spec: { hubAcceptsClient: true } })
  await world.plantCluster(`${prefix}asks`, { metadata })
  for (const suffix of ['spoke', 'asks']) await world.must('DELETE', `${clusterApi}/${prefix}${suffix}`)
  t.deepEqual([await namesIn('accepted-clusters', prefix), await namesIn('not-accepted-clusters', prefix)], [['spoke'], []])
})

test('the raw list has the bytes of the hub', async (t) => {
  const name = world.name()
  await world.plantCluster(name, { metadata: { annotations: { 'example.com/odd': '"é\\u0041</\n\u2028', zz: '1', '7': 'seven' } } })
  const { text, json, headers } = await expectStatus(world.get('managed-clusters'), 200)
  t.regex(String(headers['content-type']), /^application\/json/)
  t.like(json, { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedClusterList' })
  const item = (json as { items: { metadata: { name: string; annotations: object } }[] }).items.find(({ metadata }) => metadata.name === name)
  t.deepEqual(item?.metadata.annotations, { 'example.com/odd': '"é\\u0041</\n\u2028', zz: '1', '7': 'seven' })
  // What a JavaScript object would have written first comes last, as the hub sorts keys.
  t.regex(text, /"annotations":\{"7":"seven","example\.com\/odd":"\\"é\\\\u0041\\u003c\/\\n\\u2028","zz":"1"\}/)
})

test('who may not connect to the hub may use the spokes on which the role bindings of the hub give a role', async (t) => {
  const prefix = `${world.name()}-`
  const member = await makeMembers(world, { viewer: ['view clusters', 'view hubs'], connector: ['view clusters', 'view hubs', 'connect to clusters'] })
  const viewerId = ((await expectStatus(world.service.send('GET', '/api/v1/user', { token: member('viewer').token }), 200)).json as { id: number }).id
  for (const suffix of ['by-name', 'by-set', 'other', 'wrong-kind']) await world.plantCluster(`${prefix}${suffix}`, { metadata: suffix === 'by-set' ? { labels: { [setLabel]: `${prefix}set` } } : {}, spec: { hubAcceptsClient: true } })
  const subjects = (kind: string) => [{ kind: 'User', name: 'ace.user.999999' }, { kind, name: `ace.user.${viewerId}` }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
  for (const [suffix, kind] of [['by-name', 'User'], ['wrong-kind', 'Group']] as const) {
    await world.must('POST', '/api/v1/namespaces', { metadata: { name: `${prefix}${suffix}` } })
    await world.must('POST', `${rolesApi}/namespaces/${prefix}${suffix}/managedclusterrolebindings`, { apiVersion: 'authorization.k8s.appscode.com/v1alpha1', kind: 'ManagedClusterRoleBinding', metadata: { name: 'view' }, subjects: subjects(kind), roleRef })
  }
  await world.must('POST', `${rolesApi}/managedclustersetrolebindings`, { apiVersion: 'authorization.k8s.appscode.com/v1alpha1', kind: 'ManagedClusterSetRoleBinding', metadata: { name: `${prefix}set` }, clusterSetRef: { name: `${prefix}set` }, subjects: subjects('User'), roleRef })
  // A record without a UID, as one that is not surveyed yet, is not that of every spoke that claims none.
  const store = world.service.running.container.resolve(ClusterStoreToken)
  const { token, login } = member('viewer')
  const { json } = await expectStatus(importCluster(world.service.send, token, login, 'mine', world.cluster.kubeconfig()), 200)
  unwrap(await store.change(json.id as ClusterId, 1, { uid: '' }))
  t.deepEqual(await namesIn('available-clusters', prefix, member('viewer')), ['by-name', 'by-set'])
  t.deepEqual(await namesIn('accepted-clusters', prefix, member('viewer')), ['by-name', 'by-set', 'other', 'wrong-kind'])
  t.deepEqual(await namesIn('available-clusters', prefix, member('connector')), ['by-name', 'by-set', 'other', 'wrong-kind'])
})

test('the lists need the right to view hubs; for another organization the hub does not exist', async (t) => {
  const member = await makeMembers(world, { connector: ['view clusters', 'connect to clusters'], viewer: ['view clusters', 'view hubs'] })
  for (const route of routes) {
    await statusOf(t, world.get(route, member('connector')), 403)
    await statusOf(t, world.get(route, member('viewer')), 200)
    await statusOf(t, world.get(route, member('stranger')), 404)
    await statusOf(t, world.get(route, world.owner, `${world.org}/no-such-hub`), 404)
  }
})
