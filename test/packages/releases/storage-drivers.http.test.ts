import test from 'ava'
import { expectStatus, importCluster } from '../../clusters/cluster-fixture.ts'
import type { ReadsFixture } from './reads-fixture.ts'
import { openReadsFixture } from './reads-fixture.ts'
import { recordObject } from '../../helm/records/records.ts'

/** The driver of a cluster: its default, its setting, and what reads make of it. */
let fixture: ReadsFixture
test.before(async () => {
  fixture = await openReadsFixture()
})
test.after.always(() => fixture.stop())

const path = '/tiller-config'
const set = (driverName: unknown, person = fixture.owner) =>
  fixture.service.send('PUT', `${fixture.helm}${path}`, {
    token: person.token,
    body: { driver: { pkg3: { driverName } } },
  })
const nameOf = (answer: { readonly json: unknown }): unknown =>
  (answer.json as { data: { driver: { pkg3: { driverName: string } } } }).data.driver.pkg3.driverName

test.serial('nothing set is the default, with id 0', async (t) => {
  const got = await expectStatus(fixture.get(path), 200)
  const orgId = (
    await expectStatus(fixture.service.send('GET', `/api/v1/orgs/${fixture.org}`, { token: fixture.owner.token }), 200)
  ).json.id
  t.deepEqual(got.json, {
    id: 0,
    userID: orgId,
    clusterID: fixture.fake.uid,
    type: 1,
    data: { driver: { pkg3: { driverName: 'Secret' } } },
    createdUnix: 0,
    updatedUnix: 0,
  })
  t.deepEqual((await expectStatus(fixture.get(`${path}/default`), 200)).json, got.json)
})

test.serial('a driver is set in any case, singular or plural, in one row', async (t) => {
  const ids = new Set<number>()
  for (const [sent, stored] of [
    ['ConfigMap', 'ConfigMap'],
    ['secrets', 'Secret'],
    ['CONFIGMAPS', 'ConfigMap'],
    ['Secret', 'Secret'],
    ['', 'Secret'],
    ['configmap', 'ConfigMap'],
  ] as const) {
    const answer = await expectStatus(set(sent), 200)
    t.is(nameOf(answer), stored, sent)
    t.deepEqual((await expectStatus(fixture.get(path), 200)).json, answer.json)
    t.true(answer.json.updatedUnix >= answer.json.createdUnix && answer.json.createdUnix > 0)
    ids.add(answer.json.id)
  }
  t.is(ids.size, 1)
  for (const body of [{ 'driver.pkg3.driverName': 'ConfigMap' }, { data: { 'driver.pkg3.driverName': 'ConfigMap' } }]) {
    await expectStatus(set('Secret'), 200)
    const answer = await expectStatus(
      fixture.service.send('PUT', `${fixture.helm}${path}`, { token: fixture.owner.token, body }),
      200,
    )
    t.is(nameOf(answer), 'ConfigMap')
  }
  t.is(
    nameOf(
      await expectStatus(
        fixture.service.send('PUT', `${fixture.helm}${path}`, { token: fixture.owner.token, body: {} }),
        200,
      ),
    ),
    'Secret',
  )
  t.is(nameOf(await expectStatus(fixture.get(`${path}/default`), 200)), 'Secret')
})

test.serial('an invalid driver of a cluster is refused and changes nothing', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  for (const name of ['memory', 'sql', 'Secret ', 'file', 7, {}, 'x'.repeat(100)])
    t.is((await set(name)).status, 422, JSON.stringify(name))
  for (const body of [{ driver: 'Secret' }, { driver: { pkg3: 'Secret' } }, [], 'text']) {
    t.is(
      (await fixture.service.send('PUT', `${fixture.helm}${path}`, { token: fixture.owner.token, body })).status,
      body === 'text' ? 400 : 422,
      JSON.stringify(body),
    )
  }
  t.is(nameOf(await expectStatus(fixture.get(path), 200)), 'ConfigMap')
})

test.serial('a caller without the right to connect sets nothing', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  t.is((await set('Secret', fixture.viewer)).status, 403)
  t.is((await set('Secret', fixture.stranger)).status, 404)
  const readOnly = await fixture.service.tokenFor(fixture.owner.login, ['read:cluster'])
  t.is((await set('Secret', { ...fixture.owner, token: readOnly })).status, 403)
  t.is(nameOf(await expectStatus(fixture.get(path, { ...fixture.owner, token: readOnly }), 200)), 'ConfigMap')
  t.is(nameOf(await expectStatus(set('Secret', fixture.member), 200)), 'Secret')
})

test.serial('reads use the driver of the cluster for its owner', async (t) => {
  fixture.fake.put(await recordObject('Secret', { name: 'in-secret', namespace: 'drivers', version: 1 }))
  fixture.fake.put(await recordObject('ConfigMap', { name: 'in-map', namespace: 'drivers', version: 1 }))
  await expectStatus(
    importCluster(fixture.service.send, fixture.stranger.token, fixture.otherOrg, 'same', fixture.fake.kubeconfig()),
    200,
  )
  const names = async (token: string, at: string): Promise<unknown> =>
    (
      await expectStatus(
        fixture.service.send('GET', `/api/v1/clusters/${at}/helm/v3/releases?namespace=drivers`, { token }),
        200,
      )
    ).json.map(({ name }: { name: string }) => name)
  for (const [driver, shown] of [
    ['ConfigMap', 'in-map'],
    ['Secret', 'in-secret'],
    ['ConfigMap', 'in-map'],
  ] as const) {
    await expectStatus(set(driver), 200)
    t.deepEqual(await names(fixture.owner.token, `${fixture.org}/prod`), [shown])
    t.deepEqual(await names(fixture.stranger.token, `${fixture.otherOrg}/same`), ['in-secret'])
  }
  t.is((await fixture.get('/v3/releases/in-secret/content?namespace=drivers')).status, 404)
  await expectStatus(fixture.get('/v3/releases/in-map/content?namespace=drivers'), 200)
})

test.serial('each setting is in the audit log of the owner', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  const audit = await expectStatus(
    fixture.service.send('GET', `/api/v1/orgs/${fixture.org}/audit`, { token: fixture.owner.token }),
    200,
  )
  const rows = JSON.stringify(audit.json)
  t.true(rows.includes('package_driver.set'), rows.slice(0, 500))
  const theirs = await expectStatus(
    fixture.service.send('GET', `/api/v1/orgs/${fixture.otherOrg}/audit`, {
      token: fixture.stranger.token,
    }),
    200,
  )
  t.false(JSON.stringify(theirs.json).includes('package_driver.set'))
})
