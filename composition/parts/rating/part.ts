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
import type { ReportRenderer } from '../../../core/usage/reports/ports.ts'
import { ratingPlugin } from '../../../plugins/rating/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
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
  provide({ database }) {
    const issuers = lazily(() => makeSqlIssuerStore(database))
    const books = lazily(() => makeSqlPriceBookStore(database))
    const pricings = lazily(() => makeSqlContractPricingStore(database))
    const customers = lazily(() => makeSqlCustomerStore(database))
    const invoices = lazily(() => makeSqlInvoiceStore(database))
    return [
      bind(IssuerStorePort, {}, () => issuers()(database)),
      bind(PriceBookStorePort, {}, () => books()(database)),
      bind(ContractPricingStorePort, {}, () => pricings()(database)),
      bind(CustomerStorePort, {}, () => customers()(database)),
      bind(InvoiceStorePort, {}, () => invoices()(database)),
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
