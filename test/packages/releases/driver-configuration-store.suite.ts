import type { DriverConfigurationStore } from '../../../core/packages/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../../composition/runtime/port-tests/contract-suite.ts'

/** A store with two accounts that have set nothing. */
export interface DriverStoreFixture {
  readonly store: DriverConfigurationStore
  readonly account: AccountId
  readonly other: AccountId
  removeAccount(account: AccountId): Promise<void>
  close(): Promise<void>
}

const at = new Date('2026-11-21T08:00:00.123Z')
const later = new Date('2026-11-21T09:00:00.456Z')
const uid = '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11'

const about: SuiteAbout = {
  name: 'driver-configuration-store',
  ports: ['DriverConfigurationStore'],
  needs: 'Two accounts, `account` and `other`, that have set nothing.',
}

/** What every DriverConfigurationStore keeps to; each case has its twin of another account. */
export const driverConfigurationStoreSuite = contractSuite<DriverStoreFixture>(about, (onFixture) => {
  onFixture(
    'what was put is found as it was, by its account and cluster alone',
    async (t, { store, account, other }) => {
      t.is(await store.find(account, uid), undefined)
      const stored = await store.put(account, uid, 'ConfigMap', at)
      t.true(stored.id > 0)
      t.deepEqual(stored, {
        id: stored.id,
        userId: account,
        clusterUid: uid,
        driver: 'ConfigMap',
        createdAt: at,
        updatedAt: at,
      })
      t.deepEqual(await store.find(account, uid), stored)
      t.is(await store.find(other, uid), undefined)
      t.is(await store.find(account, uid.toUpperCase()), undefined)
      t.is(await store.find(account, 'another'), undefined)
    },
  )

  onFixture('a second time replaces the driver and keeps the rest', async (t, { store, account, other }) => {
    const first = await store.put(account, uid, 'ConfigMap', at)
    const theirs = await store.put(other, uid, 'ConfigMap', at)
    t.deepEqual(await store.put(account, uid, 'Secret', later), { ...first, driver: 'Secret', updatedAt: later })
    t.deepEqual(await store.put(account, uid, 'Secret', later), { ...first, driver: 'Secret', updatedAt: later })
    t.deepEqual(await store.find(other, uid), theirs)
    t.not(first.id, theirs.id)
  })

  onFixture('of several at once one row is made', async (t, { store, account }) => {
    const drivers = ['Secret', 'ConfigMap', 'Secret', 'ConfigMap'] as const
    const stored = await Promise.all(drivers.map((driver) => store.put(account, uid, driver, at)))
    t.is(new Set(stored.map(({ id }) => id)).size, 1)
    t.true(drivers.includes((await store.find(account, uid))?.driver as 'Secret'))
  })

  onFixture('settings go with their account', async (t, { store, account, other, removeAccount }) => {
    await store.put(account, uid, 'ConfigMap', at)
    await store.put(other, uid, 'ConfigMap', at)
    await removeAccount(account)
    t.is(await store.find(account, uid), undefined)
    t.is((await store.find(other, uid))?.driver, 'ConfigMap')
  })
})
