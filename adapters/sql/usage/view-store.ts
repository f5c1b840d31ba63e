import type { Knex } from 'knex'
import type { PackedText } from '../../../core/kernel/exchange.ts'
import type { MonthKey, UsageProduct, UsageViewType } from '../../../core/usage/types.ts'
import type { StoredUsageView, UsageViewKey, UsageViewStore } from '../../../core/usage/views/ports.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { MonthRow } from './rows.ts'
import { monthColumns, monthOf } from './rows.ts'
import type { PackText } from './packed-text.ts'
import { packText, unpackText } from './packed-text.ts'

/** How many pieces one statement reads. */
const piecesAtOnce = 8

interface ViewRow extends MonthRow {
  readonly view_id: number
  readonly product: string
  readonly view: string
  readonly view_type: string
  readonly head: string
  readonly tail: string
  readonly item_count: number
  readonly piece_count: number
}

interface PieceRow {
  readonly body: Uint8Array
  readonly crc32: Num
  readonly size: number
}
type FoundRow = ViewRow & { readonly [K in keyof PieceRow]: PieceRow[K] | null }

const viewColumns = [
  'v.id as view_id',
  'v.product',
  'v.view',
  'v.view_type',
  'v.head',
  'v.tail',
  'v.item_count',
  'v.piece_count',
  ...monthColumns,
] as const
const pieceColumns = ['p.body', 'p.crc32', 'p.size'] as const

const packedOf = ({ body, crc32, size }: PieceRow): PackedText => ({ deflated: body, crc32: Number(crc32), size })

const viewOf = (row: ViewRow, first: PackedText | undefined): StoredUsageView => ({
  id: row.view_id,
  key: {
    product: row.product as UsageProduct,
    view: row.view as UsageViewKey['view'],
    viewType: row.view_type as UsageViewType,
  },
  head: row.head,
  tail: row.tail,
  itemCount: row.item_count,
  pieceCount: row.piece_count,
  month: monthOf(row),
  first,
})

const foundOf = (row: FoundRow): StoredUsageView => {
  const { body, crc32, size } = row
  return viewOf(row, body === null || crc32 === null || size === null ? undefined : packedOf({ body, crc32, size }))
}

/** A view that is being written has no items yet, and is of a revision that readers do not see. */
const incomplete = { head: '', tail: '', item_count: 0, piece_count: -1 }

const views = (k: Knex): Knex.QueryBuilder =>
  k('usage_months as m').join('usage_views as v', 'v.month_id', 'm.id').where('v.piece_count', '>=', 0)

type KeyNames = 'product' | 'view' | 'viewType'
const ofKey = (rows: Knex.QueryBuilder, p: Params<KeyNames>): Knex.QueryBuilder =>
  rows.where({ 'v.product': p('product'), 'v.view': p('view'), 'v.view_type': p('viewType') })

const statementsOf = (db: SqlDatabase) => {
  /** The first piece comes with the view: most views have no other. */
  const found = (k: Knex, p: Params<KeyNames | 'owner' | 'month'>): Knex.QueryBuilder =>
    ofKey(views(k), p)
      .leftJoin('usage_view_pieces as p', (on) => on.on('p.view_id', 'v.id').onVal('p.piece', 0))
      .where({ 'm.owner_id': p('owner'), 'm.month': p('month'), 'm.is_published': true })
      .orderBy('m.revision', 'desc')
      .limit(1)
      .select(...viewColumns, ...pieceColumns)
  return {
    begin: db.prepare((k, p: Params<KeyNames | 'monthId'>) =>
      k('usage_views').insert({
        month_id: p('monthId'),
        product: p('product'),
        view: p('view'),
        view_type: p('viewType'),
        ...incomplete,
      }),
    ),
    addPiece: db.prepare((k, p: Params<'id' | 'piece' | 'firstKey' | 'crc32' | 'size' | 'body'>) =>
      k('usage_view_pieces').insert({
        view_id: p('id'),
        piece: p('piece'),
        first_key: p('firstKey'),
        crc32: p('crc32'),
        size: p('size'),
        body: p('body'),
      }),
    ),
    complete: db.prepare((k, p: Params<'id' | 'head' | 'tail' | 'itemCount' | 'pieceCount'>) =>
      k('usage_views')
        .where('id', p('id'))
        .update({ head: p('head'), tail: p('tail'), item_count: p('itemCount'), piece_count: p('pieceCount') }),
    ),
    months: db.prepare((k, p: Params<'owner'>) =>
      k('usage_months')
        .distinct('month')
        .where({ owner_id: p('owner'), is_published: true })
        .orderBy('month'),
    ),
    newest: db.prepare((k, p: Params<KeyNames | 'owner' | 'month'>) => found(k, p)),
    revision: db.prepare((k, p: Params<KeyNames | 'owner' | 'month' | 'revision'>) =>
      found(k, p).where('m.revision', p('revision')),
    ),
    list: db.prepare((k, p: Params<'monthId'>) =>
      views(k)
        .where('m.id', p('monthId'))
        .orderBy(['v.product', 'v.view', 'v.view_type'])
        .select(...viewColumns),
    ),
    pieces: db.prepare((k, p: Params<'id' | 'from' | 'limit'>) =>
      k('usage_view_pieces as p')
        .where('p.view_id', p('id'))
        .where('p.piece', '>=', p('from'))
        .orderBy('p.piece')
        .limit(p('limit'))
        .select(...pieceColumns),
    ),
    /**
     * The last piece whose first item does not follow the key. Equal first keys are of views with several items for one
     * key.
     */
    pieceOf: db.prepare((k, p: Params<'id' | 'key'>) =>
      k('usage_view_pieces as p')
        .where('p.view_id', p('id'))
        .where('p.first_key', '<=', p('key'))
        .orderBy([
          { column: 'p.first_key', order: 'desc' },
          { column: 'p.piece', order: 'desc' },
        ])
        .limit(1)
        .select('p.piece', ...pieceColumns),
    ),
    /** The last piece whose first item is before the key: the first that can have an item of the key. */
    pieceBefore: db.prepare((k, p: Params<'id' | 'key'>) =>
      k('usage_view_pieces as p')
        .where('p.view_id', p('id'))
        .where('p.first_key', '<', p('key'))
        .orderBy([
          { column: 'p.first_key', order: 'desc' },
          { column: 'p.piece', order: 'desc' },
        ])
        .limit(1)
        .select('p.piece'),
    ),
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
  return (runner) => {
    const packedFrom = async function* (view: StoredUsageView, from: number): AsyncGenerator<PackedText> {
      let next = from
      if (next === 0 && view.first !== undefined) {
        yield view.first
        next = 1
      }
      while (next < view.pieceCount) {
        const rows = await runner.all<PieceRow>(s.pieces, { id: view.id, from: next, limit: piecesAtOnce })
        if (rows.length === 0) throw new Error(`The view ${view.id} lacks its piece ${next}.`)
        for (const row of rows) {
          // Dividing items, and writing them as CSV, takes longer than reading them, and clients that read at the same
          // time wait for each other.
          await pauseInLongTurn()
          yield packedOf(row)
        }
        next += rows.length
      }
    }
    return {
      async begin(monthId, { product, view, viewType }) {
        return (await runner.run(s.begin, { monthId, product, view, viewType })).insertId
      },
      async addPiece(id, piece, { firstKey, items }) {
        const { deflated, crc32, size } = await pack(items)
        await runner.run(s.addPiece, { id, piece, firstKey, crc32, size, body: deflated })
      },
      async complete(id, { head, tail, itemCount, pieceCount }) {
        await runner.run(s.complete, { id, head, tail, itemCount, pieceCount })
      },
      async monthsOf(ownerId) {
        return (await runner.all<{ readonly month: number }>(s.months, { owner: ownerId })).map(
          ({ month }) => month as MonthKey,
        )
      },
      async find(ownerId, month, { product, view, viewType }, revision) {
        const key = { owner: ownerId, month, product, view, viewType }
        const row =
          revision === undefined
            ? await runner.first<FoundRow>(s.newest, key)
            : await runner.first<FoundRow>(s.revision, { ...key, revision })
        return row === undefined ? undefined : foundOf(row)
      },
      async listOf(monthId) {
        return (await runner.all<ViewRow>(s.list, { monthId })).map((row) => viewOf(row, undefined))
      },
      async *pieces(view, from) {
        const first =
          from === undefined
            ? undefined
            : await runner.first<{ readonly piece: number }>(s.pieceBefore, { id: view.id, key: from })
        for await (const packed of packedFrom(view, first?.piece ?? 0)) yield await unpackText(packed)
      },
      packedPieces: (view) => packedFrom(view, 0),
      async pieceWith(view, key) {
        const row = await runner.first<PieceRow>(s.pieceOf, { id: view.id, key })
        return row === undefined ? undefined : unpackText(packedOf(row))
      },
    }
  }
}
