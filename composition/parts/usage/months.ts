import { randomUUID } from 'node:crypto'
import { makeNatsFinalMonthBus, noFinalMonthBus } from '../../../adapters/bus/nats-final-months.ts'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import {
  makeSqlConsumptionStore,
  makeSqlFinalMonthOutbox,
  makeSqlMonthStore,
} from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageOverviewStore } from '../../../adapters/sql/usage/overview-store.ts'
import { packText } from '../../../adapters/sql/usage/packed-text.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { noLoad } from '../../../adapters/system/helper-processes.ts'
import { AuditChainPort } from '../../../core/audit/ports.ts'
import { makePlatformLogin, makeSealedKeys } from '../../../core/bus/keys.ts'
import { BusIdentityStorePort, BusMintPort } from '../../../core/bus/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { LeaseStorePort } from '../../../core/kernel/instances.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { notifyAfterCommit } from '../../../core/mail/delivery.ts'
import { OutboxNotifierPort } from '../../../core/mail/ports.ts'
import { UsageClusterStorePort, UsageUpkeepUnitOfWorkPort } from '../../../core/usage/events/ports.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import { monthBounds, monthEnd } from '../../../core/usage/month.ts'
import { CloseMonthPort, makeCloseMonth } from '../../../core/usage/months/close.ts'
import { finalMonthRights, FinalMonthBusPort, FinalMonthOutboxPort } from '../../../core/usage/final-months/ports.ts'
import type { AnnounceStores, GatherMonth } from '../../../core/usage/months/ports.ts'
import { ConsumptionUnitOfWorkPort } from '../../../core/usage/months/consumption.ts'
import {
  ConsumptionStorePort,
  MonthReportPort,
  MonthStorePort,
  MonthUnitOfWorkPort,
  UsageInputsPort,
} from '../../../core/usage/months/ports.ts'
import { makeGatherMonth } from '../../../core/usage/months/product-month.ts'
import { makeBilledUse } from '../../../core/usage/months/billed-use.ts'
import type { UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import { BilledUsePort } from '../../../core/usage/overview-ports.ts'
import { UsageViewStorePort } from '../../../core/usage/views/ports.ts'
import { databaseOptionsOf } from '../../part/runtime-settings.ts'
import { BindMailOutboxPort } from '../mail/part.ts'
import type { ClosingProcess } from './closing-process.ts'
import { makeClosingProcess } from './closing-process.ts'
import { otlpTargetOf } from '../../runtime/service/tracing.ts'
import { makeClosingSpools, makeClosingWork, makeReportWork, sha256 } from './closing-work.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import type { Boot } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily } from '../../part/binding.ts'
import { BusServersPort } from '../bus/part.ts'

const ClosingProcessPort = portKey<ClosingProcess>('usage.ClosingProcess')
const ReportRendererPort = portKey<ReturnType<typeof makePdfRenderer>>('usage.ReportRenderer')
const GatherMonthPort = portKey<GatherMonth>('usage.GatherMonth')

/** The pools of the process that closes months. */
const closingPools = ['closing-threads', 'closing-database', 'reports'] as const

/**
 * Returns how months are gathered and reports are written: in a process of their own, or here if the database is in
 * memory, which no other process can open.
 */
const closingBindings = (boot: Boot): readonly Binding[] => {
  const { database, settings } = boot
  const databaseUrl = settings.databaseUrl.reveal()
  if (databaseUrl !== 'sqlite::memory:')
    return [
      bind(
        ClosingProcessPort,
        {},
        () => {
          const { helpers, pools, tracing, log, instanceId } = boot
          for (const pool of closingPools)
            pools.watch(pool, () => helpers.uses().get('closing')?.counts.pools[pool] ?? noLoad)
          return makeClosingProcess(
            { databaseUrl, database: databaseOptionsOf(settings), dataDir: settings.dataDir },
            { helpers, tracing, log, traces: otlpTargetOf(settings, instanceId) },
          )
        },
        (closing) => closing.close(),
      ),
      bind(MonthReportPort, { closing: ClosingProcessPort }, ({ closing }) => closing.report),
      bind(GatherMonthPort, { closing: ClosingProcessPort }, ({ closing }) => closing.gather),
    ]
  return [
    bind(
      ReportRendererPort,
      {},
      () => makePdfRenderer(),
      (renderer) => renderer.close(),
    ),
    bind(MonthReportPort, { renderer: ReportRendererPort }, ({ renderer }) => makeReportWork(database, renderer)),
    bind(
      GatherMonthPort,
      {
        inputs: UsageInputsPort,
        clock: ClockPort,
        clusters: UsageClusterStorePort,
        unitOfWork: UsageUpkeepUnitOfWorkPort,
      },
      ({ inputs, clock, clusters, unitOfWork }) => {
        const spools = makeClosingSpools(settings.dataDir)
        return makeGatherMonth({
          settle: makeSettleMonth({ clock, clusters, unitOfWork }),
          inputs,
          spools,
          digest: sha256,
          work: makeClosingWork(database, spools, { isAlone: false, pack: packText }),
        })
      },
    ),
  ]
}

/** Returns how the contracts of an account in a month are read. */
const contractsIn =
  (overview: UsageOverviewStore): AnnounceStores['contractsIn'] =>
  async (ownerId, month) =>
    (await overview.runningContracts(ownerId, month, monthBounds(month), new Date((monthEnd(month) - 1) * 1000))).map(
      ({ contract }) => contract,
    )

/** Returns how the ports of the months of usage are made. */
export const monthBindings = (boot: Boot): readonly Binding[] => {
  const { database } = boot
  const months = lazily(() => makeSqlMonthStore(database))
  const consumption = lazily(() => makeSqlConsumptionStore(database))
  const overview = lazily(() => makeSqlUsageOverviewStore(database))
  const finalMonths = lazily(() => makeSqlFinalMonthOutbox(database))
  return [
    bind(UsageInputsPort, {}, () => makeSqlUsageInputs(database)),
    bind(BilledUsePort, { inputs: UsageInputsPort, views: UsageViewStorePort }, makeBilledUse),
    bind(MonthStorePort, {}, () => months()(database)),
    bind(ConsumptionStorePort, {}, () => consumption()(database)),
    bind(FinalMonthOutboxPort, {}, () => finalMonths()(database)),
    bind(
      FinalMonthBusPort,
      { servers: BusServersPort, identities: BusIdentityStorePort, mint: BusMintPort, entropy: EntropyPort },
      ({ servers, identities, mint, entropy }) => {
        if (servers.length === 0) return noFinalMonthBus
        const login = makePlatformLogin(
          { identities, mint, safe: makeSealedKeys(boot.secretBox, entropy) },
          finalMonthRights,
        )
        return makeNatsFinalMonthBus({ servers, login })
      },
    ),
    bind(
      MonthUnitOfWorkPort,
      { outbox: BindMailOutboxPort, auditChain: AuditChainPort, outboxNotifier: OutboxNotifierPort },
      ({ outbox, auditChain, outboxNotifier }) => {
        const unitOfWork = makeSqlUnitOfWork(
          database,
          (tx, audit) => ({
            months: months()(tx),
            audit,
            mail: outbox(tx),
            events: finalMonths()(tx),
            contractsIn: contractsIn(overview()(tx)),
          }),
          makeSqlAuditTrail(database, auditChain),
        )
        return notifyAfterCommit(unitOfWork, outboxNotifier)
      },
    ),
    bind(
      ConsumptionUnitOfWorkPort,
      { outbox: BindMailOutboxPort, auditChain: AuditChainPort, outboxNotifier: OutboxNotifierPort },
      ({ outbox, auditChain, outboxNotifier }) => {
        const unitOfWork = makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ consumption: consumption()(tx), audit, mail: outbox(tx) }),
          makeSqlAuditTrail(database, auditChain),
        )
        return notifyAfterCommit(unitOfWork, outboxNotifier)
      },
    ),

    ...closingBindings(boot),
    bind(
      CloseMonthPort,
      {
        gather: GatherMonthPort,
        clock: ClockPort,
        leases: LeaseStorePort,
        months: MonthStorePort,
        unitOfWork: MonthUnitOfWorkPort,
        report: MonthReportPort,
      },
      (given) => makeCloseMonth({ ...given, digest: sha256, newHolder: randomUUID }),
    ),
  ]
}
