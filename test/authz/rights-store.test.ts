import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { eachDatabase } from '../support/databases.ts'
import { rightsStoreSuite } from './rights-store.suite.ts'
import { storeWorld } from './stored-world.ts'
import type { World } from './world.ts'
import { declareSuite } from '../support/declare-suite.ts'

const world: World = {
  users: [1, 2, 3, 4],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [1, 2],
      teams: [
        { id: 111, permission: 'owner', members: [1, 3], roleIds: [] },
        { id: 112, permission: 'custom', members: [2], roleIds: [1101] },
      ],
      roles: [{ id: 1101, permissions: ['org_mgmt/view'] }],
      grants: [],
    },
    {
      id: 12,
      visibility: 'private',
      members: [1],
      teams: [{ id: 121, permission: 'read', members: [1, 2], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [],
  tokens: [],
}

for (const database of eachDatabase()) {
  declareSuite(rightsStoreSuite, database.name, async () => {
    const db = await database.open()
    await storeWorld(db, world)
    const change = async (id: number, to: Readonly<Record<string, number>>): Promise<void> => {
      await db.query((k) => k('users').where({ id }).update(to))
    }
    await change(4, { is_admin: 1 })
    return {
      store: makeSqlRightsStore(db)(db),
      disable: (id) => change(id, { is_active: 0 }),
      prohibit: (id) => change(id, { prohibit_login: 1 }),
      close: () => db.close(),
    }
  })
}
