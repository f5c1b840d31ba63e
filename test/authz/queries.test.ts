import test from 'ava'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import { eachDatabase } from '../support/databases.ts'
import { objectRows } from '../support/object-rows.ts'
import { unwrap } from '../support/outcome.ts'
import { callBy, principal } from './callers.ts'
import { catalogue, schema } from './catalogue.ts'
import { countingRunner } from './counting-runner.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

const userId = 1
const orgId = 11
const clusterIds = Array.from({ length: 500 }, (_, index) => 11_000 + index)
const teamIds = Array.from({ length: 20 }, (_, index) => 1_000 + index)

/** Someone in twenty teams with a role each, and five hundred clusters. */
const fixture: Fixture = {
  users: [userId],
  orgs: [
    {
      id: orgId,
      visibility: 'private',
      members: [userId],
      teams: teamIds.map((id) => ({ id, permission: 'custom', members: [userId], roleIds: [1101] })),
      roles: [{ id: 1101, permissions: ['cluster_mgmt/view clusters', 'org_mgmt/view teams', 'org_mgmt/edit roles'] }],
      grants: clusterIds.map((objectId) => ({
        objectType: 'cluster',
        objectId,
        relation: 'editor',
        subjectType: 'user',
        subjectId: userId,
      })),
    },
  ],
  clusters: clusterIds.map((id) => ({ id, ownerId: orgId })),
  tokens: [{ id: 5, userId }],
}

for (const database of eachDatabase()) {
  test(`${database.name}: a batch takes at most two more queries for each type`, async (t) => {
    const db = await database.open()
    try {
      await storeFixture(db, fixture)
      const runner = countingRunner(db)
      const facts = makeSqlAuthorizationFacts(db, catalogue.objectTypes, objectRows)(runner)
      const authorizer = makeAuthorizer({ schema, facts, clock: { now: () => new Date() } })
      const list = makeListAllowedPermissions({ schema, facts })
      const caller = principal(userId)

      const locators: readonly ObjectLocator[] = [
        { type: 'organization', name: 'account11' },
        { type: 'account', name: 'account11' },
        { type: 'team', id: 1_000 },
        { type: 'role', id: 1101, account: 'account11' },
        { type: 'cluster', account: 'account11', name: 'cluster-11001' },
      ]
      for (const locator of locators) {
        t.is((await authorizer.authorize(caller, locator, 'can_view'))._tag, 'Right', locator.type)
        t.is(runner.taken(), 1, locator.type)
      }

      const { context } = unwrap(await authorizer.authorize(caller, { type: 'account', name: 'account11' }, 'member'))
      const clusters = clusterIds.map((objectID) => ({ objectType: 'cluster', objectID }))
      const others = [
        { objectType: 'organization', objectID: orgId },
        { objectType: 'team', objectID: 1_000 },
        { objectType: 'token', objectID: 5 },
        { objectType: 'user', objectID: userId },
        { objectType: 'contract', objectID: 1 },
      ]
      const taken = async (objects: typeof clusters): Promise<number> => {
        runner.taken()
        unwrap(await list(callBy(caller), { context, objects, isBatch: true }))
        return runner.taken()
      }
      t.is(await taken(clusters.slice(0, 1)), 2)
      t.is(await taken(clusters.slice(0, 50)), 2)
      t.is(await taken(clusters), 2)
      t.true((await taken([...clusters.slice(0, 400), ...others])) <= 2 * 6)
      t.is(await taken([]), 0)
    } finally {
      await db.close()
    }
  })
}
