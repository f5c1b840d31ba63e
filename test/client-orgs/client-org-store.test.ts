import { makeSqlClientOrgStore } from '../../adapters/sql/client-orgs/client-org-store.ts'
import { eachDatabase } from '../support/databases.ts'
import { declareSuite } from '../support/declare-suite.ts'
import { clientOrgStoreSuite } from './client-org-store.suite.ts'

for (const database of eachDatabase()) {
  declareSuite(clientOrgStoreSuite, database.name, async () => {
    const db = await database.open()
    return { store: makeSqlClientOrgStore(db)(db), close: () => db.close() }
  })
}
