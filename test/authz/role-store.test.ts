import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import { eachDatabase } from '../support/databases.ts'
import { roleStoreSuite } from './role-store.suite.ts'
import { storeWorld } from './stored-world.ts'
import type { World } from './world.ts'
import { declareSuite } from '../support/declare-suite.ts'

/** Two organizations; user 3 is still in a team, but no member any more. */
const world: World = {
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

for (const database of eachDatabase()) {
  declareSuite(roleStoreSuite, database.name, async () => {
    const db = await database.open()
    await storeWorld(db, world)
    return { store: makeSqlRoleStore(db)(db), close: () => db.close() }
  })
}
