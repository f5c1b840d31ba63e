import { decimalText, zero } from '../../core/rating/money.ts'
import { InvoiceStorePort } from '../../core/rating/invoices/ports.ts'
import { SinkStorePort } from '../../core/rating/sinks/ports.ts'
import { IssuerStorePort } from '../../core/rating/ports.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { PriceBookId } from '../../core/rating/types.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { sample as contracts } from '../contracts/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { defineSample, isOfMarketplace, refusedFor, type Tenant } from '../support/part-sample.ts'
import { asAdmin, customerDetails, setUpBilling } from './billing-fixture.ts'

const may = 202605 as MonthKey

const manualLine = (tenant: Tenant): object => ({
  contractID: tenant.id('contract'),
  description: 'Setup',
  amount: 100,
  reason: 'ordered',
})

/** Prices of a contract, billing details, and an invoice of May 2026 that was issued. */
export const sample = defineSample({
  part: 'rating',
  isServed: (service) => !isOfMarketplace(service),
  make: async (tenant) => {
    const { service, org, text } = tenant
    const { container } = service.running
    const { contractId } = await tenant.of(contracts)
    const { orgId } = await tenant.of(organizations)
    const issuer = `seller-of-${org.toLowerCase()}`
    const { priceBookID } = await setUpBilling(service, { org, contractId, issuer, from: '2026-05' })
    const seller = (await container.resolve(IssuerStorePort).find(issuer))!
    const invoices = container.resolve(InvoiceStorePort)
    const net = 100n
    const line = {
      contractId: contractId as ContractId,
      contractName: text,
      priceId: 'fee',
      description: text,
      model: 'flat' as const,
      product: undefined,
      quantity: '1',
      unit: 'month',
      pricedQuantity: '1',
      pricedUnit: 'charge',
      unitPrice: '1',
      discountPercent: decimalText(zero),
      net,
      versionNumber: 1,
      bookId: priceBookID as PriceBookId,
      reason: '',
    }
    const at = new Date('2026-06-05T00:00:00Z')
    const draft = {
      ownerId: orgId as AccountId,
      issuerId: seller.id,
      month: may,
      currency: 'EUR',
      kind: 'invoice' as const,
      revision: 1,
      correctsId: undefined,
      lines: [line],
      net,
    }
    const invoiceId = await invoices.insert(draft, at)
    const { taxID: taxId, ...party } = customerDetails
    await invoices.issue({
      id: invoiceId,
      tax: 0n,
      sequence: 1000,
      number: `OLD-${invoiceId}`,
      terms: {
        seller: seller.party,
        buyer: { ...party, taxId, legalName: text },
        taxCategory: 'Z',
        taxPercent: '0',
        taxReason: '',
        paymentDays: 30,
        notes: text,
      },
      issuedAt: at,
      dueAt: at,
    })
    const sinks = container.resolve(SinkStorePort)
    const sink = `sink-of-${org.toLowerCase()}`
    await asAdmin(service)('PUT', `/sinks/${sink}`, {
      kind: 'stripe',
      address: 'https://engine.example',
      from: '2026-05',
      enabled: false,
      key: 'rk_test',
    })
    const { id: sinkId } = (await sinks.find(sink))!
    const ownerId = orgId as AccountId
    await sinks.putCustomer(sinkId, ownerId, text)
    await sinks.setCollected(sinkId, ownerId, may, 1)
    await sinks.add([
      {
        ref: `moorage.${orgId}`,
        sinkId,
        ownerId,
        month: may,
        revision: 1,
        contractId: contractId as ContractId,
        product: 'dbProduct',
        measure: 'cpu',
        use: 'prod',
        thousandths: 1n,
        datedAt: at,
        state: 'pending',
        createdAt: at,
      },
    ])
    const sinkEvent = (await sinks.waiting(sinkId, { page: 1, limit: 1 })).items[0]!.id
    await sinks.setState([sinkEvent], 'refused', text)
    return { issuer, priceBookID, invoiceId, contractId, issuerId: seller.id, sink, sinkEvent }
  },
  names: ({ issuer, priceBookID, invoiceId, sink, sinkEvent }) => ({
    'usage sink': { name: sink },
    'usage sink event': { id: sinkEvent },
    'invoice issuer': { name: issuer },
    'price book': { id: priceBookID },
    invoice: { id: invoiceId },
    'invoiced month': { name: '2026-05' },
  }),
  sendsExample: (routeId) =>
    [
      'rating.putIssuer',
      'rating.createPriceBook',
      'rating.addPriceVersion',
      'rating.priceContract',
      'rating.putCustomer',
      'rating.draftInvoices',
      'rating.payInvoice',
      'rating.voidInvoice',
      'rating.creditInvoice',
      'rating.putSink',
      'rating.putSinkCustomer',
      'rating.resolveSinkEvent',
    ].includes(routeId),
  bodies: {
    'rating.addInvoiceLine': (mine, theirs) => ({ own: manualLine(mine), contractID: manualLine(theirs) }),
  },
  tables: ({ contractId, invoiceId }, tenant) => {
    const ofAccounts = { owner_id: accountIds(tenant) }
    return {
      rating_customers: ofAccounts,
      rating_invoices: ofAccounts,
      rating_invoice_lines: { invoice_id: [invoiceId] },
      rating_contract_prices: { contract_id: [contractId] },
      rating_months: ofAccounts,
      rating_spend_alerts: ofAccounts,
      rating_sink_customers: ofAccounts,
      rating_sink_months: ofAccounts,
      rating_sink_events: ofAccounts,
    }
  },
  sharedTables: {
    rating_issuers: 'the sellers of the vendor',
    rating_sinks: 'the billing engines of the vendor, whom no tenant may read',
    rating_price_books: 'the price books of the vendor, whom no tenant may read as a whole',
    rating_price_versions: 'the prices of these books',
  },
  refusedToOwner: refusedFor('for site admins', [
    'rating.listIssuers',
    'rating.putIssuer',
    'rating.listPriceBooks',
    'rating.createPriceBook',
    'rating.listPriceVersions',
    'rating.addPriceVersion',
    'rating.listContractPrices',
    'rating.priceContract',
    'rating.putCustomer',
    'rating.exportAllFocus',
    'rating.draftInvoices',
    'rating.addInvoiceLine',
    'rating.deleteDraft',
    'rating.issueInvoice',
    'rating.sendInvoice',
    'rating.payInvoice',
    'rating.voidInvoice',
    'rating.creditInvoice',
    'rating.listSinks',
    'rating.putSink',
    'rating.getSinkCustomer',
    'rating.putSinkCustomer',
    'rating.listSinkEvents',
    'rating.resolveSinkEvent',
  ]),
})
