import {
  makeSqlRegistrationStore,
  makeSqlTenantDirectory,
} from '../../adapters/sql/metrics-proxy/registration-store.ts'
import { eachDatabase } from '../support/databases.ts'
import { declareSuite } from '../support/declare-suite.ts'
import { metricsStoresSuite } from './stores.suite.ts'

for (const database of eachDatabase()) {
  declareSuite(metricsStoresSuite, database.name, async () => {
    const db = await database.open()
    await metricsStoresSuite.fill?.(db)
    return {
      registrations: makeSqlRegistrationStore(db)(db),
      tenants: makeSqlTenantDirectory(db)(db),
      close: () => db.close(),
    }
  })
}
