import test from 'ava'
import { tableName } from '../../adapters/sql/kit/columns.ts'
import { storeChanges } from '../sql/store-changes.fixture.ts'
import { tablesOfMarks } from './tables-of-marks.ts'
import { preparedStatements } from './prepared.ts'

for (const dialect of ['sqlite', 'mysql'] as const) {
  test(`every statement that a service prepares is one of ${dialect}`, async (t) => {
    const prepared = await preparedStatements(dialect)
    // A statement is composed when it is first used, and most tests use few.
    for (const { sql, order } of prepared) t.is(sql.split('?').length - 1, order.length, sql)
    t.true(prepared.length > 300, String(prepared.length))
    // A store whose change is not tested may forget a field.
    const changed = new Set(prepared.flatMap(({ sql }) => changedTable(sql) ?? []))
    const tested = Object.values(storeChanges).flatMap(({ tables }) => tables.map(tableName))
    const known = new Set([...tested, ...tablesOfMarks])
    t.deepEqual([...changed].filter((table) => !known.has(table)).sort(), [])
  })
}

/** Returns the table whose rows a statement changes: by an update, or by an insert that replaces what exists. */
const changedTable = (sql: string): string | undefined =>
  /^update `(\w+)`/.exec(sql)?.[1] ??
  /^insert into `(\w+)`.* on (?:duplicate key update|conflict .* do update)/.exec(sql)?.[1]
