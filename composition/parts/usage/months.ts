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
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { makePlatformLogin, makeSealedKeys } from '../../../core/bus/keys.ts'
import { BusIdentityStoreToken, BusMintToken } from '../../../core/bus/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { LeaseStoreToken } from '../../../core/kernel/instances.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import { notifyAfterCommit } from '../../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../../core/mail/ports.ts'
import { UsageClusterStoreToken, UsageUpkeepUnitOfWorkToken } from '../../../core/usage/events/ports.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import { monthBounds, monthEnd } from '../../../core/usage/month.ts'
import { CloseMonthToken, makeCloseMonth } from '../../../core/usage/months/close.ts'
import { finalMonthRights, FinalMonthBusToken, FinalMonthOutboxToken } from '../../../core/usage/final-months/ports.ts'
import type { AnnounceStores, GatherMonth } from '../../../core/usage/months/ports.ts'
import { ConsumptionUnitOfWorkToken } from '../../../core/usage/months/consumption.ts'
import {
  ConsumptionStoreToken,
  MonthReportToken,
  MonthStoreToken,
  MonthUnitOfWorkToken,
  UsageInputsToken,
} from '../../../core/usage/months/ports.ts'
import { makeGatherMonth } from '../../../core/usage/months/product-month.ts'
import type { UsageOverviewStore } from '../../../core/usage/overview-ports.ts'
import { databaseOptionsOf } from '../../part/frame-settings.ts'
import { BindMailOutboxToken } from '../mail/part.ts'
import type { ClosingProcess } from './closing-process.ts'
import { makeClosingProcess } from './closing-process.ts'
import { otlpTargetOf } from '../../runtime/service/tracing.ts'
import { makeClosingSpools, makeClosingWork, makeReportWork, sha256 } from './closing-work.ts'
import { token } from '../../../core/kernel/token.ts'
import type { Boot } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily } from '../../part/binding.ts'
import { BusServersToken } from '../bus/part.ts'

const ClosingProcessToken = token<ClosingProcess>('usage.ClosingProcess')
const ReportRendererToken = token<ReturnType<typeof makePdfRenderer>>('usage.ReportRenderer')
const GatherMonthToken = token<GatherMonth>('usage.GatherMonth')

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
        ClosingProcessToken,
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
      bind(MonthReportToken, { closing: ClosingProcessToken }, ({ closing }) => closing.report),
      bind(GatherMonthToken, { closing: ClosingProcessToken }, ({ closing }) => closing.gather),
    ]
  return [
    bind(
      ReportRendererToken,
      {},
      () => makePdfRenderer(),
      (renderer) => renderer.close(),
    ),
    bind(MonthReportToken, { renderer: ReportRendererToken }, ({ renderer }) => makeReportWork(database, renderer)),
    bind(
      GatherMonthToken,
      {
        inputs: UsageInputsToken,
        clock: ClockToken,
        clusters: UsageClusterStoreToken,
        unitOfWork: UsageUpkeepUnitOfWorkToken,
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
    bind(UsageInputsToken, {}, () => makeSqlUsageInputs(database)),
    bind(MonthStoreToken, {}, () => months()(database)),
    bind(ConsumptionStoreToken, {}, () => consumption()(database)),
    bind(FinalMonthOutboxToken, {}, () => finalMonths()(database)),
    bind(
      FinalMonthBusToken,
      { servers: BusServersToken, identities: BusIdentityStoreToken, mint: BusMintToken, entropy: EntropyToken },
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
      MonthUnitOfWorkToken,
      { outbox: BindMailOutboxToken, auditChain: AuditChainToken, outboxNotifier: OutboxNotifierToken },
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
      ConsumptionUnitOfWorkToken,
      { outbox: BindMailOutboxToken, auditChain: AuditChainToken, outboxNotifier: OutboxNotifierToken },
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
      CloseMonthToken,
      {
        gather: GatherMonthToken,
        clock: ClockToken,
        leases: LeaseStoreToken,
        months: MonthStoreToken,
        unitOfWork: MonthUnitOfWorkToken,
        report: MonthReportToken,
      },
      (given) => makeCloseMonth({ ...given, digest: sha256, newHolder: randomUUID }),
    ),
  ]
}
