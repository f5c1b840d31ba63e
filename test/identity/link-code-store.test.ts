import { eachDatabase } from '../support/databases.ts'
import { makeIdentityWorld } from './identity-world.ts'
import { linkCodeStoreSuite } from './link-code-store.suite.ts'

for (const database of eachDatabase())
  linkCodeStoreSuite(database.name, async () => {
    const db = await database.open()
    const world = makeIdentityWorld(db)
    const [ada, eve] = [await world.user('ada'), await world.user('eve')]
    return { codes: world.deps.stores.linkCodes, ada: ada.id, eve: eve.id, close: () => db.close() }
  })
