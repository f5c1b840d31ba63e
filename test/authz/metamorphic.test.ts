import test from 'ava'
import fc from 'fast-check'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { callBy, principal } from './callers.ts'
import { catalogue } from './catalogue.ts'
import { makeRoleFixture } from './role.fixture.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture, FixtureGrant, FixtureOrg, FixtureTeam } from './fixture.ts'
import { anyFixture, questionsOf, fixtureUsers } from './fixture.ts'
import { repeats } from '../support/thorough.ts'

const orgId = 11
const otherOrgId = 12

type Change = (org: FixtureOrg) => FixtureOrg
const onTeam =
  (index: number, change: (team: FixtureTeam) => FixtureTeam): Change =>
  (org) => ({
    ...org,
    teams: org.teams.map((team, at) => (at === index ? change(team) : team)),
  })
const added = <A>(items: readonly A[], item: A): readonly A[] => (items.includes(item) ? items : [...items, item])

/** Changes that give something: a membership, a place in a team, a role, a permission, a grant, a higher level. */
const giving: fc.Arbitrary<Change> = fc.oneof(
  fc.constantFrom(...fixtureUsers).map((user): Change => (org) => ({ ...org, members: added(org.members, user) })),
  fc
    .tuple(fc.nat(2), fc.constantFrom(...fixtureUsers))
    .map(([index, user]) => onTeam(index, (team) => ({ ...team, members: added(team.members, user) }))),
  fc
    .tuple(fc.nat(2), fc.constantFrom(1101, 1102))
    .map(([index, role]) => onTeam(index, (team) => ({ ...team, roleIds: added(team.roleIds, role) }))),
  fc.nat(2).map((index) => onTeam(index, (team) => ({ ...team, permission: 'owner' }))),
  fc.constantFrom(...catalogue.permissions).map(({ namespace, action }): Change => (org) => ({
    ...org,
    roles: org.roles.map((role) => ({ ...role, permissions: added(role.permissions, `${namespace}/${action}`) })),
  })),
  fc.constantFrom(...fixtureUsers).map((subjectId): Change => (org) => ({
    ...org,
    grants: [
      ...org.grants.filter((one) => !isEditorGrant(one, subjectId)),
      { objectType: 'cluster', objectId: 11_001, relation: 'editor', subjectType: 'user', subjectId },
    ],
  })),
)

const isEditorGrant = (one: FixtureGrant, subjectId: number): boolean =>
  one.objectType === 'cluster' &&
  one.objectId === 11_001 &&
  one.relation === 'editor' &&
  one.subjectType === 'user' &&
  one.subjectId === subjectId

const changed = (fixture: Fixture, id: number, change: Change): Fixture => ({
  ...fixture,
  orgs: fixture.orgs.map((org) => (org.id === id ? change(org) : org)),
})

/** The first organization changed; a grant that it may now have stands under no other, since it is one row. */
const given = (fixture: Fixture, change: Change): Fixture =>
  changed(changed(fixture, orgId, change), otherOrgId, (org) => ({
    ...org,
    grants: org.grants.filter((one) => !fixtureUsers.some((user) => isEditorGrant(one, user))),
  }))

for (const database of eachDatabase()) {
  const runs = database.name === 'sqlite' ? repeats(16, 60) : repeats(4, 8)

  const within = async <A>(fixture: Fixture, use: (db: SqlDatabase) => Promise<A>): Promise<A> => {
    const db = await database.open()
    try {
      await storeFixture(db, fixture)
      return await use(db)
    } finally {
      await db.close()
    }
  }

  /** What a person holds on each question, asked within the first organization, also as no member of it. */
  const answers = (fixture: Fixture, userId: number, questions = questionsOf(fixture, userId)) =>
    within(fixture, async (db) => {
      const bench = makeRoleFixture(db)
      const context = await bench.context(userId, orgId)
      return unwrap(await bench.list(callBy(principal(userId)), { context, objects: questions, isBatch: true }))
    })

  test(`${database.name}: giving something takes nothing away`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyFixture, fc.constantFrom(...fixtureUsers), giving, async (fixture, userId, change) => {
        const before = await answers(fixture, userId)
        const after = await answers(given(fixture, change), userId)
        for (const [index, { relations, ...object }] of before.entries()) {
          const now = after[index]?.relations ?? []
          t.deepEqual(
            relations.filter((relation) => !now.includes(relation)),
            [],
            JSON.stringify(object),
          )
        }
      }),
      { numRuns: runs },
    )
  })

  test(`${database.name}: another organization's data never changes an answer`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyFixture, anyFixture, fc.constantFrom(...fixtureUsers), async (fixture, another, userId) => {
        const other = another.orgs.find(({ id }) => id === otherOrgId)
        // Its grants must not be the same rows as this organization's.
        const taken = new Set(fixture.orgs.flatMap(({ grants }) => grants.map((one) => JSON.stringify({ ...one }))))
        const mixed = changed(fixture, otherOrgId, (org) =>
          other ? { ...other, grants: other.grants.filter((one) => !taken.has(JSON.stringify({ ...one }))) } : org,
        )
        t.deepEqual(await answers(mixed, userId), await answers(fixture, userId))
      }),
      { numRuns: runs },
    )
  })

  test(`${database.name}: permuted and repeated questions get permuted answers`, async (t) => {
    const orders = fc.array(fc.nat(30), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(anyFixture, fc.constantFrom(...fixtureUsers), orders, async (fixture, userId, order) => {
        const questions = questionsOf(fixture, userId)
        const plain = await answers(fixture, userId)
        const chosen = order.map((index) => index % questions.length)
        const asked = chosen.flatMap((index) => questions[index] ?? [])
        t.deepEqual(
          await answers(fixture, userId, asked),
          chosen.flatMap((index) => plain[index] ?? []),
        )
      }),
      { numRuns: runs },
    )
  })

  test(`${database.name}: removing the only path removes the relation at once`, async (t) => {
    const userId = 1
    const base: Fixture = {
      users: [userId],
      orgs: [
        {
          id: orgId,
          visibility: 'private',
          members: [userId],
          teams: [{ id: 111, permission: 'custom', members: [userId], roleIds: [1101] }],
          roles: [{ id: 1101, permissions: ['cluster_mgmt/view clusters'] }],
          grants: [],
        },
      ],
      clusters: [{ id: 11_001, ownerId: orgId }],
      tokens: [],
    }
    const removals = ['org_members', 'team_members', 'teams', 'team_roles', 'role_permissions', 'roles']
    for (const table of removals) {
      await within(base, async (db) => {
        const { authorizer } = makeRoleFixture(db)
        const decide = () =>
          authorizer.authorize(
            principal(userId),
            { type: 'cluster', account: 'account11', name: 'cluster-11001' },
            'can_view',
          )
        t.is((await decide())._tag, 'Right')
        await db.query((k) => k(table).delete())
        t.is((await decide())._tag, 'Left', table)
      })
    }
  })
}
