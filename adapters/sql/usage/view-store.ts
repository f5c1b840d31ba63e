import type { Knex } from 'knex'
import type { PackedText } from '../../../core/kernel/exchange.ts'
import type { StoredUsageView, UsageViewStore } from '../../../core/usage/views/ports.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import type { Row } from '../kit/columns.ts'
import { int, nullableColumns, pick, qualified } from '../kit/columns.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { usageMonths, usageViewPieces, usageViews } from '../tables/usage.ts'
import { monthOf, monthRow } from './rows.ts'
import type { PackText } from './packed-text.ts'
import { packText, unpackText } from './packed-text.ts'

/** How many pieces one statement reads. */
const piecesAtOnce = 8

const { id: viewId, ...shown } = qualified(
  pick(usageViews, 'id', 'product', 'view', 'viewType', 'head', 'tail', 'itemCount', 'pieceCount'),
  'v',
)
/** A view `v` with its revision `m`. */
const viewRow = { ...shown, viewId, ...monthRow }
/** A piece `p`: a PackedText. */
const pieceRow = qualified(pick(usageViewPieces, 'deflated', 'crc32', 'size'), 'p')
/** A view with its first piece, if it has one. */
const foundRow = { ...viewRow, ...nullableColumns(pieceRow) }

const viewOf = (row: Row<typeof viewRow>, first: PackedText | undefined): StoredUsageView => ({
  id: row.viewId,
  key: { product: row.product, view: row.view, viewType: row.viewType },
  head: row.head,
  tail: row.tail,
  itemCount: row.itemCount,
  pieceCount: row.pieceCount,
  month: monthOf(row),
  first,
})

const foundOf = (row: Row<typeof foundRow>): StoredUsageView => {
  const { deflated, crc32, size } = row
  return viewOf(
    row,
    deflated === undefined || crc32 === undefined || size === undefined ? undefined : { deflated, crc32, size },
  )
}

const views = (k: Knex): Knex.QueryBuilder =>
  k('usage_months as m').join('usage_views as v', 'v.month_id', 'm.id').where('v.piece_count', '>=', 0)

const keyParams = { ...pick(usageViews, 'product', 'view', 'viewType'), ...pick(usageMonths, 'ownerId', 'month') }

/** The first piece comes with the view: most views have no other. */
const found = (k: Knex, p: Slots<typeof keyParams>): Knex.QueryBuilder =>
  views(k)
    .where('v.product', p.product)
    .where('v.view', p.view)
    .where('v.view_type', p.viewType)
    .leftJoin('usage_view_pieces as p', (on) => on.on('p.view_id', 'v.id').onVal('p.piece', 0))
    .where('m.owner_id', p.ownerId)
    .where('m.month', p.month)
    .where('m.is_published', true)
    .orderBy('m.revision', 'desc')
    .limit(1)

const viewStatements = (db: SqlDatabase) => ({
  // A view that is being written has no items yet, and is of a revision that readers do not see.
  begin: insertInto(db, usageViews, { omitted: ['id'], fixed: { head: '', tail: '', itemCount: 0, pieceCount: -1 } }),
  complete: db.prepare(pick(usageViews, 'id', 'head', 'tail', 'itemCount', 'pieceCount'), (k, { id, ...p }) =>
    k('usage_views').where('id', id).update(values(usageViews, p)),
  ),
  months: db.prepare(pick(usageMonths, 'ownerId'), { month: usageMonths.month }, (k, p) =>
    k('usage_months')
      .distinct()
      .where(values(usageMonths, { ownerId: p.ownerId, isPublished: true }))
      .orderBy('month'),
  ),
  newest: db.prepare(keyParams, foundRow, found),
  revision: db.prepare({ ...keyParams, ...pick(usageMonths, 'revision') }, foundRow, (k, p) =>
    found(k, p).where('m.revision', p.revision),
  ),
  list: db.prepare({ monthId: usageMonths.id }, viewRow, (k, p) =>
    views(k).where('m.id', p.monthId).orderBy(['v.product', 'v.view', 'v.view_type']),
  ),
})

const byKeyAtMost = { viewId: usageViewPieces.viewId, key: usageViewPieces.firstKey }

const pieceStatements = (db: SqlDatabase) => ({
  addPiece: insertInto(db, usageViewPieces),
  pieces: db.prepare({ viewId: usageViewPieces.viewId, from: int(), limit: int() }, pieceRow, (k, p) =>
    k('usage_view_pieces as p')
      .where('p.view_id', p.viewId)
      .where('p.piece', '>=', p.from)
      .orderBy('p.piece')
      .limit(p.limit),
  ),
  /**
   * The last piece whose first item does not follow the key. Equal first keys are of views with several items for one
   * key.
   */
  pieceOf: db.prepare(byKeyAtMost, pieceRow, (k, p) =>
    k('usage_view_pieces as p')
      .where('p.view_id', p.viewId)
      .where('p.first_key', '<=', p.key)
      .orderBy([
        { column: 'p.first_key', order: 'desc' },
        { column: 'p.piece', order: 'desc' },
      ])
      .limit(1),
  ),
  /** The last piece whose first item is before the key: the first that can have an item of the key. */
  pieceBefore: db.prepare(byKeyAtMost, qualified(pick(usageViewPieces, 'piece'), 'p'), (k, p) =>
    k('usage_view_pieces as p')
      .where('p.view_id', p.viewId)
      .where('p.first_key', '<', p.key)
      .orderBy([
        { column: 'p.first_key', order: 'desc' },
        { column: 'p.piece', order: 'desc' },
      ])
      .limit(1),
  ),
})

const statementsOf = (db: SqlDatabase) => ({ ...viewStatements(db), ...pieceStatements(db) })
type ViewStatements = ReturnType<typeof statementsOf>

async function* packedFrom(
  s: ViewStatements,
  runner: SqlRunner,
  view: StoredUsageView,
  from: number,
): AsyncGenerator<PackedText> {
  let next = from
  if (next === 0 && view.first !== undefined) {
    yield view.first
    next = 1
  }
  while (next < view.pieceCount) {
    const rows = await runner.all(s.pieces, { viewId: view.id, from: next, limit: piecesAtOnce })
    if (rows.length === 0) throw new Error(`The view ${view.id} lacks its piece ${next}.`)
    for (const row of rows) {
      // Dividing items, and writing them as CSV, takes longer than reading them, and clients that read at the same time
      // wait for each other.
      await pauseInLongTurn()
      yield row
    }
    next += rows.length
  }
}

/**
 * UsageViewStore over the tables usage_views and usage_view_pieces. A view is written before its revision is published,
 * in short transactions.
 */
export const makeSqlUsageViewStore = (
  db: SqlDatabase,
  pack: PackText = packText,
): ((runner: SqlRunner) => UsageViewStore) => {
  const s = statementsOf(db)
  return (runner) => ({
    async begin(monthId, { product, view, viewType }) {
      return (await runner.run(s.begin, { monthId, product, view, viewType })).insertId
    },
    async addPiece(id, piece, { firstKey, items }) {
      await runner.run(s.addPiece, { viewId: id, piece, firstKey, ...(await pack(items)) })
    },
    async complete(id, { head, tail, itemCount, pieceCount }) {
      await runner.run(s.complete, { id, head, tail, itemCount, pieceCount })
    },
    async monthsOf(ownerId) {
      return (await runner.all(s.months, { ownerId })).map(({ month }) => month)
    },
    async find(ownerId, month, { product, view, viewType }, revision) {
      const key = { ownerId, month, product, view, viewType }
      const row =
        revision === undefined
          ? await runner.first(s.newest, key)
          : await runner.first(s.revision, { ...key, revision })
      return row === undefined ? undefined : foundOf(row)
    },
    async listOf(monthId) {
      return (await runner.all(s.list, { monthId })).map((row) => viewOf(row, undefined))
    },
    async *pieces(view, from) {
      const first = from === undefined ? undefined : await runner.first(s.pieceBefore, { viewId: view.id, key: from })
      for await (const packed of packedFrom(s, runner, view, first?.piece ?? 0)) yield await unpackText(packed)
    },
    packedPieces: (view) => packedFrom(s, runner, view, 0),
    async pieceWith(view, key) {
      const row = await runner.first(s.pieceOf, { viewId: view.id, key })
      return row === undefined ? undefined : unpackText(row)
    },
  })
}
