import { makeLago } from '../../../adapters/billing-engines/lago.ts'
import { makeOpenMeter } from '../../../adapters/billing-engines/openmeter.ts'
import { makeStripe } from '../../../adapters/billing-engines/stripe.ts'
import { makeUserFetch } from '../../../adapters/outbound/user-fetch.ts'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { makeSqlBrandingStore } from '../../../adapters/sql/kernel/site-store.ts'
import { makeSqlInvoiceStore } from '../../../adapters/sql/rating/invoice-store.ts'
import { ratingMigrations } from '../../../adapters/sql/rating/migrations.ts'
import {
  makeSqlContractPricingStore,
  makeSqlCustomerStore,
  makeSqlIssuerStore,
  makeSqlPriceBookStore,
} from '../../../adapters/sql/rating/price-stores.ts'
import { makeSqlSinkStore } from '../../../adapters/sql/rating/sink-store.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { InvoiceDocumentsPort } from '../../../core/rating/documents/ports.ts'
import { InvoiceStorePort, InvoiceUnitOfWorkPort } from '../../../core/rating/invoices/ports.ts'
import {
  ContractPricingStorePort,
  CustomerStorePort,
  IssuerStorePort,
  PriceBookStorePort,
  PriceUnitOfWorkPort,
} from '../../../core/rating/ports.ts'
import { SinkStorePort, SinkUnitOfWorkPort, UsageSinksPort } from '../../../core/rating/sinks/ports.ts'
import { totalOf } from '../../../core/rating/sinks/sinks.ts'
import type { ReportRenderer } from '../../../core/usage/reports/ports.ts'
import { ratingPlugin } from '../../../plugins/rating/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { bindMailingUnitOfWork, bindUnitOfWork } from '../units-of-work.ts'
import { brandingOf } from '../usage/closing-work.ts'

const RendererPort = portKey<ReportRenderer>('rating.Renderer')

/** Prices, and the invoices of what was used. */
export const part = definePart({
  plugin: ratingPlugin,
  migrations: ratingMigrations,
  demo: async (world) => (await import('./demo.ts')).seedRating(world),
  tags: [
    {
      name: 'Prices & Invoices',
      description: 'Price books, invoices and credit notes of closed months, and their exports.',
      after: 'Billing Dashboard',
    },
  ],
  metrics: [
    defineGauges(
      {
        moorage_usage_sink_events: {
          help: 'Events of usage that are not sent to billing engines, by state.',
          label: 'state',
        },
        moorage_usage_sink_oldest_seconds: {
          help: 'For how long the oldest event that can be sent to a billing engine waits; 0 without one.',
        },
      },
      { sinks: SinkStorePort },
      ({ sinks }) =>
        async () => {
          const { oldestSeconds, ...states } = totalOf(await sinks.counts())
          return { moorage_usage_sink_events: states, moorage_usage_sink_oldest_seconds: oldestSeconds }
        },
    ),
  ],
  provide(boot) {
    const { database } = boot
    const issuers = lazily(() => makeSqlIssuerStore(database))
    const books = lazily(() => makeSqlPriceBookStore(database))
    const pricings = lazily(() => makeSqlContractPricingStore(database))
    const customers = lazily(() => makeSqlCustomerStore(database))
    const invoices = lazily(() => makeSqlInvoiceStore(database))
    const sinks = lazily(() => makeSqlSinkStore(database))
    return [
      bind(IssuerStorePort, {}, () => issuers()(database)),
      bind(PriceBookStorePort, {}, () => books()(database)),
      bind(ContractPricingStorePort, {}, () => pricings()(database)),
      bind(CustomerStorePort, {}, () => customers()(database)),
      bind(InvoiceStorePort, {}, () => invoices()(database)),
      bind(SinkStorePort, {}, () => sinks()(database)),
      bind(UsageSinksPort, {}, () => {
        const fetch = makeUserFetch(boot)
        return { lago: makeLago(fetch), openmeter: makeOpenMeter(fetch), stripe: makeStripe(fetch) }
      }),
      bindUnitOfWork(database, SinkUnitOfWorkPort, () => (tx) => ({ sinks: sinks()(tx) })),
      bind(
        RendererPort,
        {},
        () => makePdfRenderer(),
        (renderer) => renderer.close(),
      ),
      bind(InvoiceDocumentsPort, { renderer: RendererPort }, ({ renderer }) => ({
        render: (content, signal) => renderer.render(content, signal),
        branding: brandingOf(makeSqlBrandingStore(database)(database)),
      })),
      bindUnitOfWork(database, PriceUnitOfWorkPort, () => (tx) => ({
        issuers: issuers()(tx),
        books: books()(tx),
        pricings: pricings()(tx),
        customers: customers()(tx),
      })),
      bindMailingUnitOfWork(database, InvoiceUnitOfWorkPort, () => (tx) => ({
        issuers: issuers()(tx),
        books: books()(tx),
        pricings: pricings()(tx),
        customers: customers()(tx),
        invoices: invoices()(tx),
      })),
    ]
  },
})
