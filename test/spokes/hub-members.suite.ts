import type { AccountId } from '../../core/kernel/ids.ts'
import type { HubMember, HubMembers } from '../../core/spokes/ports.ts'
import type { SuiteAbout } from '../../composition/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/port-tests/contract-suite.ts'

/** What the suite expects to be stored. The name of an account is `n` and its id, that of a team `team` and its id. */
export const hubMembersWorld = {
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

const about: SuiteAbout = {
  name: 'hub-members',
  ports: ['HubMembers'],
  needs: 'The people and organizations of `hubMembersWorld`, which the file exports.',
}

/** The contract of HubMembers. */
export const hubMembersSuite = contractSuite<HubMembersBench>(about, (onBench) => {
  const listOf = (members: HubMembers, id: number): Promise<readonly HubMember[]> => members.listOf(id as AccountId)

  onBench(
    'every member who may sign in is listed once, by id, with the teams of this organization',
    async (t, { members }) => {
      const found = await listOf(members, hubMembersWorld.organization.id)
      t.deepEqual(
        found.map(({ userId }) => Number(userId)),
        hubMembersWorld.people.filter((id) => id <= 302),
      )
      t.like(found[0], { teams: ['team1001'] })
      t.like(found[1], { teams: ['team1001', 'team1002'] })
      t.deepEqual(found[2]?.teams, [])
      t.true(found.every(({ login }) => login !== ''))
    },
  )

  onBench('the members of another organization are its own', async (t, { members }) => {
    const [member, ...others] = await listOf(members, hubMembersWorld.other.id)
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
