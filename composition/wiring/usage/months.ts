import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlConsumptionStore } from '../../../adapters/sql/usage/consumption-store.ts'
import { makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { makeSpools } from '../../../adapters/system/spools.ts'
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { LeaseStoreToken } from '../../../core/kernel/instances.ts'
import { notifyAfterCommit } from '../../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../../core/mail/ports.ts'
import { UsageClusterStoreToken, UsageUpkeepUnitOfWorkToken } from '../../../core/usage/events/ports.ts'
import { makeSettleMonth } from '../../../core/usage/events/upkeep.ts'
import { CloseMonthToken, makeCloseMonth } from '../../../core/usage/months/close.ts'
import { ConsumptionUnitOfWorkToken } from '../../../core/usage/months/consumption.ts'
import { ConsumptionStoreToken, MonthReportToken, MonthStoreToken, MonthUnitOfWorkToken, ProductViewsToken, UsageInputsToken } from '../../../core/usage/months/ports.ts'
import type { RunningDigest } from '../../../core/usage/months/product-month.ts'
import { buildViews } from '../../../core/usage/views/build-views.ts'
import { UsageViewStoreToken } from '../../../core/usage/views/ports.ts'
import type { Provide } from '../../boot.ts'
import { BindMailOutboxToken } from '../mail.ts'

const sha256 = (): RunningDigest => {
  const hash = createHash('sha256')
  // The length separates texts: no two lists of texts are hashed as the same bytes.
  return { add: (text) => void hash.update(`${text.length}:`).update(text), end: () => hash.digest('hex') }
}

/** Provides the months of usage. */
export const provideUsageMonths: Provide = (container, { database, settings }) => {
  const months = makeSqlMonthStore(database)
  const consumption = makeSqlConsumptionStore(database)
  const inputs = makeSqlUsageInputs(database)
  container.provideValue(UsageInputsToken, inputs)
  container.provide(MonthStoreToken, () => months(database))
  container.provide(ConsumptionStoreToken, () => consumption(database))
  container.provide(MonthUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(database, (tx, audit) => ({ months: months(tx), audit }), makeSqlAuditTrail(database, resolve(AuditChainToken))),
  )
  container.provide(ConsumptionUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ consumption: consumption(tx), audit, mail: outbox(tx) }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(ProductViewsToken, (resolve) => {
    const views = resolve(UsageViewStoreToken)
    return { write: (monthId, month) => buildViews(views, monthId, month) }
  })
  container.provide(CloseMonthToken, (resolve) =>
    makeCloseMonth({
      inputs,
      // Beside the database, whose disk has room for a month.
      spools: makeSpools(join(settings.dataDir, 'usage')),
      digest: sha256,
      clock: resolve(ClockToken),
      leases: resolve(LeaseStoreToken),
      newHolder: randomUUID,
      months: resolve(MonthStoreToken),
      unitOfWork: resolve(MonthUnitOfWorkToken),
      settle: makeSettleMonth({ clock: resolve(ClockToken), clusters: resolve(UsageClusterStoreToken), unitOfWork: resolve(UsageUpkeepUnitOfWorkToken) }),
      views: resolve(ProductViewsToken),
      report: resolve(MonthReportToken),
    }),
  )
}
