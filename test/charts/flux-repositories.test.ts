import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { ClusterRequest, MemberCluster } from '../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { minimalChart } from '../support/charts/archive.ts'
import { startRegistry } from '../support/charts/registry-server.ts'
import { startRepository } from '../support/charts/repository-server.ts'
import { outcomeOf, sourceFixture } from './source-fixture.ts'

type Answer = { readonly status: number; readonly json: unknown } | 'down'

/** A cluster that holds just these objects for the caller, by path. */
const clusterWith = (objects: Readonly<Record<string, Answer>>) => {
  const asked: string[] = []
  const cluster: MemberCluster = {
    id: 1 as ClusterId,
    ownerId: 1 as AccountId,
    ownerName: 'acme',
    name: 'pier',
    uid: 'uid',
    request: async ({ method, target }: ClusterRequest) => {
      asked.push(`${method} ${target}`)
      const answer = objects[target] ?? { status: 404, json: {} }
      return answer === 'down' ? left(ClusterUnreachable('down')) : right({ ...answer, text: '' })
    },
    relay: () => Promise.reject(new Error('not used')),
  }
  return { cluster, asked }
}

const ok = (json: unknown): Answer => ({ status: 200, json })
const object = (spec: object): Answer => ok({ spec })
const fluxRepositorySecret = (data: Readonly<Record<string, string>>): Answer =>
  ok({
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  })
const repositoryPath = '/apis/source.toolkit.fluxcd.io/v1/namespaces/flux/helmrepositories/charts'
const secretPath = '/api/v1/namespaces/flux/secrets/login'
const from = { kind: 'HelmRepository', apiGroup: 'source.toolkit.fluxcd.io', namespace: 'flux', name: 'charts' }
const chart = async () => ({ name: 'web', version: '1.0.0', bytes: await minimalChart() })
const authorization = `Basic ${Buffer.from('reader:hunter2').toString('base64')}`

test('a repository of the cluster is read as the caller, with its Secret', async (t) => {
  const server = await startRepository([await chart()], { authorization })
  const { cluster, asked } = clusterWith({
    [repositoryPath]: object({
      url: `${server.url}/stable/`,
      secretRef: { name: 'login' },
      certSecretRef: { name: 'ca' },
    }),
    [secretPath]: fluxRepositorySecret({ username: 'reader', password: 'hunter2' }),
    '/api/v1/namespaces/flux/secrets/ca': fluxRepositorySecret({ 'ca.crt': server.authorityPem }),
  })
  const fixture = sourceFixture({ cluster })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(from)), '1.0.0')
  t.deepEqual(asked, [`GET ${repositoryPath}`, `GET ${secretPath}`, 'GET /api/v1/namespaces/flux/secrets/ca'])
})

test('the older version of the object is read where the newer one is not served', async (t) => {
  const server = await startRepository([await chart()], { isPlain: true })
  const { cluster } = clusterWith({
    [repositoryPath.replace('/v1/', '/v1beta2/')]: object({ url: `${server.url}/stable` }),
  })
  const fixture = sourceFixture({ cluster })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(from)), '1.0.0')
})

test('a registry of the cluster, by a docker configuration', async (t) => {
  const server = await startRegistry([await chart()], { authorization, isPlain: true })
  const config = JSON.stringify({
    auths: {
      'other.example': { auth: 'eDp5' },
      [`localhost:${server.port}`]: { auth: Buffer.from('reader:hunter2').toString('base64') },
    },
  })
  const spec = { url: `oci://localhost:${server.port}/team`, type: 'oci', secretRef: { name: 'login' } }
  const objects = {
    [repositoryPath]: object({ ...spec, insecure: true }),
    [secretPath]: fluxRepositorySecret({ '.dockerconfigjson': config }),
  }
  const fixture = sourceFixture({ cluster: clusterWith(objects).cluster })
  const secure = sourceFixture({ cluster: clusterWith({ ...objects, [repositoryPath]: object(spec) }).cluster })
  t.teardown(async () => Promise.all([server.close(), fixture.close(), secure.close()]))
  t.is(outcomeOf(await fixture.fetch(from)), '1.0.0')
  t.is(outcomeOf(await secure.fetch(from)), 'ChartSourceRefused', 'without TLS only where the object says so')
})

const outcomes: Readonly<Record<string, readonly [Readonly<Record<string, Answer>>, string]>> = {
  'an object that is not there': [{}, 'ChartMissing'],
  'an object that the caller may not read': [{ [repositoryPath]: { status: 403, json: {} } }, 'ChartSourceRefused'],
  'a Secret that the caller may not read': [
    {
      [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: 'login' } }),
      [secretPath]: { status: 403, json: {} },
    },
    'ChartSourceRefused',
  ],
  'a Secret that is not there': [
    { [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: 'login' } }) },
    'ChartSourceRefused',
  ],
  'a Secret of a name that leads elsewhere': [
    { [repositoryPath]: object({ url: 'https://charts.example', secretRef: { name: '../../x' } }) },
    'ChartSourceRefused',
  ],
  'a cluster that does not answer': [{ [repositoryPath]: 'down' }, 'ClusterUnreachable'],
  'an address of this machine': [{ [repositoryPath]: object({ url: 'https://127.0.0.1/' }) }, 'ChartSourceRefused'],
  'an address of metadata': [
    { [repositoryPath]: object({ url: 'http://169.254.169.254/latest' }) },
    'ChartSourceRefused',
  ],
  'no address': [{ [repositoryPath]: object({}) }, 'ChartSourceRefused'],
  'a type that does not fit the address': [
    { [repositoryPath]: object({ url: 'https://charts.example', type: 'oci' }) },
    'ChartSourceRefused',
  ],
  'credentials of a cloud': [
    { [repositoryPath]: object({ url: 'oci://charts.example', type: 'oci', provider: 'aws' }) },
    'ChartSourceRefused',
  ],
  'an object that is text': [{ [repositoryPath]: ok('text') }, 'ChartSourceRefused'],
}
for (const [what, [objects, expected]] of Object.entries(outcomes)) {
  test(`${what}: ${expected}`, async (t) => {
    const fixture = sourceFixture({ cluster: clusterWith(objects).cluster, allow: [] })
    t.teardown(fixture.close)
    t.is(outcomeOf(await fixture.fetch(from)), expected)
  })
}

test('names that could leave the API path are not requested', async (t) => {
  const { cluster, asked } = clusterWith({})
  const fixture = sourceFixture({ cluster })
  t.teardown(fixture.close)
  for (const bad of [
    { name: '../secrets/x' },
    { namespace: 'a/b' },
    { name: 'a?x=1' },
    { name: '' },
    { namespace: '..' },
  ])
    t.is(outcomeOf(await fixture.fetch({ ...from, ...bad })), 'ChartSourceRefused')
  t.deepEqual(asked, [])
})
