import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { storeWorld } from '../authz/stored-world.ts'
import { eachDatabase } from '../support/databases.ts'
import { cloudCredentialStoreSuite } from './cloud-credential-store.suite.ts'

for (const database of eachDatabase()) {
  cloudCredentialStoreSuite(database.name, async () => {
    const db = await database.open()
    await storeWorld(db, { users: [1, 2], orgs: [], clusters: [], tokens: [] })
    return {
      store: makeSqlCloudCredentialStore(db)(db),
      user: 1 as UserId,
      other: 2 as UserId,
      removeUser: async (user) => void (await db.query((k) => k('accounts').where('id', user).delete())),
      close: () => db.close(),
    }
  })
}
