import Database from 'better-sqlite3'
import { createConnection } from 'mysql2'
import { benchMonth } from './bench-month.ts'

/** The bare aggregate of a month by object, read by the driver alone; prints the figures as JSON. */
const [url = ''] = process.argv.slice(2)
const sql = `select cluster_id, object_id, kind_id, sum(milli_cpu * (to_at - from_at)), sum(memory_mib * (to_at - from_at)) from usage_intervals where month = ${benchMonth} group by cluster_id, object_id, kind_id`
const started = performance.now()
let rows = 0
if (url.startsWith('sqlite:')) {
  for (const row of new Database(url.slice('sqlite:'.length), { readonly: true }).prepare(sql).raw().iterate())
    rows += row === undefined ? 0 : 1
} else {
  const connection = createConnection({ uri: url })
  for await (const row of connection.query({ sql, rowsAsArray: true }).stream()) rows += row === undefined ? 0 : 1
  connection.end()
}
process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - started) / 1000, rows })}\n`)
