import test from 'ava'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { makeSqlClaimStore } from '../../adapters/sql/marketplace/claim-store.ts'
import { makeSqlInstallerStore } from '../../adapters/sql/marketplace/installer-store.ts'
import { makeSqlNotificationInbox, makeSqlSigningKeyStore } from '../../adapters/sql/marketplace/notification-inbox.ts'
import { makeSqlSubscriptionStore } from '../../adapters/sql/marketplace/subscription-store.ts'
import { secret } from '../../core/kernel/secret.ts'
import { eachDatabase } from '../support/databases.ts'
import { declareSuite } from '../support/declare-suite.ts'
import { marketplaceStoresSuite } from './stores.suite.ts'

const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)

for (const database of eachDatabase()) {
  declareSuite(marketplaceStoresSuite, database.name, async () => {
    const db = await database.open()
    return {
      subscriptions: makeSqlSubscriptionStore(db, secretBox)(db),
      installers: makeSqlInstallerStore(db)(db),
      claims: makeSqlClaimStore(db)(db),
      inbox: makeSqlNotificationInbox(db)(db),
      close: () => db.close(),
    }
  })

  test(`${database.name}: of several that need a signing key at once, all get the same`, async (t) => {
    const db = await database.open()
    try {
      const keys = makeSqlSigningKeyStore(db, secretBox)
      let made = 0
      const obtain = () => keys.obtain(async () => secret(`key ${(made += 1)}`))
      const found = await Promise.all([obtain(), obtain(), obtain()])
      t.is(new Set(found.map((key) => key.reveal())).size, 1)
      t.is((await obtain()).reveal(), found[0]?.reveal())
    } finally {
      await db.close()
    }
  })
}
