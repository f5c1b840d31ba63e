import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import { eachDatabase } from '../support/databases.ts'
import { siteStoresSuite } from './site-stores.suite.ts'
import { heldObjects } from '../support/object-rows.ts'

for (const database of eachDatabase()) {
  siteStoresSuite(database.name, async () => {
    const db = await database.open()
    return { stores: makeSqlIdentityStores(db, heldObjects(db))(db), close: () => db.close() }
  })
}
