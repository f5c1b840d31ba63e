import fc from 'fast-check'
import { catalogue } from './catalogue.ts'

/** A small model of everything that authorization reads. Ids are unique over all kinds of account, team and so on. */
export interface Fixture {
  readonly users: readonly number[]
  readonly orgs: readonly FixtureOrg[]
  /** Each belongs to a user or an organization. */
  readonly clusters: readonly { readonly id: number; readonly ownerId: number }[]
  readonly tokens: readonly { readonly id: number; readonly userId: number }[]
}

export interface FixtureOrg {
  readonly id: number
  readonly visibility: 'public' | 'limited' | 'private'
  readonly members: readonly number[]
  readonly teams: readonly FixtureTeam[]
  readonly roles: readonly FixtureRole[]
  readonly grants: readonly FixtureGrant[]
}

export interface FixtureTeam {
  readonly id: number
  readonly permission: 'none' | 'read' | 'write' | 'admin' | 'owner' | 'custom'
  /** May name people who are no members of the organization, as rows of a race would. */
  readonly members: readonly number[]
  readonly roleIds: readonly number[]
}

interface FixtureRole {
  readonly id: number
  /** `namespace/action`. */
  readonly permissions: readonly string[]
}

export interface FixtureGrant {
  readonly objectType: string
  readonly objectId: number
  readonly relation: string
  readonly subjectType: 'user' | 'team'
  readonly subjectId: number
}

export const fixtureUsers = [1, 2, 3] as const
const orgIds = [11, 12] as const
const teamIdsOf = (orgId: number): readonly number[] => [orgId * 10 + 1, orgId * 10 + 2, orgId * 10 + 3]
const roleIdsOf = (orgId: number): readonly number[] => [orgId * 100 + 1, orgId * 100 + 2]
const clusterIdsOf = (ownerId: number): readonly number[] => [ownerId * 1000 + 1, ownerId * 1000 + 2]

const permissionKeys = catalogue.permissions.map(({ namespace, action }) => `${namespace}/${action}`)
const grantable = [
  ...new Set(
    catalogue.objectTypes.flatMap(({ relations }) =>
      Object.values(relations).flatMap((terms) =>
        terms.flatMap((term) => (term.by === 'direct' ? [term.relation] : [])),
      ),
    ),
  ),
]

const team = (id: number, roleIds: readonly number[]): fc.Arbitrary<FixtureTeam> =>
  fc.record({
    id: fc.constant(id),
    permission: fc.constantFrom('none', 'read', 'write', 'admin', 'owner', 'custom', 'custom'),
    members: fc.subarray([...fixtureUsers]),
    roleIds: fc.subarray([...roleIds]),
  })

const grant = (orgId: number): fc.Arbitrary<FixtureGrant> =>
  fc
    .record({
      objectType: fc.constantFrom('cluster', 'team', 'organization'),
      // The other organization's objects too, as a row that ought not to be there.
      objectId: fc.constantFrom(...orgIds.flatMap(clusterIdsOf), ...teamIdsOf(orgId), orgId),
      relation: fc.constantFrom(...grantable, 'nothing_known'),
      subject: fc.oneof(
        fc.record({ subjectType: fc.constant('user' as const), subjectId: fc.constantFrom(...fixtureUsers) }),
        fc.record({ subjectType: fc.constant('team' as const), subjectId: fc.constantFrom(...teamIdsOf(orgId)) }),
      ),
    })
    .map(({ subject, ...object }) => ({ ...object, ...subject }))

const org = (id: number): fc.Arbitrary<FixtureOrg> =>
  fc.record({
    id: fc.constant(id),
    visibility: fc.constantFrom('public', 'limited', 'private'),
    members: fc.subarray([...fixtureUsers]),
    teams: fc.tuple(...teamIdsOf(id).map((teamId) => team(teamId, roleIdsOf(id)))),
    roles: fc.tuple(
      ...roleIdsOf(id).map((roleId) =>
        fc.record({ id: fc.constant(roleId), permissions: fc.subarray(permissionKeys, { maxLength: 4 }) }),
      ),
    ),
    grants: fc.uniqueArray(grant(id), { maxLength: 6, selector: (one) => JSON.stringify(one) }),
  })

/** A grant is one row, whichever organization it stands under. */
const withGrantsOnce = (orgs: readonly FixtureOrg[]): readonly FixtureOrg[] => {
  const seen = new Set<string>()
  const isFirst = (one: FixtureGrant): boolean => {
    const { objectType, objectId, relation, subjectType, subjectId } = one
    const key = [objectType, objectId, relation, subjectType, subjectId].join()
    return !seen.has(key) && seen.add(key).has(key)
  }
  return orgs.map((one) => ({ ...one, grants: one.grants.filter(isFirst) }))
}

/** Worlds of three people, two organizations with three teams and two roles each, clusters and tokens. */
export const anyFixture: fc.Arbitrary<Fixture> = fc.tuple(...orgIds.map(org)).map((orgs) => ({
  users: fixtureUsers,
  orgs: withGrantsOnce(orgs),
  clusters: [...fixtureUsers, ...orgIds].flatMap((ownerId) => clusterIdsOf(ownerId).map((id) => ({ id, ownerId }))),
  tokens: fixtureUsers.map((userId) => ({ id: userId * 7, userId })),
}))

/** Every object of a fixture, and some that do not exist, as questions. */
export const questionsOf = (fixture: Fixture, userId: number): readonly { objectType: string; objectID: number }[] => [
  { objectType: 'user', objectID: userId },
  ...fixture.orgs.flatMap((one) => [
    { objectType: 'organization', objectID: one.id },
    ...one.teams.map(({ id }) => ({ objectType: 'team', objectID: id })),
  ]),
  ...fixture.clusters.map(({ id }) => ({ objectType: 'cluster', objectID: id })),
  ...fixture.tokens.map(({ id }) => ({ objectType: 'token', objectID: id })),
  ...['organization', 'team', 'cluster', 'token', 'contract', 'robot_ac'].map((objectType) => ({
    objectType,
    objectID: 999_999,
  })),
]
