import type { Knex } from 'knex'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Invoice, InvoiceId, InvoiceStore, InvoiceWithLines } from '../../../core/rating/invoices/ports.ts'
import type { RatedLine } from '../../../core/rating/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, columnsOf, nullable, orElse, pick } from '../kit/columns.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Shown } from '../kit/page-query.ts'
import { typedPage } from '../kit/page-query.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertAllInto, insertInto, values } from '../kit/values.ts'
import { accounts } from '../tables/identity.ts'
import { ratingInvoiceLines, ratingInvoices, ratingMonths } from '../tables/rating.ts'

/** An invoice `i` with its owner `a`, if there is one, and what it corrects `c`. */
const invoiceRow = {
  ...aliased(ratingInvoices, 'i'),
  ownerName: orElse(aliased(accounts, 'a').name, ''),
  correctedNumber: nullable(aliased(ratingInvoices, 'c').number),
}
const lineRow = columnsOf(ratingInvoiceLines)

const invoices = (k: Knex): Knex.QueryBuilder =>
  k('rating_invoices as i')
    .leftJoin('accounts as a', 'a.id', 'i.owner_id')
    .leftJoin('rating_invoices as c', 'c.id', 'i.corrects_id')

const invoiceOf = ({ correctsId, correctedNumber, sequence: _, ...row }: Row<typeof invoiceRow>): Invoice => ({
  ...row,
  corrects: correctsId === undefined ? undefined : { id: correctsId, number: correctedNumber ?? '' },
})

const lineOf = ({ details, contractId, bookId, net }: Row<typeof lineRow>): RatedLine => ({
  ...details,
  contractId,
  bookId,
  net,
})

/** So many invoices are read at once when all of a month are. */
const invoicesAtOnce = 100

const reads = (db: SqlDatabase) => {
  const owned = pick(ratingInvoices, 'ownerId', 'id')
  const ofMonth = pick(ratingInvoices, 'ownerId', 'month')
  const issued = (k: Knex, p: Slots<Pick<typeof ratingInvoices, 'month' | 'id'>>): Knex.QueryBuilder =>
    invoices(k)
      .where('i.month', p.month)
      .where('i.id', '>', p.id)
      .whereNotIn('i.state', ['draft', 'void'])
      .orderBy('i.id')
      .limit(invoicesAtOnce)
  const ofOwner = pick(ratingInvoices, 'ownerId')
  const list = (k: Knex, p: Slots<typeof ofOwner>): Knex.QueryBuilder => invoices(k).where('i.owner_id', p.ownerId)
  const newest: Shown = (_, rows, cut) =>
    cut(
      rows.orderBy([
        { column: 'i.month', order: 'desc' },
        { column: 'i.id', order: 'desc' },
      ]),
    )
  return {
    list: typedPage(db, ofOwner, invoiceRow, list, newest),
    listIssued: typedPage(db, ofOwner, invoiceRow, (k, p) => list(k, p).whereNot('i.state', 'draft'), newest),
    find: db.prepare(owned, invoiceRow, (k, p) =>
      invoices(k).where('i.id', p.id).where('i.owner_id', p.ownerId).limit(1),
    ),
    lock: db.prepare(owned, pick(ratingInvoices, 'id'), (k, p) =>
      k('rating_invoices').where('id', p.id).where('owner_id', p.ownerId).limit(1).forUpdate(),
    ),
    ofMonth: db.prepare(ofMonth, invoiceRow, (k, p) =>
      invoices(k).where('i.owner_id', p.ownerId).where('i.month', p.month).whereNot('i.state', 'void').orderBy('i.id'),
    ),
    correcting: db.prepare({ ...ofMonth, correctsId: ratingInvoices.id }, invoiceRow, (k, p) =>
      invoices(k)
        .where('i.owner_id', p.ownerId)
        .where('i.month', p.month)
        .where('i.corrects_id', p.correctsId)
        .whereNot('i.state', 'void')
        .orderBy('i.id'),
    ),
    issued: db.prepare(pick(ratingInvoices, 'month', 'id'), invoiceRow, issued),
    issuedOf: db.prepare(pick(ratingInvoices, 'month', 'id', 'ownerId'), invoiceRow, (k, p) =>
      issued(k, p).where('i.owner_id', p.ownerId),
    ),
    lines: idList(db, ratingInvoiceLines.invoiceId, {}, lineRow, (k, _, ids) =>
      k('rating_invoice_lines').whereIn('invoice_id', ids).orderBy(['invoice_id', 'line']),
    ),
    drafted: db.prepare(pick(ratingMonths, 'month'), columnsOf(ratingMonths), (k, p) =>
      k('rating_months').where('month', '>=', p.month),
    ),
  }
}

const writes = (db: SqlDatabase) => {
  const { id, net, revision, sequence, number, tax, terms, issuedAt, dueAt, sentAt, paidAt, paymentReference } =
    columnsOf(ratingInvoices)
  const { voidedAt, voidReason } = columnsOf(ratingInvoices)
  const row = (k: Knex, p: Slots<{ readonly id: typeof id }>): Knex.QueryBuilder =>
    k('rating_invoices').where('id', p.id)
  const issued = { sequence, number, tax, terms, issuedAt, dueAt }
  const months = columnsOf(ratingMonths)
  return {
    insert: insertInto(db, ratingInvoices, {
      omitted: [
        'id',
        'sequence',
        'number',
        'tax',
        'terms',
        'issuedAt',
        'dueAt',
        'sentAt',
        'paidAt',
        'paymentReference',
        'voidedAt',
        'voidReason',
      ],
      fixed: { state: 'draft' },
    }),
    addLines: insertAllInto(db, ratingInvoiceLines),
    dropLines: db.prepare(pick(ratingInvoiceLines, 'invoiceId'), (k, p) =>
      k('rating_invoice_lines').where('invoice_id', p.invoiceId).delete(),
    ),
    setNet: db.prepare({ id, net, revision }, (k, p) => row(k, p).update(assigned({ net, revision }, p))),
    remove: db.prepare({ id }, (k, p) => row(k, p).delete()),
    issue: db.prepare({ id, ...issued }, (k, p) =>
      row(k, p).update({ ...assigned(issued, p), ...values(ratingInvoices, { state: 'issued' }) }),
    ),
    markSent: db.prepare({ id, sentAt }, (k, p) =>
      row(k, p).update({ ...assigned({ sentAt }, p), ...values(ratingInvoices, { state: 'sent' }) }),
    ),
    markPaid: db.prepare({ id, paidAt, paymentReference }, (k, p) =>
      row(k, p).update({ ...assigned({ paidAt, paymentReference }, p), ...values(ratingInvoices, { state: 'paid' }) }),
    ),
    markVoid: db.prepare({ id, voidedAt, voidReason }, (k, p) =>
      row(k, p).update({ ...assigned({ voidedAt, voidReason }, p), ...values(ratingInvoices, { state: 'void' }) }),
    ),
    setDrafted: db.prepare(months, (k, p) =>
      k('rating_months')
        .insert(assigned(months, p))
        .onConflict(['owner_id', 'month'])
        .merge(assigned({ revision: months.revision }, p)),
    ),
  }
}

/** InvoiceStore over the tables rating_invoices, rating_invoice_lines and rating_months. */
export const makeSqlInvoiceStore = (db: SqlDatabase): ((runner: SqlRunner) => InvoiceStore) => {
  const s = { ...reads(db), ...writes(db) }
  const withLines = async (
    runner: SqlRunner,
    rows: readonly Row<typeof invoiceRow>[],
  ): Promise<readonly InvoiceWithLines[]> => {
    const ids = rows.map(({ id }) => id)
    const lines = Map.groupBy(await rowsOfIds(runner, s.lines, ids, {}), ({ invoiceId }) => invoiceId)
    return rows.map((row) => ({ ...invoiceOf(row), lines: (lines.get(row.id) ?? []).map(lineOf) }))
  }
  return (runner) => {
    const find: InvoiceStore['find'] = async (ownerId, id) => {
      const [invoice] = await withLines(runner, await runner.all(s.find, { ownerId, id }))
      return invoice
    }
    const addLines = (invoiceId: InvoiceId, lines: readonly RatedLine[]): Promise<void> =>
      s.addLines(
        runner,
        lines.map(({ contractId, bookId, net, ...details }, index) => ({
          invoiceId,
          line: index + 1,
          contractId,
          bookId,
          details,
          net,
        })),
      )
    return {
      async list({ ownerId, withDrafts }, page) {
        return mapPage(await (withDrafts ? s.list : s.listIssued)(runner, { ownerId }, page), invoiceOf)
      },
      find,
      async lock(ownerId, id) {
        return (await runner.first(s.lock, { ownerId, id })) === undefined ? undefined : find(ownerId, id)
      },
      listOfMonth: async (ownerId, month) => withLines(runner, await runner.all(s.ofMonth, { ownerId, month })),
      async listCorrecting({ ownerId, month, id }) {
        return withLines(runner, await runner.all(s.correcting, { ownerId, month, correctsId: id }))
      },
      async *issuedIn(month, ownerId) {
        for (let after = 0 as InvoiceId; ;) {
          const rows =
            ownerId === undefined
              ? await runner.all(s.issued, { month, id: after })
              : await runner.all(s.issuedOf, { month, id: after, ownerId })
          yield* await withLines(runner, rows)
          const last = rows.at(-1)
          if (last === undefined || rows.length < invoicesAtOnce) return
          after = last.id
        }
      },
      async insert({ lines, ...draft }, at) {
        const { insertId } = await runner.run(s.insert, { ...draft, createdAt: at })
        const id = insertId as InvoiceId
        await addLines(id, lines)
        return id
      },
      async setLines(id, { lines, net, revision }) {
        await runner.run(s.dropLines, { invoiceId: id })
        await addLines(id, lines)
        await runner.run(s.setNet, { id, net, revision })
      },
      async remove(id) {
        await runner.run(s.remove, { id })
      },
      async issue(invoice) {
        await runner.run(s.issue, invoice)
      },
      async markSent(id, sentAt) {
        await runner.run(s.markSent, { id, sentAt })
      },
      async markPaid(id, paidAt, paymentReference) {
        await runner.run(s.markPaid, { id, paidAt, paymentReference })
      },
      async markVoid(id, voidedAt, voidReason) {
        await runner.run(s.markVoid, { id, voidedAt, voidReason })
      },
      draftedSince: (first) => runner.all(s.drafted, { month: first }),
      async setDraftedRevision(ownerId, month, revision) {
        await runner.run(s.setDrafted, { ownerId, month, revision })
      },
    }
  }
}
