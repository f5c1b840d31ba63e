import { makeRe2NamePatterns } from '../../adapters/helm/name-patterns.ts'
import { makeHelmReleaseStore } from '../../adapters/helm/release-store.ts'
import { makeTimeSlices } from '../../adapters/helm/time-slices.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlDriverConfigurationStore } from '../../adapters/sql/packages/driver-configuration-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { makeStorageDriverOf } from '../../core/packages/driver-configuration.ts'
import { DriverConfigurationStoreToken, ReleaseStoreToken, StorageDriverOfToken } from '../../core/packages/ports.ts'
import { DriverUnitOfWorkToken, NamePatternsToken } from '../../core/packages/read-ports.ts'
import type { Provide } from '../boot.ts'

/** Of matching names, before everything else has its turn. */
const sliceMilliseconds = 4

/** Reads of Helm releases, and which driver they use. */
export const providePackages: Provide = (container, { database, onStop }) => {
  const bindStore = makeSqlDriverConfigurationStore(database)
  container.provideValue(NamePatternsToken, makeRe2NamePatterns(makeTimeSlices(sliceMilliseconds)))
  container.provide(ReleaseStoreToken, (resolve) => {
    const store = makeHelmReleaseStore({ clock: resolve(ClockToken) })
    onStop('the thread that reads release records', () => store.close())
    return store
  })
  container.provide(DriverConfigurationStoreToken, () => bindStore(database))
  container.provide(StorageDriverOfToken, (resolve) => makeStorageDriverOf({ drivers: resolve(DriverConfigurationStoreToken) }))
  container.provide(DriverUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(database, (tx, audit) => ({ drivers: bindStore(tx), audit }), makeSqlAuditTrail(database, resolve(AuditChainToken))),
  )
}
