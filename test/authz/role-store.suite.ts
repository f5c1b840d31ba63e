import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { RoleStore } from '../../core/authz/ports.ts'
import type { Role, RoleContent } from '../../core/authz/types.ts'
import type { OrgId, RoleId, TeamId } from '../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

/**
 * A store of its own for each case. It finds the organizations 11 and 12 with the people account1 to account3 (shown as
 * Person 1 and so on): in 11 the teams team111 (1 and 3) and team112 (1 and 2), of which 3 is no member of the
 * organization any more; in 12 the team team121. No roles yet.
 */
export interface RoleStoreBench {
  /** Bound to one transaction or connection. */
  readonly store: RoleStore
  close(): Promise<void>
}

const org = 11 as OrgId
const otherOrg = 12 as OrgId
const team = 111 as TeamId
const secondTeam = 112 as TeamId
const otherTeam = 121 as TeamId
const firstPage = { page: 1, limit: 30 }
const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-02T08:00:00.456Z')

const content = (changes: Partial<RoleContent> = {}): RoleContent => ({
  name: 'Viewers',
  description: 'Look, do not touch',
  permissions: [
    { namespace: 'cluster_mgmt', action: 'view clusters' },
    { namespace: 'org_mgmt', action: 'view' },
  ],
  teamIds: [team, secondTeam],
  ...changes,
})

const inserted = async (store: RoleStore, orgId: OrgId, changes: Partial<RoleContent> = {}): Promise<Role> => {
  const role = await store.insert(orgId, content(changes), at)
  if (isLeft(role)) throw new Error(role.left.message)
  return role.right
}

/** Two organizations; user 3 is still in a team, but no member any more. */
const fixture: Fixture = {
  users: [1, 2, 3],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [1, 2],
      teams: [
        { id: 111, permission: 'custom', members: [1, 3], roleIds: [] },
        { id: 112, permission: 'read', members: [1, 2], roleIds: [] },
      ],
      roles: [],
      grants: [],
    },
    {
      id: 12,
      visibility: 'private',
      members: [1],
      teams: [{ id: 121, permission: 'owner', members: [1], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [],
  tokens: [],
}

const about: SuiteAbout = {
  name: 'role-store',
  ports: ['RoleStore'],
  needs: 'The people, organizations and teams that are described at RoleStoreBench, without roles.',
  fill: (database) => storeFixture(database, fixture),
}

/** What every RoleStore keeps. Each case on an organization's data has its twin from another organization. */
export const roleStoreSuite = contractSuite<RoleStoreBench>(about, (onBench) => {
  onBench('a role reads back as it was inserted, with version 1', async (t, { store }) => {
    const role = await inserted(store, org)
    t.deepEqual(await store.get(org, role.id), {
      ...content(),
      id: role.id,
      orgId: org,
      createdAt: at,
      updatedAt: at,
      version: 1,
    })
    t.deepEqual(await store.lock(org, role.id), await store.get(org, role.id))
  })

  onBench('a role of another organization does not exist', async (t, { store }) => {
    const role = await inserted(store, otherOrg, { teamIds: [otherTeam] })
    t.is(await store.get(org, role.id), undefined)
    t.is(await store.lock(org, role.id), undefined)
    t.deepEqual(await store.list(org, firstPage), { items: [], total: 0 })
    t.deepEqual(await store.principals(org, role.id, firstPage), { items: [], total: 0 })
    await store.remove(org, role.id)
    t.truthy(await store.get(otherOrg, role.id))
  })

  onBench('names are unique in an organization without regard to case', async (t, { store }) => {
    await inserted(store, org)
    const again = await store.insert(org, content({ name: 'VIEWERS' }), at)
    t.true(isLeft(again) && again.left.tag === 'RoleNameTaken')
  })

  onBench('another organization may use the same name', async (t, { store }) => {
    await inserted(store, org)
    t.true(isRight(await store.insert(otherOrg, content({ teamIds: [] }), at)))
  })

  onBench('lists by id, in pages, with permissions and teams in order', async (t, { store }) => {
    const ids: number[] = []
    for (const number of [1, 2, 3])
      ids.push((await inserted(store, org, { name: `role ${number}`, teamIds: [secondTeam, team] })).id)
    const page = await store.list(org, { page: 2, limit: 2 })
    t.is(page.total, 3)
    t.deepEqual(
      page.items.map(({ id }) => id),
      ids.slice(2),
    )
    t.deepEqual(page.items[0]?.teamIds, [team, secondTeam])
  })

  onBench('replace takes the whole content and raises the version', async (t, { store }) => {
    const role = await inserted(store, org)
    const next = content({
      name: 'Editors',
      description: '',
      permissions: [{ namespace: 'org_mgmt', action: 'edit' }],
      teamIds: [secondTeam],
    })
    const replaced = await store.replace(role, next, later)
    const expected = { ...next, id: role.id, orgId: org, createdAt: at, updatedAt: later, version: 2 }
    t.deepEqual(isRight(replaced) && replaced.right, expected)
    t.deepEqual(await store.get(org, role.id), expected)
  })

  onBench('replace refuses the name of another role and keeps its own', async (t, { store }) => {
    const role = await inserted(store, org)
    await inserted(store, org, { name: 'Editors' })
    t.true(isRight(await store.replace(role, content({ name: 'vIEWERS' }), later)))
    t.true(isLeft(await store.replace(role, content({ name: 'editors' }), later)))
  })

  onBench('replace with a foreign organization changes nothing', async (t, { store }) => {
    const role = await inserted(store, org)
    await t.throwsAsync(store.replace({ ...role, orgId: otherOrg }, content({ name: 'Stolen', teamIds: [] }), later))
    t.deepEqual(await store.get(org, role.id), role)
  })

  onBench('remove takes the role and its attachments', async (t, { store }) => {
    const role = await inserted(store, org)
    const kept = await inserted(store, org, { name: 'kept' })
    await store.remove(org, role.id)
    await store.remove(org, 999 as RoleId)
    t.is(await store.get(org, role.id), undefined)
    t.deepEqual((await store.list(org, firstPage)).items, [kept])
    t.deepEqual(await store.principals(org, role.id, firstPage), { items: [], total: 0 })
  })

  onBench('principals are the teams, then their people once each, former members left out', async (t, { store }) => {
    const role = await inserted(store, org)
    t.deepEqual(await store.principals(org, role.id, firstPage), {
      items: [
        { type: 'team', id: team, name: 'team111', displayName: 'team111' },
        { type: 'team', id: secondTeam, name: 'team112', displayName: 'team112' },
        { type: 'user', id: 1, name: 'account1', displayName: 'Person 1', viaTeamId: team },
        { type: 'user', id: 2, name: 'account2', displayName: 'Person 2', viaTeamId: secondTeam },
      ],
      total: 4,
    })
    const second = await store.principals(org, role.id, { page: 2, limit: 3 })
    t.deepEqual([second.items.map(({ id }) => id), second.total], [[2], 4])
  })

  onBench('only teams of the organization can be taken', async (t, { store }) => {
    t.deepEqual([...(await store.lockTeams(org, [team, otherTeam, 999 as TeamId]))], [team])
    t.deepEqual([...(await store.lockTeams(otherOrg, [team, otherTeam]))], [otherTeam])
    t.deepEqual([...(await store.lockTeams(org, []))], [])
  })
})
