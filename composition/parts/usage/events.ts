import { isRight } from 'fp-ts/lib/Either.js'
import { makeNatsUsageIntake } from '../../../adapters/bus/nats-usage-intake.ts'
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
import { BusPort } from '../../../core/bus/bus.ts'
import { makePlatformLogin, makeSealedKeys } from '../../../core/bus/keys.ts'
import { BusIdentityStorePort, BusMintPort } from '../../../core/bus/ports.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { parseJson } from '../../../core/kernel/json.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import type { EventReport } from '../../../core/usage/events/reports.ts'
import {
  makeHandleUsageMessage,
  UsageCredentialsPort,
  UsageIntakePort,
  EventReportsPort,
  makeEventReports,
  newEventCounters,
  UsageEventCountersPort,
} from '../../../core/usage/events/reports.ts'
import type { UsageIntake } from '../../../core/usage/events/reports.ts'
import { IntakeSumsPort, UsageReportersPort, makeIntakeSums } from '../../../core/usage/events/intake.ts'
import {
  UsageClusterStorePort,
  UsageEventUnitOfWorkPort,
  UsageKindStorePort,
  UsageRetentionPort,
  UsageUpkeepUnitOfWorkPort,
} from '../../../core/usage/events/ports.ts'
import {
  intakeRights,
  usageEvents,
  usageEventsAside,
  usageEventsOfAll,
  usageSender,
} from '../../../core/usage/events/types.ts'
import { makeRecentlyHeard } from '../../../core/usage/events/recently-heard.ts'
import { makeRecordEvents } from '../../../core/usage/events/recording.ts'
import type { IntakeSums } from '../../../core/usage/events/intake.ts'
import type { UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import { UsageOverviewStorePort } from '../../../core/usage/overview-ports.ts'
import { OutageStorePort, OutageUnitOfWorkPort } from '../../../core/usage/outages/ports.ts'
import { UsageEventReport } from '../../../plugins/usage/codecs.ts'
import type { Given } from '../../../plugins/kit/group.ts'
import type { Boot } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily } from '../../part/binding.ts'
import { BusServersPort } from '../bus/part.ts'
import type { UsageValues } from './settings.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

const credentialsSeconds = 24 * 3600
const intakeMilliseconds = 60_000

/** While the server writes two, this process prepares the next. More of them leave fewer events to each. */
const mysqlTransactions = 3

/** Each instance writes what arrived at it, at most a minute after it has arrived. */
const intakeSumsOf = (log: Log, overview: UsageOverviewStore): IntakeSums & { close(): Promise<void> } => {
  const sums = makeIntakeSums(overview)
  const write = (): Promise<void> =>
    sums
      .flush()
      .catch((error: unknown) =>
        log.warn({ error }, 'the sums of usage events were not written; they are with the next ones'),
      )
  let timer: NodeJS.Timeout | undefined
  return {
    close: () => {
      clearTimeout(timer)
      return write()
    },
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

/** What the intake of the message bus is made of. */
const ofIntake = {
  servers: BusServersPort,
  identities: BusIdentityStorePort,
  mint: BusMintPort,
  entropy: EntropyPort,
  reports: EventReportsPort,
  counters: UsageEventCountersPort,
  clock: ClockPort,
  caches: CachesPort,
}

const intakeOf = (
  { secretBox, log }: Pick<Boot, 'secretBox' | 'log'>,
  { servers, identities, mint, entropy, reports, counters, clock, caches }: Given<typeof ofIntake>,
): UsageIntake & { close(): Promise<void> } => {
  if (servers.length === 0) return { start: () => undefined, lag: async () => undefined, close: async () => undefined }
  const handle = makeHandleUsageMessage({ reports, decode, counters, clock, caches, log })
  return makeNatsUsageIntake({
    servers,
    login: makePlatformLogin({ identities, mint, safe: makeSealedKeys(secretBox, entropy) }, intakeRights),
    log,
    subject: usageEventsOfAll,
    asideSubject: usageEventsAside,
    handle: ({ subject, ...message }) => handle({ ...message, ownerId: usageSender(subject) }),
    onNoRoom: () => void (counters.terminated += 1),
  })
}

/**
 * Returns how the ports of the events of usage are made. Events are what is reported, not what a person changes: they
 * have tables of their own, and no rows in the audit log.
 */
export const eventBindings = (boot: Boot<UsageValues>): readonly Binding[] => {
  const { database } = boot
  const clusters = lazily(() => makeSqlUsageClusterStore(database))
  const outages = lazily(() => makeSqlOutageStore(database))
  return [
    bind(UsageClusterStorePort, {}, () => clusters()(database)),
    bind(UsageKindStorePort, {}, () => makeSqlUsageKindStore(database)),
    bind(UsageRetentionPort, {}, () => makeSqlUsageRetention(database)),
    bind(UsageEventUnitOfWorkPort, {}, () => {
      const objects = makeSqlUsageObjectStore(database)
      const changes = makeSqlUsageChangeStore(database)
      const intervals = makeSqlUsageIntervalStore(database)
      const facts = makeSqlClusterFactStore(database)
      return makeSqlUnitOfWork(
        database,
        (tx) => ({
          clusters: clusters()(tx),
          objects: objects(tx),
          changes: changes(tx),
          intervals: intervals(tx),
          facts: facts(tx),
        }),
        unaudited,
      )
    }),
    bind(UsageUpkeepUnitOfWorkPort, {}, () => {
      const upkeep = makeSqlUsageUpkeepStore(database)
      return makeSqlUnitOfWork(database, (tx) => ({ clusters: clusters()(tx), upkeep: upkeep(tx) }), unaudited)
    }),
    bind(OutageStorePort, {}, () => outages()(database)),
    bindUnitOfWork(database, OutageUnitOfWorkPort, () => (tx) => ({ outages: outages()(tx) })),
    bind(UsageEventCountersPort, {}, () => newEventCounters()),
    bind(UsageReportersPort, {}, () => ({ includePeople: boot.settings.usageReporters === 'anyone' })),
    bind(UsageOverviewStorePort, {}, () => makeSqlUsageOverviewStore(database)(database)),
    bind(
      IntakeSumsPort,
      { overview: UsageOverviewStorePort },
      ({ overview }) => intakeSumsOf(boot.log, overview),
      (sums) => sums.close(),
    ),
    bind(
      EventReportsPort,
      {
        clusters: UsageClusterStorePort,
        kinds: UsageKindStorePort,
        unitOfWork: UsageEventUnitOfWorkPort,
        counters: UsageEventCountersPort,
        intake: IntakeSumsPort,
        clock: ClockPort,
        caches: CachesPort,
        entropy: EntropyPort,
      },
      ({ clusters, kinds, unitOfWork, counters, intake, clock, caches, entropy }) => {
        const recent = makeRecentlyHeard(caches)
        return makeEventReports({
          onReport: (arrival) => intake.note(arrival),
          clusters,
          clock,
          caches,
          ownCall: makeOwnCall(entropy),
          recent,
          recordEvents: makeRecordEvents({ clock, kinds, unitOfWork, recent }),
          counters,
          transactions: database.dialect === 'mysql' ? mysqlTransactions : 1,
        })
      },
    ),
    bind(UsageCredentialsPort, { bus: BusPort }, ({ bus: { issue } }) => ({
      issue: (call, owner) => issue(call, { ...owner, purpose: usageEvents.purpose, lifeSeconds: credentialsSeconds }),
    })),
    bind(
      UsageIntakePort,
      ofIntake,
      (given) => intakeOf(boot, given),
      (intake) => intake.close(),
    ),
  ]
}
