import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import type { ExecutionContext } from 'ava'
import { mariaDb } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'

const test = needing('mariadb')

interface Scene {
  readonly proxy: FaultProxy
  /** Past the proxy. */
  readonly direct: Connection
  readonly open: () => Promise<Connection>
}

/** A database with an empty table `note`, reached through a fault proxy. */
async function withScene(t: ExecutionContext, work: (scene: Scene) => Promise<void>): Promise<void> {
  const server = (await mariaDb())!
  const url = new URL(await server.createDatabase())
  const direct = await createConnection(url.href)
  await direct.query('CREATE TABLE note (id INT PRIMARY KEY)')
  const proxy = await startFaultProxy(server)
  url.port = String(proxy.port)
  const opened: Connection[] = []
  const open = async () => {
    const connection = await createConnection({ uri: url.href, connectTimeout: 500 })
    connection.on('error', () => undefined)
    opened.push(connection)
    return connection
  }
  t.teardown(async () => {
    for (const each of opened) each.destroy()
    await proxy.close()
    await direct.end()
  })
  await work({ proxy, direct, open })
}

test('it passes queries', (t) => withScene(t, async ({ open, proxy }) => {
  const connection = await open()
  t.is(await answerOf(connection), 1)
  t.is(proxy.connections(), 1)
}))

test('cut ends open connections and lets new ones through', (t) => withScene(t, async ({ open, proxy }) => {
  const connection = await open()
  proxy.cut()
  await t.throwsAsync(answerOf(connection))
  t.is(await answerOf(await open()), 1)
}))

test('pause hangs a query without closing, and refuses no connection', (t) => withScene(t, async ({ open, proxy }) => {
  const connection = await open()
  proxy.pause()
  const first = await Promise.race([answerOf(connection).catch(() => 'failed'), later(300)])
  t.is(first, 'still waiting')
  await t.throwsAsync(open(), { code: 'ETIMEDOUT' })
  t.is(proxy.connections(), 2)
  proxy.resume()
  t.is(await answerOf(await open()), 1)
}))

test('a cut after COMMIT leaves the row and loses the answer', (t) => withScene(t, async ({ open, proxy, direct }) => {
  const connection = await open()
  await connection.beginTransaction()
  await connection.query('INSERT INTO note VALUES (7)')
  const acted = proxy.cutAfterClientBytesMatching('COMMIT')
  await t.throwsAsync(connection.commit())
  await acted
  const [rows] = await direct.query<RowDataPacket[]>('SELECT id FROM note')
  t.deepEqual(rows.map((row) => row['id'] as number), [7])
}))

test('dropped responses: the write is done, the answer never comes', (t) => withScene(t, async ({ open, proxy, direct }) => {
  const connection = await open()
  proxy.dropResponses()
  await t.throwsAsync(connection.query('INSERT INTO note VALUES (8)'))
  const [rows] = await direct.query<RowDataPacket[]>('SELECT id FROM note')
  t.is(rows.length, 1)
  proxy.resume()
  t.is(await answerOf(await open()), 1)
}))

async function answerOf(connection: Connection): Promise<unknown> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT 1 AS one')
  return rows[0]?.['one']
}

function later(milliseconds: number): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve('still waiting'), milliseconds))
}
