import test from 'ava'
import { expectStatus, importCluster } from '../../clusters/cluster-world.ts'
import type { ReadsFixture } from './reads-world.ts'
import { openReadsFixture } from './reads-world.ts'
import { recordObject } from '../../helm/records/records.ts'

/** The driver of a cluster: its default, its setting, and what reads make of it. */
let world: ReadsFixture
test.before(async () => {
  world = await openReadsFixture()
})
test.after.always(() => world.stop())

const path = '/tiller-config'
const set = (driverName: unknown, person = world.owner) =>
  world.service.send('PUT', `${world.helm}${path}`, {
    token: person.token,
    body: { driver: { pkg3: { driverName } } },
  })
const nameOf = (answer: { readonly json: unknown }): unknown =>
  (answer.json as { data: { driver: { pkg3: { driverName: string } } } }).data.driver.pkg3.driverName

test.serial('nothing set is the default, with id 0', async (t) => {
  const got = await expectStatus(world.get(path), 200)
  const orgId = (
    await expectStatus(world.service.send('GET', `/api/v1/orgs/${world.org}`, { token: world.owner.token }), 200)
  ).json.id
  t.deepEqual(got.json, {
    id: 0,
    userID: orgId,
    clusterID: world.fake.uid,
    type: 1,
    data: { driver: { pkg3: { driverName: 'Secret' } } },
    createdUnix: 0,
    updatedUnix: 0,
  })
  t.deepEqual((await expectStatus(world.get(`${path}/default`), 200)).json, got.json)
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
    t.deepEqual((await expectStatus(world.get(path), 200)).json, answer.json)
    t.true(answer.json.updatedUnix >= answer.json.createdUnix && answer.json.createdUnix > 0)
    ids.add(answer.json.id)
  }
  t.is(ids.size, 1)
  for (const body of [{ 'driver.pkg3.driverName': 'ConfigMap' }, { data: { 'driver.pkg3.driverName': 'ConfigMap' } }]) {
    await expectStatus(set('Secret'), 200)
    const answer = await expectStatus(
      world.service.send('PUT', `${world.helm}${path}`, { token: world.owner.token, body }),
      200,
    )
    t.is(nameOf(answer), 'ConfigMap')
  }
  t.is(
    nameOf(
      await expectStatus(
        world.service.send('PUT', `${world.helm}${path}`, { token: world.owner.token, body: {} }),
        200,
      ),
    ),
    'Secret',
  )
  t.is(nameOf(await expectStatus(world.get(`${path}/default`), 200)), 'Secret')
})

test.serial('what is no driver for a cluster is refused and changes nothing', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  for (const name of ['memory', 'sql', 'Secret ', 'file', 7, {}, 'x'.repeat(100)])
    t.is((await set(name)).status, 422, JSON.stringify(name))
  for (const body of [{ driver: 'Secret' }, { driver: { pkg3: 'Secret' } }, [], 'text']) {
    t.is(
      (await world.service.send('PUT', `${world.helm}${path}`, { token: world.owner.token, body })).status,
      body === 'text' ? 400 : 422,
      JSON.stringify(body),
    )
  }
  t.is(nameOf(await expectStatus(world.get(path), 200)), 'ConfigMap')
})

test.serial('who may not connect to the cluster sets nothing', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  t.is((await set('Secret', world.viewer)).status, 403)
  t.is((await set('Secret', world.stranger)).status, 404)
  const readOnly = await world.service.tokenFor(world.owner.login, ['read:cluster'])
  t.is((await set('Secret', { ...world.owner, token: readOnly })).status, 403)
  t.is(nameOf(await expectStatus(world.get(path, { ...world.owner, token: readOnly }), 200)), 'ConfigMap')
  t.is(nameOf(await expectStatus(set('Secret', world.member), 200)), 'Secret')
})

test.serial('reads use the driver of the cluster, and another owner of the same cluster has another', async (t) => {
  world.fake.put(await recordObject('Secret', { name: 'in-secret', namespace: 'drivers', version: 1 }))
  world.fake.put(await recordObject('ConfigMap', { name: 'in-map', namespace: 'drivers', version: 1 }))
  await expectStatus(
    importCluster(world.service.send, world.stranger.token, world.otherOrg, 'same', world.fake.kubeconfig()),
    200,
  )
  const names = async (token: string, at: string): Promise<unknown> =>
    (
      await expectStatus(
        world.service.send('GET', `/api/v1/clusters/${at}/helm/v3/releases?namespace=drivers`, { token }),
        200,
      )
    ).json.map(({ name }: { name: string }) => name)
  for (const [driver, shown] of [
    ['ConfigMap', 'in-map'],
    ['Secret', 'in-secret'],
    ['ConfigMap', 'in-map'],
  ] as const) {
    await expectStatus(set(driver), 200)
    t.deepEqual(await names(world.owner.token, `${world.org}/prod`), [shown])
    t.deepEqual(await names(world.stranger.token, `${world.otherOrg}/same`), ['in-secret'])
  }
  t.is((await world.get('/v3/releases/in-secret/content?namespace=drivers')).status, 404)
  await expectStatus(world.get('/v3/releases/in-map/content?namespace=drivers'), 200)
})

test.serial('each setting is in the audit log of the owner', async (t) => {
  await expectStatus(set('ConfigMap'), 200)
  const audit = await expectStatus(
    world.service.send('GET', `/api/v1/orgs/${world.org}/audit`, { token: world.owner.token }),
    200,
  )
  const rows = JSON.stringify(audit.json)
  t.true(rows.includes('package_driver.set'), rows.slice(0, 500))
  const theirs = await expectStatus(
    world.service.send('GET', `/api/v1/orgs/${world.otherOrg}/audit`, {
      token: world.stranger.token,
    }),
    200,
  )
  t.false(JSON.stringify(theirs.json).includes('package_driver.set'))
})
