import { eachDatabase } from '../support/databases.ts'
import { makeIdentityWorld } from './identity-world.ts'
import { secondFactorStoreSuite } from './second-factor-store.suite.ts'

for (const database of eachDatabase()) {
  secondFactorStoreSuite(database.name, async () => {
    const db = await database.open()
    const world = makeIdentityWorld(db)
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    const { secondFactors, users } = world.deps.stores
    return { store: secondFactors, ada: ada.id, bob: bob.id, removeUser: (id) => users.remove(id), close: () => db.close() }
  })
}
