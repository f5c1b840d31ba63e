import { fileURLToPath } from 'node:url'
import test from 'ava'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import { callers } from '../matrix/callers.ts'
import { cellsOf, isExpected, show } from '../matrix/cells.ts'
import { sample as identity } from '../identity/sample.ts'
import { holdsRelation } from '../matrix/oracle.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { eachDatabase } from '../support/databases.ts'
import { objectRows } from '../support/object-rows.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { callBy, principal } from './callers.ts'
import { catalogue, compiled } from './catalogue.ts'
import { countingRunner } from './counting-runner.ts'
import { fleetRows, fleetTables, fleetTypes, plugin } from './fixtures/fleet-plugin.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

/**
 * Three object types of a plugin that is not part of this build: one with rows in an account, one inside it, one that
 * is located through the record of a cluster. Nothing but the plugin knows them.
 */
const place = fileURLToPath(new URL('./fixtures/fleet-plugin.ts', import.meta.url))

const startFleet = async (): Promise<PopulatedService> => {
  const service = await startPopulatedService({ MOORAGE_PLUGINS: place })
  for (const table of fleetTables) await service.write(table)
  const [lagoon] = service.rows("select id from accounts where name = 'lagoon'")
  const insertShip = (id: number, owner: unknown, name: string) =>
    service.write('insert into fleet_ships (id, owner_id, name) values (?, ?, ?)', id, owner, name)
  await insertShip(71, service.fixture.id('organization'), 'argo')
  await insertShip(72, service.fixture.id('organization'), 'beagle')
  await insertShip(73, lagoon?.['id'], 'argo')
  for (const [id, ship] of [
    [711, 71],
    [721, 72],
    [731, 73],
  ])
    await service.write('insert into fleet_cabins (id, ship_id, label) values (?, ?, ?)', id, ship, `cabin ${id}`)
  return service
}

// The cases run in the order in which they are written: the later ones change what the earlier ones ask about.
let service: PopulatedService
test.before(async () => {
  service = await startFleet()
})
test.after.always(() => service?.stop())

const parameters: Readonly<Record<string, string>> = {
  owner: 'harbour',
  ship: 'argo',
  cabin: '711',
  cluster: 'pier',
  workload: 'web',
}
const targetOf = (fullPath: string): string =>
  fullPath.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? '')

test.serial('matrix: every route on the added types answers every caller as it is declared', async (t) => {
  const { routes } = service.running.assembly
  const added = routes.filter(({ pluginId }) => pluginId === 'fleet')
  t.is(added.length, 6)
  const cells = await cellsOf(service, added, await callers(service), ({ fullPath }) => targetOf(fullPath))
  for (const decision of ['unauthenticated', 'denied', 'hidden', 'admitted'] as const)
    t.true(
      cells.some(({ expected }) => expected === decision),
      decision,
    )
  t.deepEqual(cells.filter((cell) => !isExpected(cell)).map(show), [])
})

test.serial('the object that a route names is the one of its place', async (t) => {
  const token = await service.tokenFor('alice')
  const get = (path: string) => service.send('GET', `/api/v1/fleet/${path}`, { token })
  const orgId = service.fixture.id('organization')
  const [pier] = service.rows("select id from clusters where name = 'pier'")
  t.deepEqual((await get('HARBOUR/ships/argo')).json, { type: 'ship', id: 71, name: 'argo', owner: orgId })
  t.deepEqual((await get('harbour/ships/argo/cabins/711')).json, {
    type: 'cabin',
    id: 711,
    name: 'cabin 711',
    owner: orgId,
    in: { type: 'ship', id: 71, name: 'argo' },
  })
  t.deepEqual((await get('harbour/clusters/pier/workloads/web')).json, {
    type: 'workload',
    id: pier?.['id'],
    name: 'web',
    owner: orgId,
    in: { type: 'cluster', id: pier?.['id'], name: 'pier' },
  })
  const missing = [
    'harbour/ships/nina',
    'harbour/ships/argo/cabins/721',
    'harbour/ships/argo/cabins/731',
    'harbour/ships/nina/cabins/711',
    'lagoon/ships/argo',
    'lagoon/ships/argo/cabins/731',
    'harbour/clusters/quay/workloads/web',
    'harbour/ships/argo/cabins/x',
  ]
  for (const path of missing) t.is((await get(path)).status, 404, path)
})

test.serial('batch: callers hold exactly the declared relations on added types', async (t) => {
  await service.write(
    "insert into object_grants (object_type, object_id, relation, subject_type, subject_id, org_id, created_at) values ('ship', 71, 'captain', 'user', ?, ?, 0)",
    service.of(identity).viewer.id,
    service.fixture.id('organization'),
  )
  await service.write(
    "insert into object_grants (object_type, object_id, relation, subject_type, subject_id, org_id, created_at) values ('cabin', 711, 'guest', 'team', ?, ?, 0)",
    service.of(organizations).teamIds.Editors,
    service.fixture.id('organization'),
  )
  const { assembly } = service.running
  const questions = [
    ['ship', 71],
    ['ship', 72],
    ['ship', 73],
    ['cabin', 711],
    ['cabin', 721],
    ['cabin', 731],
  ] as const
  for (const { name, standing, presented } of await callers(service)) {
    const [way] = presented
    if (!['vera', 'eddie', 'alice'].includes(name) || way === undefined) continue
    const asked = await service.send('POST', '/api/v1/authz/objects/allowed-permissions?org=harbour', {
      headers: way.headers,
      body: questions.map(([objectType, objectID]) => ({ objectType, objectID })),
    })
    const expected = questions.map(([type, id]) => {
      const relations = assembly.objectTypes
        .filter((definition) => definition.type === type)
        .flatMap((definition) => Object.keys(definition.relations))
      const isCaptain = name === 'vera' && (id === 71 || id === 711)
      const isForeign = id === 73 || id === 731
      return isForeign
        ? []
        : relations.filter((relation) => isCaptain || holdsRelation(type, relation, standing, assembly)).sort()
    })
    t.deepEqual(
      (asked.json as { allowedPermissions: string[] }[]).map(({ allowedPermissions }) => allowedPermissions),
      expected,
      name,
    )
  }
})

test.serial('catalogue: a custom role carries added permissions with their companions', async (t) => {
  const alice = await service.tokenFor('alice')
  const listed = await service.send('GET', '/api/v1/authz/roles/available_permissions?org=harbour', { token: alice })
  const fleet = (listed.json.permissions as { namespace: string; action: string }[]).filter(
    ({ namespace }) => namespace === 'fleet_mgmt',
  )
  t.deepEqual(
    fleet.map(({ action }) => action),
    ['sail ships', 'view ships'],
  )
  const sail = { namespace: 'fleet_mgmt', action: 'sail ships' }
  const roles = '/api/v1/authz/roles?org=harbour'
  t.is((await service.send('POST', roles, { token: alice, body: { name: 'sailor', permissions: [sail] } })).status, 400)
  const team = await service.send('POST', '/api/v1/orgs/harbour/teams', {
    token: alice,
    body: { name: 'crew', permission: 'custom' },
  })
  const made = await service.send('POST', roles, {
    token: alice,
    body: { name: 'sailor', permissions: [sail, { ...sail, action: 'view ships' }], teamIDs: [team.json.id] },
  })
  t.is(made.status, 201, made.text)
  t.is((await service.send('PUT', `/api/v1/teams/${team.json.id}/members/olga`, { token: alice })).status, 204)
  const olga = await service.tokenFor('olga')
  t.is((await service.send('POST', '/api/v1/fleet/harbour/ships/beagle/course', { token: olga })).status, 200)
  t.is((await service.send('POST', '/api/v1/fleet/harbour/ships/beagle/cabins/721/clean', { token: olga })).status, 200)
  t.is((await service.send('GET', '/api/v1/fleet/harbour/clusters/pier/workloads/web', { token: olga })).status, 403)
})

test.serial('an organization or a person with such an object is not deleted', async (t) => {
  const alice = await service.tokenFor('alice')
  for (const kind of ['clusters', 'contracts'])
    await service.write(`delete from ${kind} where owner_id = ?`, service.fixture.id('organization'))
  const kept = await service.send('DELETE', '/api/v1/orgs/harbour', { token: alice })
  t.is(kept.status, 409, kept.text)
  t.regex(kept.text, /ship argo, ship beagle/)
  await service.write('update fleet_ships set owner_id = ?', service.of(identity).others[0]?.id)
  t.is((await service.send('DELETE', '/api/v1/orgs/harbour', { token: alice })).status, 204)
  t.regex((await service.send('DELETE', '/api/v1/admin/users/olga', { token: service.adminToken })).text, /ship argo/)
})

const [owner, mate, member, outsider] = [1, 2, 3, 4]
const fixture: Fixture = {
  users: [owner, mate, member, outsider],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [owner, mate, member],
      teams: [
        { id: 111, permission: 'owner', members: [owner], roleIds: [] },
        { id: 112, permission: 'custom', members: [mate], roleIds: [1101] },
        { id: 113, permission: 'none', members: [member], roleIds: [] },
      ],
      roles: [{ id: 1101, permissions: ['fleet_mgmt/view ships'] }],
      grants: [
        { objectType: 'ship', objectId: 71, relation: 'captain', subjectType: 'team', subjectId: 112 },
        { objectType: 'cabin', objectId: 711, relation: 'guest', subjectType: 'user', subjectId: member },
        { objectType: 'cluster', objectId: 11_001, relation: 'editor', subjectType: 'user', subjectId: member },
      ],
    },
  ],
  clusters: [
    { id: 11_001, ownerId: 11 },
    { id: 11_002, ownerId: 11 },
  ],
  tokens: [],
}

const ship = (name: string): ObjectLocator => ({ type: 'ship', account: 'account11', name })
const cabin = (within: string, id: number): ObjectLocator => ({
  type: 'cabin',
  account: 'account11',
  within: { name: within },
  id,
})
const workload = (within: string): ObjectLocator => ({
  type: 'workload',
  account: 'account11',
  within: { name: within },
  name: 'web',
})

/** Who asks for what, and the answer. */
const decisions: readonly (readonly [number, ObjectLocator, string, string])[] = [
  [mate, ship('argo'), 'can_sail', 'done'],
  [mate, ship('beagle'), 'can_view', 'done'],
  [mate, ship('beagle'), 'can_sail', 'AccessDenied'],
  [mate, cabin('argo', 711), 'can_clean', 'done'],
  [mate, cabin('beagle', 721), 'can_view', 'done'],
  [mate, cabin('beagle', 721), 'can_clean', 'AccessDenied'],
  [mate, cabin('beagle', 711), 'can_view', 'ObjectHidden'],
  [member, cabin('argo', 711), 'can_view', 'done'],
  [member, cabin('argo', 712), 'can_view', 'AccessDenied'],
  [member, ship('argo'), 'can_view', 'AccessDenied'],
  [member, workload('cluster-11001'), 'can_restart', 'done'],
  [member, workload('cluster-11002'), 'can_view', 'AccessDenied'],
  [owner, workload('cluster-11999'), 'can_view', 'ObjectHidden'],
  [outsider, workload('cluster-11001'), 'can_view', 'ObjectHidden'],
  [outsider, cabin('argo', 711), 'can_view', 'ObjectHidden'],
]

const withFleet = async (db: SqlDatabase): Promise<void> => {
  await storeFixture(db, fixture)
  for (const table of fleetTables) await db.query((k) => k.raw(table))
  await db.query((k) =>
    k('fleet_ships').insert([
      { id: 71, owner_id: 11, name: 'argo' },
      { id: 72, owner_id: 11, name: 'beagle' },
    ]),
  )
  await db.query((k) =>
    k('fleet_cabins').insert([
      { id: 711, ship_id: 71, label: 'a' },
      { id: 712, ship_id: 71, label: 'b' },
      { id: 721, ship_id: 72, label: 'c' },
    ]),
  )
}

for (const database of eachDatabase()) {
  test(`${database.name}: a route reads grants in one query, a batch in three at most`, async (t) => {
    const db = await database.open()
    try {
      await withFleet(db)
      const runner = countingRunner(db)
      const objectTypes = [...catalogue.objectTypes, ...fleetTypes]
      const schema = compiled({ objectTypes, permissions: [...catalogue.permissions, ...(plugin.permissions ?? [])] })
      const facts = makeSqlAuthorizationFacts(db, objectTypes, [...objectRows, ...fleetRows])(runner)
      const authorizer = makeAuthorizer({ schema, facts, clock: { now: () => new Date() } })
      const list = makeListAllowedPermissions({ schema, facts })
      for (const [userId, locator, relation, answer] of decisions) {
        const decided = await authorizer.authorize(principal(userId), locator, relation)
        t.is(tagOf(decided), answer, `${userId} ${relation} ${JSON.stringify(locator)}`)
        t.is(runner.taken(), 1)
      }
      const { context } = unwrap(
        await authorizer.authorize(principal(mate), { type: 'account', name: 'account11' }, 'member'),
      )
      runner.taken()
      const objects = [711, 712, 721, 999].map((objectID) => ({ objectType: 'cabin', objectID }))
      const answers = unwrap(await list(callBy(principal(mate)), { context, objects, isBatch: true }))
      t.true(runner.taken() <= 3)
      t.deepEqual(
        answers.map(({ relations }) => relations),
        [['can_clean', 'can_view'], ['can_clean', 'can_view'], ['can_view'], []],
      )
    } finally {
      await db.close()
    }
  })
}

test('the rows that tests without a service use are those of every type', (t) => {
  const types = catalogue.objectTypes.filter(({ place }) => place?.rows === 'own').map(({ type }) => type)
  t.deepEqual(
    types.filter((type) => !objectRows.some((rows) => rows.type === type)),
    [],
    'add the rows of these types to test/support/object-rows.ts',
  )
})

test('a declared type without registered rows is refused', async (t) => {
  const [database] = eachDatabase()
  const db = await database?.open()
  if (db === undefined) return t.fail('no database')
  t.throws(() => makeSqlAuthorizationFacts(db, fleetTypes, []), { message: /rows of the object type ship/ })
  await db.close()
})
