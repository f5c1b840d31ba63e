import test from 'ava'
import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import { eachDatabase } from '../support/databases.ts'
import { objectRows } from '../support/object-rows.ts'
import { callBy, principal } from './callers.ts'
import { catalogue, schema } from './catalogue.ts'
import { walk, walkWithin } from './naive-walk.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'
import { clusterNameOf, nameOf } from './account-names.ts'
import { anyFixture, questionsOf, fixtureUsers } from './fixture.ts'
import { repeats } from '../support/thorough.ts'

const accountsOf = (fixture: Fixture, userId: number) => [
  userId,
  ...fixture.orgs.filter(({ members }) => members.includes(userId)).map(({ id }) => id),
]

/** Every object that a route can name, by its locator. */
const locatorsOf = (fixture: Fixture): readonly { locator: ObjectLocator; type: string; id: number }[] => [
  ...fixture.orgs.flatMap(({ id, teams, roles }) => [
    { locator: { type: 'organization' as const, name: nameOf(id) }, type: 'organization', id },
    ...teams.map((team) => ({ locator: { type: 'team' as const, id: team.id }, type: 'team', id: team.id })),
    ...roles.map((role) => ({
      locator: { type: 'role' as const, id: role.id, account: nameOf(id) },
      type: 'role',
      id: role.id,
    })),
  ]),
  ...fixture.clusters.map(({ id, ownerId }) => ({
    locator: { type: 'cluster' as const, account: nameOf(ownerId), name: clusterNameOf(id) },
    type: 'cluster',
    id,
  })),
]

const parts = (db: SqlDatabase) => {
  const facts = makeSqlAuthorizationFacts(db, catalogue.objectTypes, objectRows)(db)
  return {
    facts,
    authorizer: makeAuthorizer({ schema, facts, clock: { now: () => new Date() } }),
    list: makeListAllowedPermissions({ schema, facts }),
  }
}

/** Asks within one account as the routes do: authorization first, then the questions. */
const ask = async (db: SqlDatabase, userId: number, accountId: number, objects: ReturnType<typeof questionsOf>) => {
  const { authorizer, list } = parts(db)
  const caller = principal(userId)
  const grant = await authorizer.authorize(caller, { type: 'account', name: nameOf(accountId) }, 'member')
  if (!isRight(grant)) throw new Error(`${userId} is no member of ${accountId}`)
  const answers = await list(callBy(caller), { context: grant.right.context, objects, isBatch: true })
  if (!isRight(answers)) throw new Error(answers.left.message)
  return answers.right
}

for (const database of eachDatabase()) {
  const fixtures = database.name === 'sqlite' ? repeats(16, 60) : repeats(4, 12)

  test(`${database.name}: a batch agrees with a naive walk over the fixture`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyFixture, async (fixture) => {
        const db = await database.open()
        try {
          await storeFixture(db, fixture)
          for (const userId of fixtureUsers) {
            for (const accountId of accountsOf(fixture, userId)) {
              const questions = questionsOf(fixture, userId)
              const expected = questions.map(({ objectType, objectID }) => ({
                type: objectType,
                id: objectID,
                relations: walkWithin(fixture, accountId, userId, objectType, objectID),
              }))
              t.deepEqual(await ask(db, userId, accountId, questions), expected)
            }
          }
        } finally {
          await db.close()
        }
      }),
      { numRuns: fixtures },
    )
  })

  test(`${database.name}: single, batch and route checks agree`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyFixture, fc.constantFrom(...fixtureUsers), async (fixture, userId) => {
        const db = await database.open()
        try {
          await storeFixture(db, fixture)
          const { authorizer } = parts(db)
          for (const { locator, type, id } of locatorsOf(fixture)) {
            const held = walk(fixture, userId, type, id)
            for (const relation of schema.types.get(type)?.relations ?? []) {
              const decided = await authorizer.authorize(principal(userId), locator, relation)
              t.is(isRight(decided), held.includes(relation), `${userId} ${relation} ${type} ${id}`)
            }
          }
          for (const accountId of accountsOf(fixture, userId)) {
            const questions = questionsOf(fixture, userId)
            const batch = await ask(db, userId, accountId, questions)
            const singles = await Promise.all(questions.map((question) => ask(db, userId, accountId, [question])))
            t.deepEqual(singles.flat(), [...batch])
          }
        } finally {
          await db.close()
        }
      }),
      { numRuns: Math.ceil(fixtures / 4) },
    )
  })
}
