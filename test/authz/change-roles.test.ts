import { left } from 'fp-ts/lib/Either.js'
import type { CreateRoleInput, RoleChange } from '../../core/authz/roles.ts'
import type { OrgId, RoleId, TeamId } from '../../core/kernel/ids.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import { casesOf } from '../support/cases-of.ts'
import { eachDatabase } from '../support/databases.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, principal } from './callers.ts'
import type { RoleFixture } from './role.fixture.ts'
import { makeRoleFixture } from './role.fixture.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

const [owner, admin, editor] = [1, 2, 3]
const orgId = 11 as OrgId
const customTeam = 113 as TeamId
const foreignTeam = 121 as TeamId
const view = { namespace: 'cluster_mgmt', action: 'view clusters' }
const connect = { namespace: 'cluster_mgmt', action: 'connect to clusters' }
const importing = { namespace: 'cluster_mgmt', action: 'import clusters' }
const rename = { namespace: 'org_mgmt', action: 'rename' }

/** One owner, one admin, and someone whose custom role lets them edit roles and view clusters. */
const fixture: Fixture = {
  users: [owner, admin, editor],
  orgs: [
    {
      id: orgId,
      visibility: 'private',
      members: [owner, admin, editor],
      teams: [
        { id: 111, permission: 'owner', members: [owner], roleIds: [] },
        { id: 112, permission: 'admin', members: [admin], roleIds: [] },
        { id: 113, permission: 'custom', members: [editor], roleIds: [1101] },
      ],
      roles: [
        { id: 1101, permissions: ['org_mgmt/edit roles', 'org_mgmt/create roles', 'cluster_mgmt/view clusters'] },
      ],
      grants: [],
    },
    {
      id: 12,
      visibility: 'private',
      members: [owner],
      teams: [{ id: 121, permission: 'owner', members: [owner], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [],
  tokens: [],
}

const content = (changes: Partial<CreateRoleInput> = {}) => ({
  name: 'Viewers',
  description: '',
  permissions: [view],
  teamIds: [],
  ...changes,
})

const create = (bench: RoleFixture, userId: number, changes: Partial<CreateRoleInput> = {}, isSiteAdmin = false) =>
  bench.create(callBy(principal(userId, { isSiteAdmin })), {
    orgId,
    ...content(changes),
  })

const noChange: RoleChange = { name: undefined, description: undefined, permissions: undefined, teamIds: undefined }
const update = (
  bench: RoleFixture,
  userId: number,
  id: RoleId,
  change: Partial<RoleChange>,
  expectedVersion?: number,
) =>
  bench.update(callBy(principal(userId)), {
    orgId,
    id,
    change: { ...noChange, ...change },
    expectedVersion,
  })

for (const database of eachDatabase()) {
  const onBench = casesOf(database.name, async () => {
    const db = await database.open()
    await storeFixture(db, fixture)
    return makeRoleFixture(db)
  })

  onBench('a created role is stored with its audit row', async (t, bench) => {
    const role = unwrap(
      await create(bench, admin, { name: '  Viewers ', permissions: [view, view], teamIds: [customTeam, customTeam] }),
    )
    t.like(role, { name: 'Viewers', version: 1, permissions: [view], teamIds: [customTeam] })
    t.deepEqual(await bench.roles.get(orgId, role.id), role)
    t.deepEqual(await bench.audited(), ['role.created'])
  })

  onBench('what a role cannot be is refused and leaves nothing behind', async (t, bench) => {
    const refusals: readonly (readonly [Partial<CreateRoleInput>, string])[] = [
      [{ name: ' ' }, 'RoleNameRefused'],
      [{ permissions: [] }, 'RolePermissionsEmpty'],
      [{ permissions: [view, { namespace: 'cluster_mgmt', action: 'fly' }] }, 'PermissionUnknown'],
      [{ permissions: [connect] }, 'PermissionIncomplete'],
      [{ teamIds: [foreignTeam] }, 'RoleTeamUnknown'],
      [{ teamIds: [customTeam, 999 as TeamId] }, 'RoleTeamUnknown'],
      [{ name: 'ROLE1101' }, 'RoleNameTaken'],
    ]
    for (const [changes, tag] of refusals) t.is(tagOf(await create(bench, owner, changes)), tag)
    t.is((await bench.roles.list(orgId, { page: 1, limit: 30 })).total, 1)
    t.deepEqual(await bench.audited(), [])
  })

  onBench('a caller adds only permissions to a role that the caller has', async (t, bench) => {
    t.is(tagOf(await create(bench, editor, { permissions: [view] })), 'done')
    t.is(tagOf(await create(bench, editor, { name: 'more', permissions: [view, connect] })), 'PermissionNotHeld')
    t.is(
      tagOf(
        await create(bench, admin, {
          name: 'more',
          permissions: [rename, { namespace: 'org_mgmt', action: 'view' }, { namespace: 'org_mgmt', action: 'edit' }],
        }),
      ),
      'PermissionNotHeld',
    )
    t.is(tagOf(await create(bench, admin, { name: 'more', permissions: [view, connect] })), 'done')
    await bench.db.query((k) => k('users').where('id', editor).update({ is_admin: 1 }))
    t.is(tagOf(await create(bench, editor, { name: 'most', permissions: [view, connect] }, true)), 'done')
  })

  onBench(
    'a role stronger than its editor can be renamed, but not handed to a team or kept in a new list',
    async (t, bench) => {
      const strong = unwrap(await create(bench, owner, { name: 'strong', permissions: [view, connect, importing] }))
      t.is(tagOf(await update(bench, editor, strong.id, { name: 'renamed' })), 'done')
      t.is(tagOf(await update(bench, editor, strong.id, { teamIds: [customTeam] })), 'PermissionNotHeld')
      t.is(tagOf(await update(bench, editor, strong.id, { permissions: [view, connect] })), 'PermissionNotHeld')
      const sentBack = { name: 'again', permissions: [importing, view, connect], teamIds: [] }
      t.is(tagOf(await update(bench, editor, strong.id, sentBack)), 'done', 'permissions and teams stay')
      t.is(tagOf(await update(bench, editor, strong.id, { permissions: [view], teamIds: [customTeam] })), 'done')
    },
  )

  onBench('an update replaces the given parts only', async (t, bench) => {
    const role = unwrap(await create(bench, owner, { description: 'first', teamIds: [customTeam] }))
    const renamed = unwrap(await update(bench, owner, role.id, { name: 'Lookers' }))
    t.like(renamed, { name: 'Lookers', description: 'first', permissions: [view], teamIds: [customTeam], version: 2 })
    const detached = unwrap(await update(bench, owner, role.id, { teamIds: [], description: '' }))
    t.like(detached, { name: 'Lookers', description: '', teamIds: [], version: 3 })
    t.is(tagOf(await update(bench, owner, role.id, { permissions: [] })), 'RolePermissionsEmpty')
    t.deepEqual(await bench.audited(), ['role.created', 'role.updated', 'role.updated'])
  })

  onBench('a change meant for another version, or for no role of the organization, is refused', async (t, bench) => {
    const role = unwrap(await create(bench, owner))
    t.is(tagOf(await update(bench, owner, role.id, { name: 'x' }, 2)), 'RoleChanged')
    t.is(tagOf(await update(bench, owner, role.id, { name: 'x' }, 1)), 'done')
    t.is(tagOf(await update(bench, owner, 999 as RoleId, { name: 'x' })), 'RoleMissing')
    const remove = (id: RoleId, expectedVersion?: number, inOrg = orgId) =>
      bench.remove(callBy(principal(owner)), { orgId: inOrg, id, expectedVersion })
    t.is(tagOf(await remove(role.id, 1)), 'RoleChanged')
    t.is(tagOf(await remove(role.id, undefined, 12 as OrgId)), 'RoleMissing')
    t.is(tagOf(await remove(role.id, 2)), 'done')
    t.is(tagOf(await remove(role.id)), 'RoleMissing')
    t.deepEqual(await bench.audited(), ['role.created', 'role.updated', 'role.deleted'])
  })

  onBench('deleting a role ends what it gave at the next request', async (t, bench) => {
    const canCreate = () =>
      bench.authorizer.authorize(principal(editor), { type: 'organization', name: 'account11' }, 'can_create_role')
    t.is(tagOf(await canCreate()), 'done')
    unwrap(await bench.remove(callBy(principal(owner)), { orgId, id: 1101 as RoleId, expectedVersion: undefined }))
    t.is(tagOf(await canCreate()), 'AccessDenied')
  })

  onBench('the role and its audit row are one transaction', async (t, bench) => {
    const Refused = defineFailure('Refused', 'Conflict', 'A failure of this test.')
    const outcome = await bench.unitOfWork.run(callBy(principal(owner)), async ({ roles, audit }) => {
      await roles.insert(orgId, { name: 'gone', description: '', permissions: [view], teamIds: [] }, new Date())
      await audit.record({ action: 'role.created', objectType: 'role', tenantId: orgId })
      return left(Refused('after both'))
    })
    t.is(tagOf(outcome), 'Refused')
    t.is((await bench.roles.list(orgId, { page: 1, limit: 30 })).total, 1)
    t.deepEqual(await bench.audited(), [])
  })

  onBench(
    'eight concurrent changes with one version leave one winner; without, all are applied in turn',
    async (t, bench) => {
      const role = unwrap(await create(bench, owner))
      const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      const raced = await Promise.all(names.map((name) => update(bench, owner, role.id, { name }, 1)))
      t.deepEqual(raced.map(tagOf).sort(), [...Array<string>(7).fill('RoleChanged'), 'done'])
      const all = await Promise.all(names.map((name) => update(bench, owner, role.id, { description: name })))
      t.deepEqual(all.map(tagOf), Array(8).fill('done'))
      t.is((await bench.roles.get(orgId, role.id))?.version, 10)
      t.is((await bench.audited()).length, 10)
    },
  )
}
