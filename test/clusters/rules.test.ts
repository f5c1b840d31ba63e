import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { parse } from 'yaml'
import { shortAge } from '../../core/clusters/age.ts'
import { clientConfig, tokenPlaceholder } from '../../core/clusters/client-config.ts'
import { checkClusterName } from '../../core/clusters/imports.ts'
import { detectManagers, factsOf, detectLocation, detectProject, detectProvider } from '../../core/clusters/facts.ts'
import { judge } from '../../core/clusters/status.ts'
import { acceptedHeaders, clientHeaders, upgradeHeaders, upstreamHeaders } from '../../core/clusters/proxy/headers.ts'
import { fromManagerMask, managerBits, toManagerMask, type ClusterFacts, type ClusterManager } from '../../core/clusters/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'

test('a cluster name is a DNS label and no word of the interface', (t) => {
  for (const name of ['a', 'prod', 'prod-1', '1', 'a'.repeat(63), 'importer', 'check-1']) t.true(isRight(checkClusterName(name)), name)
  for (const name of ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a b', 'é', 'a'.repeat(64), 'a\n', 'hubs', 'import', 'check', 'validate', 'vcluster', 'all-clusters', 'hub-info', 'has-hub']) t.true(isLeft(checkClusterName(name)), JSON.stringify(name))
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
  t.deepEqual(detectManagers({ ...bare, servesManagedClusters: true, servesDeployments: false }), ['OCMHub', 'OCMMulticlusterControlplane'])
  t.deepEqual(detectManagers({ ...bare, servesDeployments: false }), [])
  t.deepEqual(detectManagers({ ...bare, hasKlusterlet: true, groups: ['config.openshift.io', 'management.cattle.io'] }), ['OCMSpoke', 'OpenShift', 'Rancher'])
})

const node = (providerId: string, ...labels: string[]) => ({ providerId, labels: Object.fromEntries(labels.map((label) => [label, 'x'])) })

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
      uid: 'u', kubernetesVersion: '', isReady: true, nodeCount, groups: [], servesManagedClusters: false, servesDeployments: true, hasKlusterlet: false,
      nodes: [{ providerId, labels: { 'topology.kubernetes.io/region': `${'x'.repeat(127)}😀${'x'.repeat(1000)}` } }],
    })
  t.is(said(3).nodeCount, 3)
  for (const count of [-1, 1e300, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) t.true(Number.isInteger(said(count).nodeCount) && said(count).nodeCount >= 0 && said(count).nodeCount <= 1_000_000)
  t.is(said(1).location.length, 128)
  t.true(said(1).location.isWellFormed())
  t.is(said(1, `gce://${'p'.repeat(1000)}/z/n`).project.length, 128)
})

const facts: ClusterFacts = { uid: 'u', provider: 'Generic', location: '', project: '', kubernetesVersion: '', nodeCount: 0, managers: [], isReady: true }

test('what one look gave decides the phase', (t) => {
  t.deepEqual(judge('u', { kind: 'answered', facts }), { phase: 'Active', reason: undefined, message: '' })
  t.like(judge('u', { kind: 'answered', facts: { ...facts, isReady: false } }), { phase: 'NotReady' })
  t.like(judge('other', { kind: 'answered', facts: { ...facts, isReady: false } }), { phase: 'Lost', reason: 'ClusterNotFound' })
  t.deepEqual(judge('u', { kind: 'refused-credential', message: 'm' }), { phase: 'NotConnected', reason: 'AuthIssue', message: 'm' })
  t.deepEqual(judge('u', { kind: 'unreachable', message: 'm' }), { phase: 'NotConnected', reason: 'Unknown', message: 'm' })
})

test('an age is shown in its largest whole unit', (t) => {
  const ago = (seconds: number): string => shortAge(new Date(0), new Date(seconds * 1000))
  t.deepEqual([0, 59, 60, 3599, 3600, 86_399, 86_400, 86_400 * 400].map(ago), ['0s', '59s', '1m', '59m', '1h', '23h', '1d', '400d'])
  t.is(shortAge(new Date(5000), new Date(0)), '0s')
})

test('a client config is YAML whatever the names are', (t) => {
  const config = parse(clientConfig({ url: 'https://m.example', caPem: undefined }, { ownerName: 'a"b: c', name: '#x' }))
  t.is(config.clusters[0].cluster.server, 'https://m.example/api/v1/clusters/a%22b%3A%20c/%23x/proxy')
  t.is(config['current-context'], '#x.a"b: c')
  t.is(config.users[0].user.token, tokenPlaceholder)
})

const as = { login: 'ada', userId: 5 as UserId, groups: ['moorage:authenticated', 'moorage:org:acme'] }

test('no set of client headers can carry an identity, or take ours away', (t) => {
  const names = ['authorization', 'cookie', 'impersonate-user', 'impersonate-group', 'impersonate-uid', 'impersonate-extra-x', 'x-remote-user', 'x-forwarded-for', 'proxy-authorization', 'te', 'upgrade', 'transfer-encoding', 'host', 'connection', 'accept', 'content-type', 'user-agent']
  const bag = fc.dictionary(fc.constantFrom(...names), fc.oneof(fc.constantFrom(...names, 'close', 'Impersonate-User, accept', 'a\r\nImpersonate-User: root'), fc.array(fc.string(), { maxLength: 3 })))
  fc.assert(
    fc.property(bag, (headers) => {
      const sent = upstreamHeaders(headers, as)
      const allowed = new Set(['accept', 'content-type', 'user-agent'])
      const ours = sent.filter(([name]) => !allowed.has(name))
      t.deepEqual(ours, [['impersonate-user', 'ada'], ['impersonate-group', 'moorage:authenticated'], ['impersonate-group', 'moorage:org:acme'], ['impersonate-extra-moorage-user-id', '5']])
      t.true(sent.every(([, value]) => !/[\r\n]/.test(value)))
    }),
  )
})

test('an upgrade is passed on for one known protocol, without our bearer subprotocol', (t) => {
  const base = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'k', 'sec-websocket-version': '13' }
  const sent = Object.fromEntries(upgradeHeaders({ ...base, 'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io.dG9r, v5.channel.k8s.io,BASE64URL.bearer.authorization.k8s.io.x' }, undefined) ?? [])
  t.deepEqual(sent, { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'k', 'sec-websocket-version': '13', 'sec-websocket-protocol': 'v5.channel.k8s.io' })
  t.deepEqual(upgradeHeaders({ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': ['v4.channel.k8s.io', 'v3.channel.k8s.io'] }, undefined), [
    ['connection', 'Upgrade'], ['upgrade', 'SPDY/3.1'], ['x-stream-protocol-version', 'v4.channel.k8s.io'], ['x-stream-protocol-version', 'v3.channel.k8s.io'],
  ])
  for (const upgrade of ['h2c', 'websocket, h2c', 'spdy/2', '']) t.is(upgradeHeaders({ ...base, upgrade }, undefined), undefined, upgrade)
})

test('answers carry what is listed and nothing else', (t) => {
  const answer = clientHeaders({ 'content-type': 'a', 'set-cookie': ['x'], etag: 'e', 'x-kubernetes-pf-flowschema-uid': 'u', connection: 'etag', server: 's', 'transfer-encoding': 'chunked', warning: ['1', '2'] })
  t.deepEqual(answer, [['content-type', 'a'], ['x-kubernetes-pf-flowschema-uid', 'u'], ['warning', '1'], ['warning', '2'], ['content-security-policy', 'sandbox']])
  for (const elsewhere of ['https://169.254.169.254/x', '//evil.example/x', '/\\evil.example', 'relative']) t.false(clientHeaders({ location: elsewhere }).some(([name]) => name === 'location'), elsewhere)
  t.deepEqual(clientHeaders({ location: '/api/v1/x/' })[0], ['location', '/api/v1/x/'])
  t.deepEqual(acceptedHeaders({ upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-accept': 'k', 'set-cookie': ['x'] }), [['connection', 'Upgrade'], ['upgrade', 'websocket'], ['sec-websocket-accept', 'k']])
})
