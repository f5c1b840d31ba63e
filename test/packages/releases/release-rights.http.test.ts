import test from 'ava'
import type { Person } from '../../clusters/cluster-fixture.ts'
import { expectStatus, importCluster } from '../../clusters/cluster-fixture.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import type { ReadsFixture } from './reads-fixture.ts'
import { openReadsFixture } from './reads-fixture.ts'
import { recordObject } from '../../helm/records/records.ts'

/** Whose rights count: those in the organization, those of the token, and those that the cluster gives the person. */
let fixture: ReadsFixture
test.before(async () => {
  fixture = await openReadsFixture()
  fixture.fake.put(await recordObject('Secret', { name: 'web', namespace: 'shop', version: 1 }))
})
test.after.always(() => fixture.stop())

/** What the cluster is told that a person is. */
const userOf = ({ login }: Person): string => `moorage:${login}`
const reads = ['/v3/releases', '/v3/releases/web', '/v3/releases/web/content', '/v3/releases/web/status']
const driverReads = ['/tiller-config', '/tiller-config/default']

test.serial('a caller with the right to connect reads releases under that identity', async (t) => {
  for (const person of [fixture.owner, fixture.member]) {
    const before = fixture.fake.calls.length
    for (const path of reads) await expectStatus(fixture.get(path, person), 200)
    const users = new Set(fixture.fake.calls.slice(before).map(({ user }) => user))
    t.deepEqual([...users], [userOf(person)])
  }
})

test.serial('a caller who can only see the cluster is refused before a request', async (t) => {
  const before = fixture.fake.calls.length
  for (const path of [...reads, ...driverReads]) {
    t.is((await fixture.get(path, fixture.viewer)).status, 403, path)
    t.is((await fixture.get(path, fixture.stranger)).status, 404, path)
    t.is((await fixture.service.send('GET', `${fixture.helm}${path}`)).status, 401, path)
    const narrow = await fixture.service.tokenFor(fixture.owner.login, ['read:user'])
    t.is((await fixture.get(path, { ...fixture.owner, token: narrow })).status, 403, path)
  }
  t.is(fixture.fake.calls.length, before)
})

test.serial('a caller whom the cluster refuses gets no cached row', async (t) => {
  const warm = await expectStatus(fixture.get('/v3/releases', fixture.owner), 200)
  t.is(warm.json.length, 1)
  const allow = fixture.fake.rules.forbid({ user: userOf(fixture.member), resource: 'secrets' })
  for (const path of reads) {
    const refused = await fixture.get(path, fixture.member)
    t.is(refused.status, 403, path)
    t.true(
      refused.json.message.includes(`User "${userOf(fixture.member)}" cannot list resource "secrets"`),
      refused.text,
    )
    t.false(refused.text.includes('Release of web'))
    await expectStatus(fixture.get(path, fixture.owner), 200)
  }
  allow()
  t.deepEqual((await expectStatus(fixture.get('/v3/releases', fixture.member), 200)).json, warm.json)
})

test.serial('a caller with rights in one namespace is refused elsewhere', async (t) => {
  fixture.fake.put(await recordObject('Secret', { name: 'web', namespace: 'vault', version: 1 }))
  await expectStatus(fixture.get('/v3/releases', fixture.owner), 200)
  const rules = [
    fixture.fake.rules.forbid({ user: userOf(fixture.member), namespace: '' }),
    fixture.fake.rules.forbid({ user: userOf(fixture.member), namespace: 'vault' }),
  ]
  t.is((await fixture.get('/v3/releases', fixture.member)).status, 403)
  t.is((await fixture.get('/v3/releases?namespace=vault', fixture.member)).status, 403)
  t.is((await fixture.get('/v3/releases/web/content?namespace=vault', fixture.member)).status, 403)
  t.deepEqual(
    (await expectStatus(fixture.get('/v3/releases?namespace=shop', fixture.member), 200)).json.map(
      ({ namespace }: { namespace: string }) => namespace,
    ),
    ['shop'],
  )
  await expectStatus(fixture.get('/v3/releases/web/content?namespace=shop', fixture.member), 200)
  for (const allow of rules) allow()
})

test.serial("another organization's cluster shows only its own releases", async (t) => {
  const twin = await startFakeApi({ progresses: false })
  t.teardown(() => twin.stop())
  twin.rules.answer({ path: '/api/v1/namespaces/kube-system', method: 'GET' }, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'kube-system', uid: fixture.fake.uid },
      }),
    )
  })
  await expectStatus(
    importCluster(fixture.service.send, fixture.stranger.token, fixture.otherOrg, 'prod', twin.kubeconfig()),
    200,
  )
  const theirs = (path: string) =>
    fixture.service.send('GET', `/api/v1/clusters/${fixture.otherOrg}/prod/helm${path}`, {
      token: fixture.stranger.token,
    })
  t.is((await expectStatus(theirs('/tiller-config'), 200)).json.clusterID, fixture.fake.uid)
  t.deepEqual((await expectStatus(theirs('/v3/releases'), 200)).json, [])
  // The same object by uid and version, with another content.
  await expectStatus(fixture.get('/v3/releases?namespace=shop', fixture.owner), 200)
  const known = fixture.fake.find('v1', 'Secret', 'shop', 'sh.helm.release.v1.web.v1')
  const forged = await recordObject('Secret', { name: 'web', namespace: 'shop', version: 1, description: 'Forged' })
  const object = {
    ...forged,
    metadata: { ...forged.metadata, uid: known?.metadata.uid, resourceVersion: known?.metadata.resourceVersion },
  }
  twin.rules.answer({ resource: 'secrets' }, (_req, res, { verb }) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(verb === 'list' ? { items: [object], metadata: {} } : object))
  })
  t.is((await expectStatus(theirs('/v3/releases?namespace=shop'), 200)).json[0].info.description, 'Forged')
  t.is(
    (await expectStatus(fixture.get('/v3/releases?namespace=shop', fixture.owner), 200)).json[0].info.description,
    'Release of web',
  )
  t.is(
    (
      await fixture.service.send('GET', `/api/v1/clusters/${fixture.otherOrg}/prod/helm/v3/releases`, {
        token: fixture.owner.token,
      })
    ).status,
    404,
  )
})

test.serial('a cluster that does not answer is reported', async (t) => {
  const stop = fixture.fake.rules.fail({ resource: 'secrets' }, 503, 'ServiceUnavailable', 'not now')
  const answer = await fixture.get('/v3/releases')
  t.is(answer.status, 500)
  t.true(answer.json.message.includes('not now'))
  stop()
})
