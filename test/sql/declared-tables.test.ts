import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import fc from 'fast-check'
import type { Column, Columns, Table } from '../../adapters/sql/kit/columns.ts'
import { columnsOf, tableName } from '../../adapters/sql/kit/columns.ts'
import type { Prepared, SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { assigned } from '../../adapters/sql/kit/values.ts'
import { allTables, sealedColumns } from '../support/all-tables.ts'
import { anyRow } from '../support/any-row.ts'
import { eachDatabase } from '../support/databases.ts'

/** Tables that no store declares. */
const undeclared: Readonly<Record<string, string>> = {
  schema_steps: 'The migrator makes and reads it before there is a schema.',
  schema_lock: 'The migrator makes and reads it before there is a schema.',
  schema_migrations: 'The migrator makes and reads it before there is a schema.',
  sqlite_sequence: 'SQLite makes it.',
}

interface FoundColumn {
  readonly table: string
  readonly name: string
  /** The type in the words of the database, in lower case. */
  readonly type: string
  readonly isNullable: boolean
  readonly mayBeLeftOut: boolean | 'unknown'
}

const mysqlColumns = async (db: SqlDatabase): Promise<readonly FoundColumn[]> => {
  const rows = await db.query<Record<string, string | null>>((k) =>
    k.raw(
      'select table_name as t, column_name as c, column_type as ty, is_nullable as n, column_default as d, extra as e ' +
        "from information_schema.columns where table_schema = database() and coalesce(generation_expression, '') = ''",
    ),
  )
  return rows.map(({ t, c, ty, n, d, e }) => ({
    table: t ?? '',
    name: c ?? '',
    type: (ty ?? '').toLowerCase(),
    isNullable: n === 'YES',
    mayBeLeftOut: n === 'YES' || d !== null || e === 'auto_increment',
  }))
}

const sqliteColumns = async (db: SqlDatabase): Promise<readonly FoundColumn[]> => {
  const tables = await db.query<{ name: string }>((k) => k('sqlite_master').where('type', 'table').select('name'))
  const found: FoundColumn[] = []
  for (const { name: table } of tables) {
    const rows = await db.query<{ name: string; type: string; notnull: number; dflt_value: unknown; pk: number }>((k) =>
      k.raw(`select name, type, "notnull", dflt_value, pk from pragma_table_info(?)`, [table]),
    )
    for (const { name, type, notnull, dflt_value, pk } of rows) {
      // SQLite numbers every row whose key is an integer.
      const isRowId = pk === 1 && type.toLowerCase() === 'integer'
      const isNullable = notnull === 0 && pk === 0
      found.push({
        table,
        name,
        type: type.toLowerCase(),
        isNullable,
        mayBeLeftOut: isRowId ? 'unknown' : isNullable || dflt_value !== null,
      })
    }
  }
  return found
}

/** The types that a column of a form may have. */
const types: Readonly<Record<'sqlite' | 'mysql', Readonly<Record<Column['form'], RegExp>>>> = {
  mysql: {
    long: /^bigint/,
    exact: /^bigint/,
    instant: /^bigint/,
    int: /^(int|tinyint)/,
    flag: /^(tinyint\(1\)|int)/,
    text: /^varchar/,
    'long-text': /^text$/,
    'large-text': /^mediumtext$/,
    json: /^(text|mediumtext)$/,
    'fixed-bytes': /^binary/,
    'long-bytes': /^mediumblob$/,
  },
  sqlite: {
    long: /^(bigint|integer)/,
    exact: /^bigint/,
    instant: /^bigint/,
    int: /^(integer|tinyint)/,
    flag: /^(boolean|integer)/,
    text: /^varchar/,
    'long-text': /^text$/,
    'large-text': /^(mediumtext|text)$/,
    json: /^(mediumtext|text)$/,
    'fixed-bytes': /^blob$/,
    'long-bytes': /^blob$/,
  },
}

const lengthOf = (type: string): number | undefined => {
  const found = /^(?:varchar|binary)\((\d+)\)/.exec(type)
  return found === null ? undefined : Number(found[1])
}

/** SQLite keeps the length with which a column was made; MySQL has the one to which a later migration widened it. */
const mayDiffer = (dialect: 'sqlite' | 'mysql'): boolean => dialect === 'sqlite'

for (const { name: dialect, open } of eachDatabase()) {
  test(`${dialect}: every table and column of the schema is declared as it is`, async (t) => {
    const db = await open()
    try {
      const found = await (dialect === 'mysql' ? mysqlColumns(db) : sqliteColumns(db))
      const inSchema = new Set(found.map(({ table }) => table))
      const declared = allTables.map(tableName)
      t.deepEqual([...inSchema].filter((each) => undeclared[each] === undefined).sort(), declared.toSorted())
      for (const table of allTables) {
        const name = tableName(table)
        const columns = Object.values(columnsOf(table)) as Column<never>[]
        const schema = new Map(found.filter((each) => each.table === name).map((each) => [each.name, each]))
        t.deepEqual(columns.map((each) => each.name).sort(), [...schema.keys()].sort(), name)
        for (const column of columns) {
          const real = schema.get(column.name)!
          const shown = `${name}.${column.name} (${real.type})`
          t.regex(real.type, types[dialect][column.form], shown)
          t.is(column.isNullable, real.isNullable, `${shown}: null`)
          if (real.mayBeLeftOut !== 'unknown') t.is(column.mayBeLeftOut, real.mayBeLeftOut, `${shown}: default`)
          const length = lengthOf(real.type)
          if (length !== undefined && !mayDiffer(dialect)) t.is(column.length, length, `${shown}: length`)
        }
      }
    } finally {
      await db.close()
    }
  })
}

const plain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value)

/** Without foreign keys, so that a row needs no others. */
const withoutParents = async (db: SqlDatabase, work: (tx: SqlRunner) => Promise<void>): Promise<void> => {
  if (db.dialect === 'sqlite') await db.query((k) => k.raw('pragma foreign_keys = off'))
  await db.transaction(async (tx) => {
    if (db.dialect === 'mysql') await tx.query((k) => k.raw('set foreign_key_checks = 0'))
    try {
      await work(tx)
    } finally {
      if (db.dialect === 'mysql') await tx.query((k) => k.raw('set foreign_key_checks = 1'))
    }
  })
}

for (const { name: dialect, open } of eachDatabase()) {
  test(`${dialect}: each table returns any written value of its columns`, async (t) => {
    const db = await open()
    try {
      for (const table of allTables) {
        const columns = columnsOf(table as Table<Columns>)
        const write = db.prepare(columns, (k, p) => k(tableName(table)).insert(assigned(columns, p))) as Prepared<
          Record<string, unknown>,
          unknown
        >
        const rewrite = db.prepare(columns, (k, p) => k(tableName(table)).update(assigned(columns, p))) as Prepared<
          Record<string, unknown>,
          unknown
        >
        const read = db.prepare({}, columns, (k) => k(tableName(table)))
        const clear = db.prepare({}, (k) => k(tableName(table)).delete())
        const row = anyRow(columns)
        const id = { ...('id' in columns ? { id: 1 } : {}) }
        await fc.assert(
          fc.asyncProperty(row, row, async (one, other) => {
            await withoutParents(db, async (tx) => {
              await tx.run(clear, {})
              for (const [statement, values] of [
                [write, { ...one, ...(typeof one['id'] === 'number' ? id : {}) }],
                [rewrite, { ...other, ...(typeof other['id'] === 'number' ? id : {}) }],
              ] as const) {
                await tx.run(statement, values)
                const [found] = await tx.all(read, {})
                for (const field of Object.keys(columns))
                  t.deepEqual(
                    plain((found as Record<string, unknown>)[field]),
                    plain((values as Record<string, unknown>)[field]),
                    `${tableName(table)}.${field}`,
                  )
              }
              await tx.run(clear, {})
            })
          }),
          { numRuns: 8 },
        )
      }
    } finally {
      await db.close()
    }
  })
}

for (const { name: dialect, open } of eachDatabase()) {
  test(`${dialect}: the first column of a table with a sealed column is its primary key`, async (t) => {
    const db = await open()
    try {
      const rows =
        dialect === 'mysql'
          ? await db.query<{ t: string; c: string }>((k) =>
              k.raw(
                'select table_name as t, column_name as c from information_schema.columns ' +
                  "where table_schema = database() and column_key = 'PRI'",
              ),
            )
          : await db.query<{ t: string; c: string }>((k) =>
              k.raw(
                'select m.name as t, c.name as c from sqlite_master m, pragma_table_info(m.name) c ' +
                  "where m.type = 'table' and c.pk > 0",
              ),
            )
      for (const { table, key } of sealedColumns)
        t.deepEqual(
          rows.filter((row) => row.t === table).map((row) => row.c),
          [key],
          table,
        )
    } finally {
      await db.close()
    }
  })
}

test('the sealed columns are the places at which the product seals', (t) => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const places = ['core', 'plugins', 'adapters', 'composition'].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => [
        ...readFileSync(`${root}${folder}/${path}`, 'utf8').matchAll(/\btable: '(\w+)',\s+column: '(\w+)'/g),
      ])
      .map(([, table, column]) => `${table}.${column}`),
  )
  t.true(places.length > 5)
  // Only the release before writes it. It is erased a day after a bind.
  places.push('marketplace_installers.admin_password')
  t.deepEqual(sealedColumns.map(({ table, column }) => `${table}.${column}`).sort(), places.sort())
})
