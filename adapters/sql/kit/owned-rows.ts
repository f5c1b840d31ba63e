import type { Knex } from 'knex'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from './driver-errors.ts'
import type { CountRow, Shown } from './page-query.ts'
import { filteredPage, pageQuery } from './page-query.ts'
import type { Bind, Num, Params, SqlDatabase, SqlRunner } from './statement.ts'

/**
 * A table whose rows belong to one account each, with a name that is unique within the account. Besides the columns
 * named here it has `id`, `created_at` and `updated_at`.
 */
export interface OwnedTable<Content extends string> {
  readonly table: string
  /** The column of the owner's id, and the table whose row is locked for changes that depend on the number of rows. */
  readonly owner: { readonly column: string; readonly table: 'accounts' | 'users' }
  readonly name: string
  /** The columns that are read. */
  readonly shown: readonly string[]
  /** The columns that are written besides the owner and the name. */
  readonly content: readonly Content[]
}

/** Every statement names the owner, so that no id and no name reaches another account's row. */
export interface OwnedRows<Row, Content extends string> {
  /** Returns a page, by name. `narrowed` adds further conditions. */
  list(ownerId: number, page: PageRequest, narrowed?: (rows: Knex.QueryBuilder) => void): Promise<Page<Row>>
  find(ownerId: number, name: string): Promise<Row | undefined>
  /** Locks the owner until the transaction ends, so that the number of rows that is returned stays. */
  lockCount(ownerId: number): Promise<number>
  /** Returns the id; undefined if the owner has a row of that name. The first version is 1. */
  insert(ownerId: number, name: string, content: Readonly<Record<Content, Bind>>, at: Date): Promise<number | undefined>
  /** Returns false if the row does not exist or has another version. Only for tables with the column `version`. */
  replace(
    ownerId: number,
    id: number,
    version: number,
    content: Readonly<Record<Content, Bind>>,
    at: Date,
  ): Promise<boolean>
  /** Inserts the row, or replaces its content. Only for tables without the column `version`. */
  put(ownerId: number, name: string, content: Readonly<Record<Content, Bind>>, at: Date): Promise<void>
  /** Returns the id of the removed row; undefined if there was none. */
  remove(ownerId: number, name: string): Promise<number | undefined>
}

const statementsOf = <Content extends string>(
  db: SqlDatabase,
  { table, owner, name, shown, content }: OwnedTable<Content>,
) => {
  const named = (k: Knex, p: Params<'ownerId' | 'name'>): Knex.QueryBuilder =>
    k(table).where(owner.column, p('ownerId')).where(name, p('name'))
  const written = (p: Params<Content>): Record<string, Knex.Value> =>
    Object.fromEntries(content.map((column) => [column, p(column)]))
  const inserted = (p: Params<Content | 'ownerId' | 'name' | 'at'>): Record<string, Knex.Value> => ({
    [owner.column]: p('ownerId'),
    [name]: p('name'),
    ...written(p),
    created_at: p('at'),
    updated_at: p('at'),
  })
  return {
    find: db.prepare((k, p: Params<'ownerId' | 'name'>) => named(k, p).select(...shown)),
    idOf: db.prepare((k, p: Params<'ownerId' | 'name'>) => named(k, p).select('id').forUpdate()),
    lockOwner: db.prepare((k, p: Params<'ownerId'>) =>
      k(owner.table).where('id', p('ownerId')).select('id').forUpdate(),
    ),
    count: db.prepare((k, p: Params<'ownerId'>) => k(table).where(owner.column, p('ownerId')).count('* as total')),
    insert: db.prepare((k, p: Params<Content | 'ownerId' | 'name' | 'at'>) =>
      k(table).insert({ ...inserted(p), version: 1 }),
    ),
    put: db.prepare((k, p: Params<Content | 'ownerId' | 'name' | 'at'>) =>
      k(table)
        .insert(inserted(p))
        .onConflict([owner.column, name])
        .merge({ ...written(p), updated_at: p('at') }),
    ),
    replace: db.prepare((k, p: Params<Content | 'ownerId' | 'id' | 'version' | 'at'>) =>
      k(table)
        .where(owner.column, p('ownerId'))
        .where('id', p('id'))
        .where('version', p('version'))
        .update({ ...written(p), updated_at: p('at'), version: k.raw('?? + 1', ['version']) }),
    ),
    remove: db.prepare((k, p: Params<'ownerId' | 'id'>) =>
      k(table).where(owner.column, p('ownerId')).where('id', p('id')).del(),
    ),
  }
}

/** The rows of an owned table. Statements are composed once, then bound to a runner. */
export const ownedRows = <Row, Content extends string>(
  db: SqlDatabase,
  described: OwnedTable<Content>,
): ((runner: SqlRunner) => OwnedRows<Row, Content>) => {
  const s = statementsOf(db, described)
  const { table, owner, name: nameColumn, shown } = described
  const byName: Shown = (_, rows, cut) => cut(rows.select(...shown).orderBy(nameColumn))
  const all = pageQuery(db, (k, p: Params<'ownerId'>) => k(table).where(owner.column, p('ownerId')), byName)
  return (runner) => ({
    list: (ownerId, page, narrowed) =>
      narrowed === undefined
        ? all<Row>(runner, { ownerId }, page)
        : filteredPage<Row>(runner, (k) => k(table).where(owner.column, ownerId).modify(narrowed), byName, page),
    find: (ownerId, name) => runner.first<Row>(s.find, { ownerId, name }),
    async lockCount(ownerId) {
      await runner.first(s.lockOwner, { ownerId })
      return Number((await runner.first<CountRow>(s.count, { ownerId }))?.total ?? 0)
    },
    async insert(ownerId, name, content, at) {
      try {
        return (await runner.run(s.insert, { ...content, ownerId, name, at: at.getTime() })).insertId
      } catch (error) {
        if (!isUniqueViolation(error, nameColumn)) throw error
        return undefined
      }
    },
    async replace(ownerId, id, version, content, at) {
      return (await runner.run(s.replace, { ...content, ownerId, id, version, at: at.getTime() })).affected > 0
    },
    async put(ownerId, name, content, at) {
      await runner.run(s.put, { ...content, ownerId, name, at: at.getTime() })
    },
    async remove(ownerId, name) {
      const row = await runner.first<{ readonly id: Num }>(s.idOf, { ownerId, name })
      if (row === undefined) return undefined
      await runner.run(s.remove, { ownerId, id: Number(row.id) })
      return Number(row.id)
    },
  })
}
