import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { storeWorld } from '../authz/stored-world.ts'
import type { World } from '../authz/world.ts'
import { eachDatabase } from '../support/databases.ts'
import { clusterStoreSuite } from './cluster-store.suite.ts'

const organization = (id: number, members: readonly number[]): World['orgs'][number] => ({ id, visibility: 'private', members, teams: [], roles: [], grants: [] })

const world: World = {
  users: [1, 2, 3],
  orgs: [
    organization(11, [1, 2]),
    organization(12, [2]),
    {
      ...organization(13, [1, 2]),
      teams: [{ id: 131, permission: 'none', members: [1, 3], roleIds: [] }],
      grants: [
        { objectType: 'cluster', objectId: 501, relation: 'viewer', subjectType: 'user', subjectId: 2 },
        { objectType: 'cluster', objectId: 501, relation: 'viewer', subjectType: 'user', subjectId: 3 },
        { objectType: 'cluster', objectId: 502, relation: 'viewer', subjectType: 'team', subjectId: 131 },
      ],
    },
  ],
  clusters: [
    { id: 501, ownerId: 13 },
    { id: 502, ownerId: 13 },
  ],
  tokens: [],
}

for (const database of eachDatabase()) {
  clusterStoreSuite(database.name, async () => {
    const db = await database.open()
    await storeWorld(db, world)
    return { store: makeSqlClusterStore(db)(db), close: () => db.close() }
  })
}
