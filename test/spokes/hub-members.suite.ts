import type { AccountId } from '../../core/kernel/ids.ts'
import type { HubMember, HubMembers } from '../../core/hubs/spokes/ports.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import type { Fixture } from '../authz/fixture.ts'

/** What the suite expects to be stored. The name of an account is `n` and its id, that of a team `team` and its id. */
export const hubMembersFixture = {
  /** Persons 1 to 305. Person 304 may not sign in, and 305 is deactivated. */
  people: Array.from({ length: 305 }, (_, index) => index + 1),
  /** All persons but 303 are members; team 1002 has person 303 all the same. */
  organization: {
    id: 900,
    teams: [
      { id: 1001, members: [1, 2] },
      { id: 1002, members: [2, 303] },
    ],
  },
  /** Person 1 is its only member, in its team 1011. */
  other: { id: 901, team: 1011 },
} as const

export interface HubMembersBench {
  readonly members: HubMembers
  close(): Promise<void>
}

const { people, organization, other } = hubMembersFixture
const empty = { visibility: 'private', roles: [], grants: [] } as const
const fixture: Fixture = {
  users: people,
  orgs: [
    {
      ...empty,
      id: organization.id,
      members: people.filter((id) => id !== 303),
      teams: organization.teams.map((team) => ({ ...team, permission: 'read' as const, roleIds: [] })),
    },
    {
      ...empty,
      id: other.id,
      members: [1],
      teams: [{ id: other.team, permission: 'owner' as const, members: [1], roleIds: [] }],
    },
  ],
  clusters: [],
  tokens: [],
}

const about: SuiteAbout = {
  name: 'hub-members',
  ports: ['HubMembers'],
  needs: 'The people and organizations of `hubMembersFixture`, which the file exports.',
  fill: async (database) => {
    await storeFixture(database, fixture)
    await database.query((k) => k('users').where('id', 304).update({ prohibit_login: 1 }))
    await database.query((k) => k('users').where('id', 305).update({ is_active: 0 }))
    // A robot account of the organization is a member, and no person.
    await database.query((k) =>
      k('accounts').insert({ id: 950, kind: 'user', name: 'n900+robot', lower_name: 'n900+robot', created_at: 1 }),
    )
    await database.query((k) =>
      k('users').insert({ id: 950, full_name: '', password_hash: '', robot_org_id: organization.id, created_at: 1 }),
    )
    await database.query((k) => k('org_members').insert({ org_id: organization.id, user_id: 950, created_at: 1 }))
  },
}

/** The contract of HubMembers. */
export const hubMembersSuite = contractSuite<HubMembersBench>(about, (onBench) => {
  const listOf = (members: HubMembers, id: number): Promise<readonly HubMember[]> => members.listOf(id as AccountId)

  onBench(
    'every member who may sign in is listed once, by id, with the teams of this organization',
    async (t, { members }) => {
      const found = await listOf(members, hubMembersFixture.organization.id)
      t.deepEqual(
        found.map(({ userId }) => Number(userId)),
        hubMembersFixture.people.filter((id) => id <= 302),
      )
      t.like(found[0], { teams: ['team1001'] })
      t.like(found[1], { teams: ['team1001', 'team1002'] })
      t.deepEqual(found[2]?.teams, [])
      t.true(found.every(({ login }) => login !== ''))
    },
  )

  onBench('the members of another organization are its own', async (t, { members }) => {
    const [member, ...others] = await listOf(members, hubMembersFixture.other.id)
    t.like(member, { userId: 1, teams: ['team1011'] })
    t.deepEqual(others, [])
  })

  onBench(
    'the account of a person has that person alone; one who may not sign in is not listed',
    async (t, { members }) => {
      t.deepEqual(
        (await listOf(members, 1)).map(({ userId, teams }) => [userId, teams]),
        [[1, []]],
      )
      t.deepEqual([await listOf(members, 304), await listOf(members, 305), await listOf(members, 4711)], [[], [], []])
    },
  )
})
