import { bars } from '../bars.ts'
import { databaseConnections } from '../lab.ts'
import { compare, generatorNote, ratioOf, readingOf, type Variant } from '../measure.ts'
import { getRequest, loadOn } from '../requests.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

const path = '/api/v1/user'

/** The service and the bare server on MariaDB, each asked on this many connections. */
const onMariaDb = async ({ lab }: RowInput, connections: number): Promise<Record<'ours' | 'twin', Variant>> => {
  const { service, user, databaseUrl } = await lab.onMariaDb()
  const twin = await lab.twin('twins/mysql-twin.ts', { databaseUrl, connections: databaseConnections })
  const request = getRequest(path, user.token)
  return {
    ours: { target: loadOn(`service ${connections}`, service.port, request, connections), pid: service.pid },
    twin: { target: loadOn(`twin ${connections}`, twin.port, request, connections), pid: twin.pid },
  }
}

/** Row 1. */
export const userOnMariaDb: MeasureRow = async (input) => {
  const { ours, twin } = await compare(input.bench, 'GET /user on MariaDB, 64 connections', await onMariaDb(input, 64))
  return [
    {
      row: '1',
      what: 'GET /user, MariaDB, 64 conns',
      ours: readingOf(ours),
      against: 'node:http + prepared mysql2 join',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      bar: bars.userMysql,
      ...note(generatorNote(ours, twin)),
    },
  ]
}

/** Row 2. */
export const userOnSqlite: MeasureRow = async ({ lab, bench }) => {
  const { service, user, path: file } = await lab.onSqlite()
  const bare = await lab.twin('twins/sqlite-twin.ts', { path: file })
  const request = getRequest(path, user.token)
  const { ours, twin } = await compare(bench, 'GET /user on SQLite, 64 connections', {
    ours: { target: loadOn('service', service.port, request, 64), pid: service.pid },
    twin: { target: loadOn('twin', bare.port, request, 64), pid: bare.pid },
  })
  return [
    {
      row: '2',
      what: 'GET /user, SQLite, 64 conns',
      ours: readingOf(ours),
      against: 'node:http + better-sqlite3 cached statement',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      bar: bars.userSqlite,
      ...note(generatorNote(ours, twin)),
    },
  ]
}

/** Row 3. */
export const manyConnections: MeasureRow = async (input) => {
  const { ours, twin } = await compare(
    input.bench,
    'GET /user on MariaDB, 500 connections',
    await onMariaDb(input, 500),
  )
  return [
    {
      row: '3',
      what: 'p99 at 500 conns, MariaDB',
      ours: readingOf(ours),
      against: 'node:http + prepared mysql2 join',
      twin: readingOf(twin),
      ...ratioOf(ours, twin, 'p99Ms'),
      unit: 'x',
      bar: bars.manyConnectionsP99,
      ...note(generatorNote(ours, twin)),
    },
  ]
}
