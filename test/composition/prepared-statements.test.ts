import test from 'ava'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import type { Prepare, StatementText } from '../../adapters/sql/kit/statement.ts'
import { tableName } from '../../adapters/sql/kit/columns.ts'
import { loadConfig } from '../../composition/config/config.ts'
import { compose, makeStopSequence } from '../../composition/service/compose.ts'
import { passingFoundation } from '../../composition/service/foundation.ts'
import { storeChanges, tablesOfMarks } from '../sql/store-changes.fixture.ts'

for (const dialect of ['sqlite', 'mysql'] as const) {
  test(`every statement that a service prepares is one of ${dialect}`, async (t) => {
    const environment = {
      MOORAGE_DATABASE_URL: 'sqlite::memory:',
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
    }
    const config = await loadConfig({ environment })
    const foundation = await passingFoundation()
    const log = makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } })
    const stops = makeStopSequence(log)
    stops.add('database', () => foundation.database.close())
    const prepared: StatementText[] = []
    const prepareOf = makePrepare(makeComposer(dialect))
    const prepare = ((...statement: Parameters<Prepare>) => {
      const made = prepareOf(...statement)
      prepared.push(made)
      return made
    }) as Prepare
    compose({
      config,
      foundation: { ...foundation, database: { ...foundation.database, dialect, prepare } },
      log,
      stops,
    })
    await stops.run()
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
