import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlUsageClusterStore, makeSqlUsageKindStore } from '../../../adapters/sql/usage/cluster-store.ts'
import { makeSqlClusterFactStore } from '../../../adapters/sql/usage/fact-store.ts'
import { makeSqlUsageIntervalStore, makeSqlUsageUpkeepStore } from '../../../adapters/sql/usage/interval-store.ts'
import { makeSqlUsageChangeStore, makeSqlUsageObjectStore } from '../../../adapters/sql/usage/object-store.ts'
import { makeSqlUsageRetention } from '../../../adapters/sql/usage/retention.ts'
import { CachesToken } from '../../../core/kernel/cache.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import { UsageClusterStoreToken, UsageEventUnitOfWorkToken, UsageKindStoreToken, UsageRetentionToken, UsageUpkeepUnitOfWorkToken } from '../../../core/usage/events/ports.ts'
import { makeRecentlyHeard } from '../../../core/usage/events/recently-heard.ts'
import { makeRecordEvents } from '../../../core/usage/events/recording.ts'
import { EventReportsToken, makeEventReports, newEventTally, UsageEventTallyToken } from '../../../core/usage/events/reports.ts'
import type { Provide } from '../../boot.ts'

/** Events are what is reported, not what a person changes: they have tables of their own, and no rows in the audit log. */
const unaudited = () => ({ record: async () => undefined })

/** Provides the events of usage. */
export const provideUsageEvents: Provide = (container, { database }) => {
  const clusters = makeSqlUsageClusterStore(database)
  const objects = makeSqlUsageObjectStore(database)
  const changes = makeSqlUsageChangeStore(database)
  const intervals = makeSqlUsageIntervalStore(database)
  const facts = makeSqlClusterFactStore(database)
  const upkeep = makeSqlUsageUpkeepStore(database)
  container.provide(UsageClusterStoreToken, () => clusters(database))
  container.provide(UsageKindStoreToken, () => makeSqlUsageKindStore(database))
  container.provide(UsageRetentionToken, () => makeSqlUsageRetention(database))
  container.provide(UsageEventUnitOfWorkToken, () =>
    makeSqlUnitOfWork(database, (tx) => ({ clusters: clusters(tx), objects: objects(tx), changes: changes(tx), intervals: intervals(tx), facts: facts(tx) }), unaudited),
  )
  container.provide(UsageUpkeepUnitOfWorkToken, () => makeSqlUnitOfWork(database, (tx) => ({ clusters: clusters(tx), upkeep: upkeep(tx) }), unaudited))
  container.provideValue(UsageEventTallyToken, newEventTally())
  container.provide(EventReportsToken, (resolve) => {
    const [clock, caches] = [resolve(ClockToken), resolve(CachesToken)]
    const recent = makeRecentlyHeard(caches)
    return makeEventReports({
      clusters: resolve(UsageClusterStoreToken),
      clock,
      caches,
      ownCall: makeOwnCall(resolve(EntropyToken)),
      recent,
      recordEvents: makeRecordEvents({ clock, kinds: resolve(UsageKindStoreToken), unitOfWork: resolve(UsageEventUnitOfWorkToken), recent }),
      tally: resolve(UsageEventTallyToken),
    })
  })
}
