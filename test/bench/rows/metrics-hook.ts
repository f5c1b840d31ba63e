import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { bars } from '../bars.ts'
import { databaseConnections } from '../lab.ts'
import { compare, generatorNote, ratioOf, readingOf } from '../measure.ts'
import { residentMegabytes } from '../process-figures.ts'
import { getRequest, loadOn } from '../requests.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

const tenants = 10_000
/** Above the ids that the service itself gives. */
const firstOwner = 1_000_000

const numbers = {
  sqlite: `(with recursive n(i) as (select 0 union all select i + 1 from n where i < ${tenants - 1}) select i from n) as n`,
  mysql: `(select seq as i from seq_0_to_${tenants - 1}) as n`,
}
const uidSql = {
  sqlite: `printf('00000000-0000-4000-8000-%012d', i)`,
  mysql: `concat('00000000-0000-4000-8000-', lpad(i, 12, '0'))`,
}
const nameSql = { sqlite: `'tenant-' || i`, mysql: `concat('tenant-', i)` }

/** Organizations of which the user is a member, each with a cluster. */
const fill = async (databaseUrl: string, userId: number): Promise<void> => {
  const db = await openDatabase(databaseUrl)
  const { dialect } = db
  const insert = (into: string, columns: string) =>
    db.query((k) => k.raw(`insert into ${into} select ${columns} from ${numbers[dialect]}`))
  const owner = `${firstOwner} + i`
  const name = nameSql[dialect]
  await insert('accounts (id, kind, name, lower_name, created_at)', `${owner}, 'organization', ${name}, ${name}, 0`)
  await insert('organizations (id, created_at)', `${owner}, 0`)
  await insert('org_members (org_id, user_id, created_at)', `${owner}, ${userId}, 0`)
  await insert(
    'clusters (owner_id, name, display_name, uid, provider, endpoint, phase, ref, created_at)',
    `${owner}, 'pier', 'Pier', ${uidSql[dialect]}, 'Generic', 'https://pier.example', 'Active', 'ref', 0`,
  )
  const analyze = dialect === 'sqlite' ? 'analyze' : 'analyze table accounts, organizations, org_members, clusters'
  await db.query((k) => k.raw(analyze))
  await db.close()
}

const requestsOf = (token: string): readonly string[] =>
  Array.from({ length: tenants }, (_, i) => {
    const identifier = `${firstOwner + i}.00000000-0000-4000-8000-${String(i).padStart(12, '0')}`
    return getRequest(`/api/v1/tsproxy/auth/${identifier}/api/v1/query`, token)
  })

const measureOn = async ({ lab, bench }: RowInput, on: 'MariaDB' | 'SQLite'): Promise<BenchLine> => {
  const started = on === 'MariaDB' ? await lab.onMariaDb() : await lab.onSqlite()
  const { service, user } = started
  const where = 'path' in started ? { path: started.path } : { databaseUrl: started.databaseUrl }
  await fill('path' in started ? `sqlite:${started.path}` : started.databaseUrl, user.id)
  const bare = await lab.twin('twins/hook-twin.ts', { ...where, connections: databaseConnections })
  const requests = requestsOf(user.token)
  const { ours, twin } = await compare(bench, `the hook of the metrics proxy on ${on}`, {
    ours: { target: loadOn(`service ${on}`, service.port, requests, 64), pid: service.pid },
    twin: { target: loadOn(`twin ${on}`, bare.port, requests, 64), pid: bare.pid },
  })
  return {
    row: '32',
    what: `metrics hook, 10 000 tenants, ${on}`,
    ours: readingOf(ours),
    against: `node:http + one prepared join, ${on}`,
    twin: readingOf(twin),
    ...ratioOf(ours, twin),
    unit: 'x',
    bar: bars.metricsHook,
    ...note(generatorNote(ours, twin), `${Math.round(residentMegabytes(service.pid))} MB resident after it`),
  }
}

/** Row 32. */
export const metricsHook: MeasureRow = async (input) => [
  await measureOn(input, 'MariaDB'),
  await measureOn(input, 'SQLite'),
]
