import { makeSqlDriverConfigurationStore } from '../../../adapters/sql/packages/driver-configuration-store.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { storeFixture } from '../../authz/stored-fixture.ts'
import { eachDatabase } from '../../support/databases.ts'
import { declareSuite } from '../../support/declare-suite.ts'
import { driverConfigurationStoreSuite } from './driver-configuration-store.suite.ts'

for (const database of eachDatabase()) {
  declareSuite(driverConfigurationStoreSuite, database.name, async () => {
    const db = await database.open()
    await storeFixture(db, { users: [1, 2], orgs: [], clusters: [], tokens: [] })
    return {
      store: makeSqlDriverConfigurationStore(db)(db),
      account: 1 as AccountId,
      other: 2 as AccountId,
      removeAccount: async (account) => void (await db.query((k) => k('accounts').where('id', account).delete())),
      close: () => db.close(),
    }
  })
}
