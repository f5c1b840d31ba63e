import type { ContractPricingStore, CustomerStore, IssuerStore, PriceBookStore } from '../../../core/rating/ports.ts'
import type { Customer, PriceBookId } from '../../../core/rating/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, columnsOf, computed, int, nullable, pick, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, newRow } from '../kit/values.ts'
import {
  ratingContractPrices,
  ratingCustomers,
  ratingIssuers,
  ratingPriceBooks,
  ratingPriceVersions,
  ratingSpendAlerts,
} from '../tables/rating.ts'

const issuerRow = without(ratingIssuers, 'updatedAt')

/** IssuerStore over the table rating_issuers. */
export const makeSqlIssuerStore = (db: SqlDatabase): ((runner: SqlRunner) => IssuerStore) => {
  const list = db.prepare({}, issuerRow, (k) => k('rating_issuers').orderBy('name'))
  const find = db.prepare(pick(ratingIssuers, 'name'), issuerRow, (k, p) =>
    k('rating_issuers').where('name', p.name).limit(1),
  )
  const lock = db.prepare(pick(ratingIssuers, 'id'), issuerRow, (k, p) =>
    k('rating_issuers').where('id', p.id).limit(1).forUpdate(),
  )
  const details = without(ratingIssuers, 'id', 'nextNumber')
  const put = db.prepare(details, (k, p) =>
    k('rating_issuers').insert(assigned(details, p)).onConflict(['name']).merge(assigned(details, p)),
  )
  const setNext = db.prepare(pick(ratingIssuers, 'id', 'nextNumber'), (k, p) =>
    k('rating_issuers').where('id', p.id).update({ next_number: p.nextNumber }),
  )
  return (runner) => ({
    list: () => runner.all(list, {}),
    find: (name) => runner.first(find, { name }),
    lock: (id) => runner.first(lock, { id }),
    async put(issuer, at) {
      await runner.run(put, { ...issuer, updatedAt: at })
    },
    async setNextNumber(id, next) {
      await runner.run(setNext, { id, nextNumber: next })
    },
  })
}

const bookRow = { ...aliased(ratingPriceBooks, 'b'), issuerName: aliased(ratingIssuers, 'i').name }
const lastRow = { last: computed(nullable(int<Row<typeof ratingPriceVersions>['fromMonth']>()), 'max(i.month)') }

const inOrder = (ids: readonly PriceBookId[]): readonly PriceBookId[] => [...new Set(ids)].sort((a, b) => a - b)

/** PriceBookStore over the tables rating_price_books and rating_price_versions. */
export const makeSqlPriceBookStore = (db: SqlDatabase): ((runner: SqlRunner) => PriceBookStore) => {
  const list = typedPage(
    db,
    {},
    bookRow,
    (k) => k('rating_price_books as b').join('rating_issuers as i', 'i.id', 'b.issuer_id'),
    (_, rows, cut) => cut(rows.orderBy('b.name')),
  )
  const get = db.prepare(pick(ratingPriceBooks, 'id'), bookRow, (k, p) =>
    k('rating_price_books as b').join('rating_issuers as i', 'i.id', 'b.issuer_id').where('b.id', p.id).limit(1),
  )
  const lock = db.prepare(pick(ratingPriceBooks, 'id'), pick(ratingPriceBooks, 'id'), (k, p) =>
    k('rating_price_books').where('id', p.id).limit(1).forUpdate(),
  )
  const insert = insertInto(db, ratingPriceBooks, { omitted: ['id', 'invoicedTo'] })
  const versions = db.prepare(pick(ratingPriceVersions, 'bookId'), without(ratingPriceVersions, 'bookId'), (k, p) =>
    k('rating_price_versions').where('book_id', p.bookId).orderBy('number'),
  )
  const addVersion = insertInto(db, ratingPriceVersions)
  const mark = db.prepare({ ...pick(ratingPriceBooks, 'id'), month: int() }, (k, p) =>
    k('rating_price_books')
      .where('id', p.id)
      .whereRaw('coalesce(invoiced_to, 0) < ?', [p.month])
      .update({ invoiced_to: p.month }),
  )
  return (runner) => ({
    list: (page) => list(runner, {}, page),
    get: (id) => runner.first(get, { id }),
    async lock(ids) {
      for (const id of inOrder(ids)) await runner.first(lock, { id })
    },
    async insert(book, at) {
      try {
        return (await runner.run(insert, { ...book, createdAt: at })).insertId as PriceBookId
      } catch (error) {
        if (!isUniqueViolation(error, 'name')) throw error
        return undefined
      }
    },
    async versions(bookId) {
      const rows = await runner.all(versions, { bookId })
      return rows.map(({ fromMonth, ...version }) => ({ ...version, from: fromMonth }))
    },
    async addVersion(bookId, { from, ...version }) {
      await runner.run(addVersion, { ...version, bookId, fromMonth: from })
    },
    async markInvoiced(ids, month) {
      for (const id of inOrder(ids)) {
        await runner.first(lock, { id })
        await runner.run(mark, { id, month })
      }
    },
  })
}

/** ContractPricingStore over the table rating_contract_prices. */
export const makeSqlContractPricingStore = (db: SqlDatabase): ((runner: SqlRunner) => ContractPricingStore) => {
  const listOf = idList(db, ratingContractPrices.contractId, {}, columnsOf(ratingContractPrices), (k, _, ids) =>
    k('rating_contract_prices').whereIn('contract_id', ids).orderBy(['contract_id', 'from_month']),
  )
  const { contractId, fromMonth, ...terms } = columnsOf(ratingContractPrices)
  const put = db.prepare(columnsOf(ratingContractPrices), (k, p) =>
    k('rating_contract_prices')
      .insert(assigned({ contractId, fromMonth, ...terms }, p))
      .onConflict(['contract_id', 'from_month'])
      .merge(assigned(terms, p)),
  )
  const last = db.prepare({ contractId }, lastRow, (k, p) =>
    k('rating_invoice_lines as l')
      .join('rating_invoices as i', 'i.id', 'l.invoice_id')
      .where('l.contract_id', p.contractId)
      .whereNot('i.state', 'draft'),
  )
  return (runner) => ({
    async listOf(contractIds) {
      const rows = await rowsOfIds(runner, listOf, [...new Set(contractIds)], {})
      return rows.map(({ fromMonth: from, ...pricing }) => ({ ...pricing, from }))
    },
    async put({ from, ...pricing }) {
      await runner.run(put, { ...pricing, fromMonth: from })
    },
    lastInvoiced: async (id) => (await runner.first(last, { contractId: id }))?.last,
  })
}

const customerRow = without(ratingCustomers, 'updatedAt')

const customerOf = ({ ownerId, details, limitCurrency, limitAmount }: Row<typeof customerRow>): Customer => ({
  ...details,
  ownerId,
  spendLimit:
    limitCurrency === undefined || limitAmount === undefined
      ? undefined
      : { currency: limitCurrency, amount: limitAmount },
})

/** CustomerStore over the tables rating_customers and rating_spend_alerts. */
export const makeSqlCustomerStore = (db: SqlDatabase): ((runner: SqlRunner) => CustomerStore) => {
  const find = db.prepare(pick(ratingCustomers, 'ownerId'), customerRow, (k, p) =>
    k('rating_customers').where('owner_id', p.ownerId).limit(1),
  )
  const lock = db.prepare(pick(ratingCustomers, 'ownerId'), customerRow, (k, p) =>
    k('rating_customers').where('owner_id', p.ownerId).limit(1).forUpdate(),
  )
  const { ownerId, ...content } = columnsOf(ratingCustomers)
  const put = db.prepare({ ownerId, ...content }, (k, p) =>
    k('rating_customers')
      .insert(assigned({ ownerId, ...content }, p))
      .onConflict(['owner_id'])
      .merge(assigned(content, p)),
  )
  const owners = db.prepare({}, pick(ratingCustomers, 'ownerId'), (k) => k('rating_customers'))
  const limited = db.prepare({}, customerRow, (k) =>
    k('rating_customers').whereNotNull('limit_amount').orderBy('owner_id'),
  )
  const alert = db.prepare(columnsOf(ratingSpendAlerts), (k, p) =>
    k('rating_spend_alerts')
      .insert(newRow(ratingSpendAlerts, p))
      .onConflict(['owner_id', 'month', 'threshold'])
      .ignore(),
  )
  const read = (row: Row<typeof customerRow> | undefined) => (row === undefined ? undefined : customerOf(row))
  return (runner) => ({
    find: async (id) => read(await runner.first(find, { ownerId: id })),
    lock: async (id) => read(await runner.first(lock, { ownerId: id })),
    async put({ ownerId: id, spendLimit, ...details }, at) {
      await runner.run(put, {
        ownerId: id,
        details,
        limitCurrency: spendLimit?.currency,
        limitAmount: spendLimit?.amount,
        updatedAt: at,
      })
    },
    listOwners: async () => (await runner.all(owners, {})).map((row) => row.ownerId),
    listLimited: async () => (await runner.all(limited, {})).map(customerOf),
    markAlerted: async (id, month, threshold, at) =>
      (await runner.run(alert, { ownerId: id, month, threshold, sentAt: at })).affected > 0,
  })
}
