import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { makeDraftFinalMonths } from '../../core/rating/invoices/drafts.ts'
import { InvoiceStorePort, InvoiceUnitOfWorkPort } from '../../core/rating/invoices/ports.ts'
import { makeWatchSpending } from '../../core/rating/invoices/running.ts'
import { ContractPricingStorePort, CustomerStorePort, PriceBookStorePort } from '../../core/rating/ports.ts'
import { makeCollectUsage } from '../../core/rating/sinks/collect.ts'
import { SinkStorePort, SinkUnitOfWorkPort, UsageSinksPort } from '../../core/rating/sinks/ports.ts'
import { makeSendUsage } from '../../core/rating/sinks/send.ts'
import { MonthStorePort } from '../../core/usage/months/ports.ts'
import { BilledUsePort } from '../../core/usage/overview-ports.ts'
import { defineGroup } from '../kit/group.ts'

/** Makes drafts of months that have become final, sends them to billing engines, and watches what is spent. */
export const ratingJobs = defineGroup({
  needs: {
    books: PriceBookStorePort,
    clock: ClockPort,
    customers: CustomerStorePort,
    engines: UsageSinksPort,
    entropy: EntropyPort,
    invoices: InvoiceStorePort,
    log: LogPort,
    months: MonthStorePort,
    pricings: ContractPricingStorePort,
    secretBox: SecretBoxPort,
    sinkUnitOfWork: SinkUnitOfWorkPort,
    sinks: SinkStorePort,
    unitOfWork: InvoiceUnitOfWorkPort,
    use: BilledUsePort,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const draft = makeDraftFinalMonths({
      ...given,
      onFailure: ({ ownerId, month }, error) =>
        given.log.error({ account: ownerId, month, error }, 'a final month was not drafted as invoices'),
    })
    const watch = makeWatchSpending({
      ...given,
      onFailure: (ownerId, error) =>
        given.log.error({ account: ownerId, error }, 'the spending of an account was not compared with its limit'),
    })
    const collect = makeCollectUsage({
      ...given,
      unitOfWork: given.sinkUnitOfWork,
      onFailure: (sink, { ownerId, month }, error) =>
        given.log.error({ sink, account: ownerId, month, error }, 'a final month was not collected for a sink'),
    })
    const send = makeSendUsage(given)
    return [
      {
        id: 'rating.draftInvoices',
        summary: 'Make drafts of invoices of months whose reports have become final',
        everySeconds: 3600,
        run: (signal) => draft(ownCall('rating.draftInvoices', signal)),
      },
      {
        id: 'rating.collectUsage',
        summary: 'Put months whose reports have become final into the outboxes of billing engines',
        everySeconds: 3600,
        run: (signal) => collect(ownCall('rating.collectUsage', signal)),
      },
      {
        id: 'rating.sendUsage',
        summary: 'Send usage to billing engines',
        everySeconds: 300,
        run: send,
      },
      {
        id: 'rating.watchSpending',
        summary: 'Mail when an account has spent 50, 80 or 100 % of its limit in this month',
        everySeconds: 3600,
        run: (signal) => watch(ownCall('rating.watchSpending', signal)),
      },
    ]
  },
})
