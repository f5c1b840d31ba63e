import { randomUUID } from 'node:crypto'
import { natsServers } from '../../../adapters/bus/nats-connection.ts'
import { makeNatsFinalMonthBus, noFinalMonthBus } from '../../../adapters/bus/nats-final-months.ts'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlFinalMonthOutbox } from '../../../adapters/sql/usage/final-month-outbox.ts'
import { makeSqlConsumptionStore, makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageOverviewStore } from '../../../adapters/sql/usage/overview-store.ts'
import { packText } from '../../../adapters/sql/usage/packed-text.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { makeFinalMonthsLogin, makeSealedKeys } from '../../../core/bus/keys.ts'
import { BusIdentityStoreToken, BusMintToken } from '../../../core/bus/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { LeaseStoreToken } from '../../../core/kernel/instances.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import { notifyAfterCommit } from '../../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../../core/mail/ports.ts'
import type { SettleMonth } from '../../../core/usage/events/ports.ts'
import { UsageClusterStoreToken, UsageUpkeepUnitOfWorkToken } from '../../../core/usage/events/ports.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import type { AnnounceStores } from '../../../core/usage/months/announce.ts'
import { monthBounds, monthEnd } from '../../../core/usage/month.ts'
import { CloseMonthToken, makeCloseMonth } from '../../../core/usage/months/close.ts'
import type { FinalMonthBus } from '../../../core/usage/final-months/ports.ts'
import { FinalMonthBusToken, FinalMonthOutboxToken } from '../../../core/usage/final-months/ports.ts'
import type { GatherMonth, MonthReport, UsageInputs } from '../../../core/usage/months/ports.ts'
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
import type { Boot, Provide } from '../../boot.ts'
import { databaseOptionsOf } from '../../config/database-options.ts'
import type { Resolve } from '../../container.ts'
import { BindMailOutboxToken } from '../mail.ts'
import type { ClosingProcess } from './closing-process.ts'
import { makeClosingProcess } from './closing-process.ts'
import { makeClosingSpools, makeClosingWork, sha256 } from './closing-work.ts'
import { makeReportWork } from './report-work.ts'

/** Returns the process that closes months; undefined if the database is in memory, which no other process can open. */
const closingProcessOf = ({ settings, onStop }: Boot): ClosingProcess | undefined => {
  const databaseUrl = settings.databaseUrl.reveal()
  if (databaseUrl === 'sqlite::memory:') return undefined
  const closing = makeClosingProcess({ databaseUrl, database: databaseOptionsOf(settings), dataDir: settings.dataDir })
  onStop('the process that closes months', () => closing.close())
  return closing
}

const gatherHere = ({ database, settings }: Boot, inputs: UsageInputs, settle: SettleMonth): GatherMonth => {
  const spools = makeClosingSpools(settings.dataDir)
  return makeGatherMonth({
    settle,
    inputs,
    spools,
    digest: sha256,
    work: makeClosingWork(database, spools, { isAlone: false, pack: packText }),
  })
}

const reportHere = ({ database, onStop }: Boot): MonthReport => {
  const renderer = makePdfRenderer()
  onStop('the writer of reports', () => renderer.close())
  return makeReportWork(database, renderer)
}

const finalMonthBusOf = ({ settings, secretBox }: Boot, resolve: Resolve): FinalMonthBus => {
  const busUrl = settings.busUrl.reveal()
  if (busUrl === 'inproc:') return noFinalMonthBus
  const safe = makeSealedKeys(secretBox, resolve(EntropyToken))
  return makeNatsFinalMonthBus({
    servers: natsServers(busUrl),
    login: makeFinalMonthsLogin({ identities: resolve(BusIdentityStoreToken), mint: resolve(BusMintToken), safe }),
  })
}

/** Returns how the contracts of an account in a month are read. */
const contractsIn =
  (overview: UsageOverviewStore): AnnounceStores['contractsIn'] =>
  async (ownerId, month) =>
    (await overview.runningContracts(ownerId, month, monthBounds(month), new Date((monthEnd(month) - 1) * 1000))).map(
      ({ contract }) => contract,
    )

/** Provides the months of usage. */
export const provideUsageMonths: Provide = (container, boot) => {
  const { database } = boot
  const months = makeSqlMonthStore(database)
  const consumption = makeSqlConsumptionStore(database)
  const inputs = makeSqlUsageInputs(database)
  container.provideValue(UsageInputsToken, inputs)
  container.provide(MonthStoreToken, () => months(database))
  container.provide(ConsumptionStoreToken, () => consumption(database))
  const overview = makeSqlUsageOverviewStore(database)
  const finalMonths = makeSqlFinalMonthOutbox(database)
  container.provide(FinalMonthOutboxToken, () => finalMonths(database))
  container.provide(FinalMonthBusToken, (resolve) => finalMonthBusOf(boot, resolve))
  container.provide(MonthUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({
        months: months(tx),
        audit,
        mail: outbox(tx),
        events: finalMonths(tx),
        contractsIn: contractsIn(overview(tx)),
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(ConsumptionUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ consumption: consumption(tx), audit, mail: outbox(tx) }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  const closing = closingProcessOf(boot)
  container.provideValue(MonthReportToken, closing?.report ?? reportHere(boot))
  container.provide(CloseMonthToken, (resolve) =>
    makeCloseMonth({
      gather:
        closing?.gather ??
        gatherHere(
          boot,
          inputs,
          makeSettleMonth({
            clock: resolve(ClockToken),
            clusters: resolve(UsageClusterStoreToken),
            unitOfWork: resolve(UsageUpkeepUnitOfWorkToken),
          }),
        ),
      digest: sha256,
      clock: resolve(ClockToken),
      leases: resolve(LeaseStoreToken),
      newHolder: randomUUID,
      months: resolve(MonthStoreToken),
      unitOfWork: resolve(MonthUnitOfWorkToken),
      report: resolve(MonthReportToken),
    }),
  )
}
