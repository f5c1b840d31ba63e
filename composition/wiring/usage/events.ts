import { isRight } from 'fp-ts/lib/Either.js'
import { natsServers } from '../../../adapters/bus/nats-connection.ts'
import { makeNatsUsageIntake } from '../../../adapters/bus/nats-usage-intake.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlUnitOfWork, unaudited } from '../../../adapters/sql/engine/unit-of-work.ts'
import {
  makeSqlClusterFactStore,
  makeSqlUsageClusterStore,
  makeSqlUsageKindStore,
} from '../../../adapters/sql/usage/cluster-store.ts'
import {
  makeSqlUsageIntervalStore,
  makeSqlUsageRetention,
  makeSqlUsageUpkeepStore,
} from '../../../adapters/sql/usage/interval-store.ts'
import { makeSqlUsageChangeStore, makeSqlUsageObjectStore } from '../../../adapters/sql/usage/object-store.ts'
import { makeSqlOutageStore } from '../../../adapters/sql/usage/outage-store.ts'
import { makeSqlUsageOverviewStore } from '../../../adapters/sql/usage/overview-store.ts'
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { BusToken } from '../../../core/bus/bus.ts'
import { makeSealedKeys, makeUsageLogin } from '../../../core/bus/keys.ts'
import { BusIdentityStoreToken, BusMintToken } from '../../../core/bus/ports.ts'
import { usageEventsAside, usageEventsOfAll, usageSender } from '../../../core/bus/rights.ts'
import { CachesToken } from '../../../core/kernel/cache.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { isOpen } from '../../../core/kernel/deployment.ts'
import { parseJson } from '../../../core/kernel/json.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import type { EventReport } from '../../../core/usage/events/reports.ts'
import {
  makeHandleUsageMessage,
  UsageCredentialsToken,
  UsageIntakeToken,
  EventReportsToken,
  makeEventReports,
  newEventTally,
  UsageEventTallyToken,
} from '../../../core/usage/events/reports.ts'
import { UsageReportersToken } from '../../../core/usage/events/reporters.ts'
import {
  UsageClusterStoreToken,
  UsageEventUnitOfWorkToken,
  UsageKindStoreToken,
  UsageRetentionToken,
  UsageUpkeepUnitOfWorkToken,
} from '../../../core/usage/events/ports.ts'
import { makeRecentlyHeard } from '../../../core/usage/events/recently-heard.ts'
import { makeRecordEvents } from '../../../core/usage/events/recording.ts'
import type { IntakeSums } from '../../../core/usage/events/intake.ts'
import { IntakeSumsToken, makeIntakeSums } from '../../../core/usage/events/intake.ts'
import type { UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import { UsageOverviewStoreToken } from '../../../core/usage/overview-ports.ts'
import { OutageStoreToken, OutageUnitOfWorkToken } from '../../../core/usage/outages/ports.ts'
import { UsageEventReport } from '../../../plugins/usage/codecs.ts'
import type { Boot, Provide } from '../../boot.ts'
import type { Resolve } from '../../container.ts'

const credentialsSeconds = 24 * 3600
const intakeMilliseconds = 60_000

/** While the server writes two, this process prepares the next. More of them leave fewer events to each. */
const mysqlTransactions = 3

/**
 * Events are what is reported, not what a person changes: they have tables of their own, and no rows in the audit log.
 */
/** Provides the events of usage. */
export const provideUsageEvents: Provide = (container, boot) => {
  const { database } = boot
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
    makeSqlUnitOfWork(
      database,
      (tx) => ({
        clusters: clusters(tx),
        objects: objects(tx),
        changes: changes(tx),
        intervals: intervals(tx),
        facts: facts(tx),
      }),
      unaudited,
    ),
  )
  container.provide(UsageUpkeepUnitOfWorkToken, () =>
    makeSqlUnitOfWork(database, (tx) => ({ clusters: clusters(tx), upkeep: upkeep(tx) }), unaudited),
  )
  const outages = makeSqlOutageStore(database)
  container.provide(OutageStoreToken, () => outages(database))
  container.provide(OutageUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ outages: outages(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
  container.provideValue(UsageEventTallyToken, newEventTally())
  container.provideValue(UsageReportersToken, { includePeople: boot.settings.usageReporters === 'anyone' })
  const overview = makeSqlUsageOverviewStore(database)(database)
  container.provideValue(UsageOverviewStoreToken, overview)
  container.provideValue(IntakeSumsToken, intakeSumsOf(boot, overview))
  container.provide(EventReportsToken, (resolve) => {
    const [clock, caches] = [resolve(ClockToken), resolve(CachesToken)]
    const recent = makeRecentlyHeard(caches)
    const intake = resolve(IntakeSumsToken)
    return makeEventReports({
      onReport: (arrival) => intake.note(arrival),
      clusters: resolve(UsageClusterStoreToken),
      clock,
      caches,
      ownCall: makeOwnCall(resolve(EntropyToken)),
      recent,
      recordEvents: makeRecordEvents({
        clock,
        kinds: resolve(UsageKindStoreToken),
        unitOfWork: resolve(UsageEventUnitOfWorkToken),
        recent,
      }),
      tally: resolve(UsageEventTallyToken),
      transactions: database.dialect === 'mysql' ? mysqlTransactions : 1,
    })
  })
  container.provide(UsageCredentialsToken, (resolve) => {
    const { issue } = resolve(BusToken)
    return { issue: (call, owner) => issue(call, { ...owner, purpose: 'usage', lifeSeconds: credentialsSeconds }) }
  })
  container.provide(UsageIntakeToken, (resolve) => intakeOf(boot, resolve))
}

/** Each instance writes what arrived at it, at most a minute after it has arrived. */
const intakeSumsOf = ({ log, onStop }: Boot, overview: UsageOverviewStore): IntakeSums => {
  const sums = makeIntakeSums(overview)
  const write = (): Promise<void> =>
    sums
      .flush()
      .catch((error: unknown) =>
        log.warn({ error }, 'the sums of usage events were not written; they are with the next ones'),
      )
  let timer: NodeJS.Timeout | undefined
  onStop('sums of usage events', () => {
    clearTimeout(timer)
    return write()
  })
  return {
    flush: () => sums.flush(),
    note: (arrival) => {
      sums.note(arrival)
      timer ??= setTimeout(() => {
        timer = undefined
        void write()
      }, intakeMilliseconds).unref()
    },
  }
}

const decode = (body: Uint8Array): Omit<EventReport, 'ownerId'> | undefined => {
  const parsed = parseJson(new TextDecoder().decode(body))
  if (!parsed.ok) return undefined
  const report = UsageEventReport.decode(parsed.value)
  return isRight(report) ? { clusterUid: report.right.clusterUID, events: report.right.events } : undefined
}

const intakeOf = (boot: Boot, resolve: Resolve) => {
  const busUrl = boot.settings.busUrl.reveal()
  if (busUrl === 'inproc:' || !isOpen('billing-enabled', boot.deployment)) return { start: () => undefined }
  const tally = resolve(UsageEventTallyToken)
  const handle = makeHandleUsageMessage({
    reports: resolve(EventReportsToken),
    decode,
    tally,
    clock: resolve(ClockToken),
    caches: resolve(CachesToken),
    log: boot.log,
  })
  const safe = makeSealedKeys(boot.secretBox, resolve(EntropyToken))
  const intake = makeNatsUsageIntake({
    servers: natsServers(busUrl),
    login: makeUsageLogin({ identities: resolve(BusIdentityStoreToken), mint: resolve(BusMintToken), safe }),
    log: boot.log,
    subject: usageEventsOfAll,
    asideSubject: usageEventsAside,
    handle: ({ subject, ...message }) => handle({ ...message, ownerId: usageSender(subject) }),
    onNoRoom: () => void (tally.terminated += 1),
  })
  boot.onStop('usage events of the message bus', () => intake.close())
  return intake
}
