import type { Knex } from 'knex'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import type { Binds, Columns, Row, Table } from './columns.ts'
import { columnsOf, instant, long, longText, selectedAs, tableName } from './columns.ts'
import { isUniqueViolation } from './driver-errors.ts'
import type { Shown } from './page-query.ts'
import { filteredRows, typedPage } from './page-query.ts'
import type { Slots, SqlDatabase, SqlRunner } from './statement.ts'
import { assigned } from './values.ts'

/**
 * A table whose rows belong to one account each, with a name that is unique within the account. Besides the columns
 * named here it has `id`, `created_at` and `updated_at`.
 */
export interface OwnedTable<C extends Columns, R extends Columns, W extends Columns> {
  readonly table: Table<C>
  /** The field of the owner's id, and the table whose row is locked for changes that depend on the number of rows. */
  readonly owner: { readonly field: keyof C & string; readonly table: 'accounts' | 'users' }
  readonly name: keyof C & string
  /** The columns that are read. */
  readonly shown: R
  /** The columns that are written besides the owner and the name. */
  readonly content: W
}

/** Every statement names the owner, so that no id and no name reaches another account's row. */
export interface OwnedRows<R extends Columns, W extends Columns> {
  /** Returns a page, by name. `narrowed` adds further conditions. */
  list(ownerId: number, page: PageRequest, narrowed?: (rows: Knex.QueryBuilder) => void): Promise<Page<Row<R>>>
  find(ownerId: number, name: string): Promise<Row<R> | undefined>
  /** Locks the owner until the transaction ends, so that the number of rows that is returned stays. */
  lockCount(ownerId: number): Promise<number>
  /** Returns the id; undefined if the owner has a row of that name. The first version is 1. */
  insert(ownerId: number, name: string, content: Binds<W>, at: Date): Promise<number | undefined>
  /** Returns false if the row does not exist or has another version. Only for tables with the column `version`. */
  replace(ownerId: number, id: number, version: number, content: Binds<W>, at: Date): Promise<boolean>
  /** Inserts the row, or replaces its content. Only for tables without the column `version`. */
  put(ownerId: number, name: string, content: Binds<W>, at: Date): Promise<void>
  /** Returns the id of the removed row; undefined if there was none. */
  remove(ownerId: number, name: string): Promise<number | undefined>
}

const replaceParams = { id: long(), version: long() }
const ownerParams = { ownerId: long() }
const namedParams = { ...ownerParams, name: longText() }
const idRow = { id: selectedAs(long()) }

const statementsOf = <C extends Columns, R extends Columns, W extends Columns>(
  db: SqlDatabase,
  { table, owner, name, shown, content }: OwnedTable<C, R, W>,
) => {
  const from = tableName(table)
  const columnOf = (field: keyof C & string): string => columnsOf(table)[field]?.name ?? field
  const [ownerColumn, nameColumn] = [columnOf(owner.field), columnOf(name)]
  const named = (k: Knex, p: Slots<typeof namedParams>): Knex.QueryBuilder =>
    k(from).where(ownerColumn, p.ownerId).where(nameColumn, p.name)
  const written = { ...namedParams, ...content, at: instant() }
  type Written = Slots<typeof namedParams> & Slots<W> & Slots<{ readonly at: ReturnType<typeof instant> }>
  const inserted = (p: Written): Record<string, Knex.Value> => ({
    ...({ [ownerColumn]: p.ownerId, [nameColumn]: p.name } as unknown as Record<string, Knex.Value>),
    ...assigned(content, p),
    ...({ created_at: p.at, updated_at: p.at } as unknown as Record<string, Knex.Value>),
  })
  const replaced = (p: Written): Record<string, Knex.Value> => ({
    ...assigned(content, p),
    updated_at: p.at as unknown as Knex.Value,
  })
  return {
    nameColumn,
    find: db.prepare(namedParams, shown, (k, p) => named(k, p)),
    idOf: db.prepare(namedParams, idRow, (k, p) => named(k, p).select('id').forUpdate()),
    lockOwner: db.prepare(ownerParams, (k, p) => k(owner.table).where('id', p.ownerId).select('id').forUpdate()),
    count: db.prepare(ownerParams, { total: selectedAs(long()) }, (k, p) =>
      k(from).where(ownerColumn, p.ownerId).count('* as total'),
    ),
    insert: db.prepare(written, (k, p) => k(from).insert({ ...inserted(p as Written), version: 1 })),
    put: db.prepare(written, (k, p) =>
      k(from)
        .insert(inserted(p as Written))
        .onConflict([ownerColumn, nameColumn])
        .merge(replaced(p as Written)),
    ),
    replace: db.prepare({ ...content, ...ownerParams, ...replaceParams, at: instant() }, (k, p) =>
      k(from)
        .where(ownerColumn, (p as unknown as Written).ownerId)
        .where('id', (p as unknown as Slots<typeof replaceParams>).id)
        .where('version', (p as unknown as Slots<typeof replaceParams>).version)
        .update({ ...replaced(p as unknown as Written), version: k.raw('?? + 1', ['version']) }),
    ),
    remove: db.prepare({ ...ownerParams, id: long() }, (k, p) =>
      k(from).where(ownerColumn, p.ownerId).where('id', p.id).del(),
    ),
    list: typedPage(db, ownerParams, shown, (k, p) => k(from).where(ownerColumn, p.ownerId), byName(nameColumn)),
    listOf: (k: Knex, ownerId: number) => k(from).where(ownerColumn, ownerId),
  }
}

const byName =
  (nameColumn: string): Shown =>
  (_, rows, cut) =>
    cut(rows.orderBy(nameColumn))

/** The rows of an owned table. Statements are composed once, then bound to a runner. */
export const ownedRows = <C extends Columns, R extends Columns, W extends Columns>(
  db: SqlDatabase,
  described: OwnedTable<C, R, W>,
): ((runner: SqlRunner) => OwnedRows<R, W>) => {
  const s = statementsOf(db, described)
  type Content = Parameters<typeof s.insert.binds>[0]
  type Replaced = Parameters<typeof s.replace.binds>[0]
  return (runner) => ({
    list: (ownerId, page, narrowed) =>
      narrowed === undefined
        ? s.list(runner, { ownerId }, page)
        : filteredRows(
            runner,
            described.shown,
            (k) => s.listOf(k, ownerId).modify(narrowed),
            byName(s.nameColumn),
            page,
          ),
    find: (ownerId, name) => runner.first(s.find, { ownerId, name }),
    async lockCount(ownerId) {
      await runner.first(s.lockOwner, { ownerId })
      return (await runner.first(s.count, { ownerId }))?.total ?? 0
    },
    async insert(ownerId, name, content, at) {
      try {
        return (await runner.run(s.insert, { ...content, ownerId, name, at } as unknown as Content)).insertId
      } catch (error) {
        if (!isUniqueViolation(error, s.nameColumn)) throw error
        return undefined
      }
    },
    async replace(ownerId, id, version, content, at) {
      const binds = { ...content, ownerId, id, version, at } as unknown as Replaced
      return (await runner.run(s.replace, binds)).affected > 0
    },
    async put(ownerId, name, content, at) {
      await runner.run(s.put, { ...content, ownerId, name, at } as unknown as Content)
    },
    async remove(ownerId, name) {
      const row = await runner.first(s.idOf, { ownerId, name })
      if (row === undefined) return undefined
      await runner.run(s.remove, { ownerId, id: row.id })
      return row.id
    },
  })
}
