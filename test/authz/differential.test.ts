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
import { storeWorld } from './stored-world.ts'
import type { World } from './world.ts'
import { clusterNameOf, nameOf } from './account-names.ts'
import { anyWorld, questionsOf, worldUsers } from './world.ts'

const accountsOf = (world: World, userId: number) => [
  userId,
  ...world.orgs.filter(({ members }) => members.includes(userId)).map(({ id }) => id),
]

/** Every object that a route can name, by its locator. */
const locatorsOf = (world: World): readonly { locator: ObjectLocator; type: string; id: number }[] => [
  ...world.orgs.flatMap(({ id, teams, roles }) => [
    { locator: { type: 'organization' as const, name: nameOf(id) }, type: 'organization', id },
    ...teams.map((team) => ({ locator: { type: 'team' as const, id: team.id }, type: 'team', id: team.id })),
    ...roles.map((role) => ({
      locator: { type: 'role' as const, id: role.id, account: nameOf(id) },
      type: 'role',
      id: role.id,
    })),
  ]),
  ...world.clusters.map(({ id, ownerId }) => ({
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
  const worlds = database.name === 'sqlite' ? 40 : 12

  test(`${database.name}: a batch answers what a naive walk over the world finds`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const db = await database.open()
        try {
          await storeWorld(db, world)
          for (const userId of worldUsers) {
            for (const accountId of accountsOf(world, userId)) {
              const questions = questionsOf(world, userId)
              const expected = questions.map(({ objectType, objectID }) => ({
                type: objectType,
                id: objectID,
                relations: walkWithin(world, accountId, userId, objectType, objectID),
              }))
              t.deepEqual(await ask(db, userId, accountId, questions), expected)
            }
          }
        } finally {
          await db.close()
        }
      }),
      { numRuns: worlds },
    )
  })

  test(`${database.name}: single, batch and route checks agree on every object and relation`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyWorld, fc.constantFrom(...worldUsers), async (world, userId) => {
        const db = await database.open()
        try {
          await storeWorld(db, world)
          const { authorizer } = parts(db)
          for (const { locator, type, id } of locatorsOf(world)) {
            const held = walk(world, userId, type, id)
            for (const relation of schema.types.get(type)?.relations ?? []) {
              const decided = await authorizer.authorize(principal(userId), locator, relation)
              t.is(isRight(decided), held.includes(relation), `${userId} ${relation} ${type} ${id}`)
            }
          }
          for (const accountId of accountsOf(world, userId)) {
            const questions = questionsOf(world, userId)
            const batch = await ask(db, userId, accountId, questions)
            const singles = await Promise.all(questions.map((question) => ask(db, userId, accountId, [question])))
            t.deepEqual(singles.flat(), [...batch])
          }
        } finally {
          await db.close()
        }
      }),
      { numRuns: Math.ceil(worlds / 4) },
    )
  })
}
