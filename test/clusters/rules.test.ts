import test from 'ava'
import fc from 'fast-check'
import { statedUrl } from '../../core/clusters/hub-types.ts'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { parse } from 'yaml'
import { shortAge } from '../../core/kernel/clock.ts'
import { clientConfig } from '../../core/clusters/client-config.ts'
import {
  detectLocation,
  detectManagers,
  detectProject,
  detectProvider,
  factsOf,
  steadyConnections,
} from '../../core/clusters/connections.ts'
import { checkClusterName } from '../../core/clusters/imports.ts'
import type { ClusterConnections } from '../../core/clusters/ports.ts'
import { ClusterMissing } from '../../core/clusters/ports.ts'
import { judge } from '../../core/clusters/status.ts'
import type { ClusterConnection, ClusterFacts, ClusterManager } from '../../core/clusters/types.ts'
import { fromManagerMask, managerBits, toManagerMask } from '../../core/clusters/types.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'

const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

test('a cluster name is a DNS label and no word of the interface', (t) => {
  for (const name of ['a', 'prod', 'prod-1', '1', 'a'.repeat(63), 'importer', 'check-1'])
    t.true(isRight(checkClusterName(name)), name)
  for (const name of [
    '',
    '-a',
    'a-',
    'A',
    'a.b',
    'a_b',
    'a b',
    'é',
    'a'.repeat(64),
    'a\n',
    'hubs',
    'import',
    'check',
    'validate',
    'vcluster',
    'all-clusters',
    'hub-info',
    'has-hub',
  ])
    t.true(isLeft(checkClusterName(name)), JSON.stringify(name))
})

test('managers and their mask are inverse, and unknown bits are left out', (t) => {
  const names = Object.keys(managerBits) as ClusterManager[]
  fc.assert(
    fc.property(fc.subarray(names), fc.integer({ min: 0, max: 3 }), (managers, unknown) => {
      t.deepEqual(fromManagerMask(toManagerMask(managers) + unknown * 1024), managers)
    }),
  )
})

test('managers are recognized by the APIs that a cluster serves', (t) => {
  const bare = { groups: [], servesManagedClusters: false, servesDeployments: true, hasKlusterlet: false }
  t.deepEqual(detectManagers(bare), [])
  t.deepEqual(detectManagers({ ...bare, servesManagedClusters: true }), ['OCMHub'])
  t.deepEqual(detectManagers({ ...bare, servesManagedClusters: true, servesDeployments: false }), [
    'OCMHub',
    'OCMMulticlusterControlplane',
  ])
  t.deepEqual(detectManagers({ ...bare, servesDeployments: false }), [])
  t.deepEqual(
    detectManagers({ ...bare, hasKlusterlet: true, groups: ['config.openshift.io', 'management.cattle.io'] }),
    ['OCMSpoke', 'OpenShift', 'Rancher'],
  )
})

const node = (providerId: string, ...labels: string[]) => ({
  providerId,
  labels: Object.fromEntries(labels.map((label) => [label, 'x'])),
})

test('the provider is recognized by provider ids and the labels of managed services', (t) => {
  t.is(detectProvider([]), 'Generic')
  t.is(detectProvider([node('')]), 'Generic')
  t.is(detectProvider([node('aws:///eu-west-1a/i-1', 'eks.amazonaws.com/nodegroup')]), 'EKS')
  t.is(detectProvider([node('aws:///eu-west-1a/i-1')]), 'Generic')
  t.is(detectProvider([node('gce://proj/zone/n', 'cloud.google.com/gke-nodepool')]), 'GKE')
  t.is(detectProvider([node('azure:///x', 'kubernetes.azure.com/cluster')]), 'AKS')
  t.is(detectProvider([node('kind://x'), node('digitalocean://1')]), 'DigitalOcean')
  t.is(detectProvider([node('linode://1')]), 'Linode')
  t.is(detectProvider([node('k3s://n', 'rke.cattle.io/machine')]), 'Rancher')
  t.is(detectProject([node('gce://proj/zone/n')]), 'proj')
  t.is(detectLocation([node(''), node('', 'topology.kubernetes.io/region')]), 'x')
  t.is(detectLocation([]), '')
})

test('any description of a cluster by itself fits the record', (t) => {
  const said = (nodeCount: number, providerId = '') =>
    factsOf({
      uid: 'u',
      kubernetesVersion: '',
      isReady: true,
      nodeCount,
      groups: [],
      servesManagedClusters: false,
      servesDeployments: true,
      hasKlusterlet: false,
      nodes: [{ providerId, labels: { 'topology.kubernetes.io/region': `${'x'.repeat(127)}😀${'x'.repeat(1000)}` } }],
    })
  t.is(said(3).nodeCount, 3)
  for (const count of [-1, 1e300, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    t.true(Number.isInteger(said(count).nodeCount) && said(count).nodeCount >= 0 && said(count).nodeCount <= 1_000_000)
  t.is(said(1).location.length, 128)
  t.true(said(1).location.isWellFormed())
  t.is(said(1, `gce://${'p'.repeat(1000)}/z/n`).project.length, 128)
})

const facts: ClusterFacts = {
  uid: 'u',
  provider: 'Generic',
  location: '',
  project: '',
  kubernetesVersion: '',
  nodeCount: 0,
  managers: [],
  isReady: true,
}

test('one inspection determines the phase', (t) => {
  t.deepEqual(judge('u', { kind: 'answered', facts }), { phase: 'Active', reason: undefined, message: '' })
  t.like(judge('u', { kind: 'answered', facts: { ...facts, isReady: false } }), { phase: 'NotReady' })
  t.like(judge('other', { kind: 'answered', facts: { ...facts, isReady: false } }), {
    phase: 'Lost',
    reason: 'ClusterNotFound',
  })
  t.deepEqual(judge('u', { kind: 'refused-credential', message: 'm' }), {
    phase: 'NotConnected',
    reason: 'AuthIssue',
    message: 'm',
  })
  t.deepEqual(judge('u', { kind: 'unreachable', message: 'm' }), {
    phase: 'NotConnected',
    reason: 'Unknown',
    message: 'm',
  })
})

test('an age is shown in its largest whole unit', (t) => {
  const ago = (seconds: number): string => shortAge(new Date(0), new Date(seconds * 1000))
  t.deepEqual([0, 59, 60, 3599, 3600, 86_399, 86_400, 86_400 * 400].map(ago), [
    '0s',
    '59s',
    '1m',
    '59m',
    '1h',
    '23h',
    '1d',
    '400d',
  ])
  t.is(shortAge(new Date(5000), new Date(0)), '0s')
})

test('a client config is YAML whatever the names are', (t) => {
  const config = parse(
    clientConfig({ url: 'https://m.example', caPem: undefined }, { ownerName: 'a"b: c', name: '#x' }),
  )
  t.is(config.clusters[0].cluster.server, 'https://m.example/api/v1/clusters/a%22b%3A%20c/%23x/proxy')
  t.is(config['current-context'], '#x.a"b: c')
  t.is(config.users[0].user.token, tokenPlaceholder)
})

const id = 4 as ClusterId
const away = new Error('the database is away')

const start = () => {
  const state: { now: number; answer: 'missing' | 'away' | number } = { now: 0, answer: 1 }
  const connections: ClusterConnections = {
    async open() {
      if (state.answer === 'away') throw away
      return state.answer === 'missing'
        ? left(ClusterMissing('gone'))
        : right({ link: { version: state.answer } } as ClusterConnection)
    },
  }
  const steady = steadyConnections(connections, () => state.now)
  const versionNow = async (): Promise<number> => {
    const opened = await steady.open(id)
    return isRight(opened) ? opened.right.link.version : Number.NaN
  }
  return { state, versionNow }
}

test('a changed credential applies at once while the database answers', async (t) => {
  const { state, versionNow } = start()
  t.is(await versionNow(), 1)
  state.answer = 2
  t.is(await versionNow(), 2)
  state.answer = 'away'
  state.now = 25_000
  t.is(await versionNow(), 2)
  state.now = 25_001
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 3
  t.is(await versionNow(), 3)
})

test('unopened and removed clusters are not cached', async (t) => {
  const { state, versionNow } = start()
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 1
  t.is(await versionNow(), 1)
  state.answer = 'missing'
  t.is(await versionNow(), Number.NaN)
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
})

test('of the address that a spoke states only one of HTTP is shown', (t) => {
  const stated = (url: unknown) => statedUrl({ body: { spec: { managedClusterClientConfigs: [{ url }] } } } as never)
  for (const url of ['https://10.0.0.1:6443', 'http://api.example.com', 'HTTPS://[::1]:6443/prefix'])
    t.is(stated(url), url)
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://x',
    '//x',
    'https://',
    'https://a b',
    'https://x\n',
    'https://x/"onclick=',
    ' https://x',
    5,
    null,
    undefined,
  ])
    t.is(stated(url), '', String(url))
})
