import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import { eachDatabase } from '../support/databases.ts'
import { roleStoreSuite } from './role-store.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

for (const database of eachDatabase()) {
  declareSuite(roleStoreSuite, database.name, async () => {
    const db = await database.open()
    await roleStoreSuite.fill?.(db)
    return { store: makeSqlRoleStore(db)(db), close: () => db.close() }
  })
}
