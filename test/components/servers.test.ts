// process: own - starts and stops components
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import type { ExecutionContext } from 'ava'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { createConnection } from 'mysql2/promise'
import { kubectl, kubernetes, databaseServer } from '../support/components/available.ts'
import { startDatabaseServer } from '../support/components/database-server.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { echoPort, startStubKubelet } from '../support/components/stub-kubelet.ts'
import { borrowMysqlDatabase } from '../support/databases.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'

const test = needing('kubernetes')

test('it tells its version and keeps a ConfigMap', async (t) => {
  const server = (await kubernetes())!
  const version = await server.request('GET', '/version')
  t.is(version.status, 200)
  t.is((version.body as { major: string }).major, '1')
  const namespace = await server.createNamespace()
  const config = new KubeConfig()
  config.loadFromFile(server.adminKubeconfigPath)
  const core = config.makeApiClient(CoreV1Api)
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'berth' }, data: { depth: '12' } } })
  const read = await core.readNamespacedConfigMap({ namespace, name: 'berth' })
  t.deepEqual(read.data, { depth: '12' })
})

test('the viewer has no rights until a role is bound to it', async (t) => {
  const server = (await kubernetes())!
  const namespace = await server.createNamespace()
  const token = server.tokenFor('viewer')
  const read = () => server.request('GET', `/api/v1/namespaces/${namespace}/configmaps`, undefined, { token })
  t.is((await read()).status, 403)
  const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const binding = {
    metadata: { name: 'viewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
  }
  t.is((await server.request('POST', `${roles}/rolebindings`, binding)).status, 201)
  t.is((await untilNot(403, read)).status, 200)
})

test('a client certificate carries its user and groups', async (t) => {
  const server = (await kubernetes())!
  const config = new KubeConfig()
  config.loadFromString(await server.createUserKubeconfig('zoe', ['crew', 'system:masters']))
  const core = config.makeApiClient(CoreV1Api)
  const namespaces = await core.listNamespace()
  t.true(namespaces.items.some((item) => item.metadata?.name === 'default'))
})

test('an unknown token is refused', async (t) => {
  const server = (await kubernetes())!
  t.is((await server.request('GET', '/api', undefined, { token: 'nobody' })).status, 401)
})

/** The server learns of a new role binding by a watch, a moment later. */
async function untilNot<A extends { readonly status: number }>(status: number, ask: () => Promise<A>): Promise<A> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await ask()
    if (answer.status !== status) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return ask()
}

const kubectlTest = needing<{ command: (...args: string[]) => [string, string[]]; openStreams: () => Promise<number> }>(
  'kubernetes',
  'kubelet',
  'kubectl',
)
const endings: (() => Promise<void>)[] = []

kubectlTest.beforeEach(async (t) => {
  const server = (await kubernetes())!
  const file = (await kubectl())!
  const kubelet = await startStubKubelet(server)
  endings.push(() => kubelet.stop())
  const namespace = await server.createNamespace()
  await kubelet.runPod(namespace, 'web')
  t.context = {
    command: (...args) => [file, ['--kubeconfig', server.adminKubeconfigPath, '--namespace', namespace, ...args]],
    openStreams: () => kubelet.openStreams(),
  }
})

kubectlTest.after.always(async () => {
  for (const end of endings) await end()
})

kubectlTest('get lists the pod as running on the node', async (t) => {
  const result = await runCommand(...t.context.command('get', 'pods'))
  t.is(result.status, 0, result.stderr)
  t.regex(result.stdout, /^web\s+1\/1\s+Running/m)
})

kubectlTest('logs prints the last lines', async (t) => {
  const result = await runCommand(...t.context.command('logs', 'web', '--tail=2'))
  t.regex(result.stdout, /^\S+\/web\/main line 4\n\S+\/web\/main line 5\n$/)
})

kubectlTest('logs --follow continues until the reader leaves, and then closes at the kubelet', async (t) => {
  const child = spawn(...t.context.command('logs', 'web', '--follow'), { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.endsWith('line 8')) break
  }
  t.is(await t.context.openStreams(), 1)
  child.kill()
  for (let left = 100; left > 0 && (await t.context.openStreams()) > 0; left -= 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  t.is(await t.context.openStreams(), 0)
})

kubectlTest('exec carries stdin, stdout, stderr and the exit status', async (t) => {
  const [file, args] = t.context.command('exec', '-i', 'web', '--', 'cat')
  t.like(await runCommand(file, args, { input: 'hello' }), { status: 0, stdout: 'hello', stderr: '' })
  t.like(await runCommand(...t.context.command('exec', 'web', '--', 'complain', 'no', 'wind')), {
    stdout: '',
    stderr: 'no wind\n',
  })
  t.is((await runCommand(...t.context.command('exec', 'web', '--', 'exit', '3'))).status, 3)
})

kubectlTest('attach greets and repeats', async (t) => {
  const [file, args] = t.context.command('attach', '-i', 'web')
  t.is((await runCommand(file, args, { input: 'hello' })).stdout, 'attached to web/main\nhello')
})

kubectlTest('port-forward carries a TCP connection to the pod', async (t) => {
  const child = spawn(...t.context.command('port-forward', 'web', `:${echoPort}`), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const port = Number(/:(\d+) ->/.exec(line)?.[1])
    const socket = connect(port, '127.0.0.1')
    socket.end('ahoy')
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    t.is(answer, 'ahoy')
  } finally {
    child.kill()
  }
})

const withMariaDb = needing('mariadb')

withMariaDb('a fresh database is empty, utf8mb4 and strict', async (t) => {
  const server = (await databaseServer())!
  const [first, second] = [await server.createDatabase(), await server.createDatabase()]
  t.not(first, second)
  const connection = await createConnection(first)
  try {
    const [tables] = await connection.query('SHOW TABLES')
    t.deepEqual(tables, [])
    await connection.query('CREATE TABLE note (words VARCHAR(2) NOT NULL)')
    await connection.query('INSERT INTO note VALUES (?)', ['⚓️'])
    await t.throwsAsync(connection.query('INSERT INTO note VALUES (?)', ['too long']), { code: 'ER_DATA_TOO_LONG' })
    const [rows] = await connection.query('SELECT words FROM note')
    t.deepEqual(rows, [{ words: '⚓️' }] as never)
  } finally {
    await connection.end()
  }
})

withMariaDb(
  'a database that is given back is empty for the next test, and one with another table is not used again',
  async (t) => {
    const used = await borrowMysqlDatabase()
    const connection = await createConnection(used.url)
    try {
      await connection.query("INSERT INTO instances (id, beat_at) VALUES ('a', 1)")
      t.true(await used.giveBack())
      const [rows] = await connection.query("SELECT 1 FROM instances WHERE id = 'a'")
      t.deepEqual(rows, [])
    } finally {
      await connection.end()
    }
    const changed = await borrowMysqlDatabase()
    const other = await createConnection(changed.url)
    await other.query('CREATE TABLE note (id INT PRIMARY KEY)')
    await other.end()
    t.false(await changed.giveBack())
  },
)

withMariaDb('a committed row survives a crash of the server, and an open transaction does not', async (t) => {
  const server = await startDatabaseServer()
  try {
    const url = await server.createDatabase()
    const before = await createConnection(url)
    before.on('error', () => undefined)
    await before.query('CREATE TABLE note (id INT PRIMARY KEY)')
    await before.query('INSERT INTO note VALUES (1)')
    await before.beginTransaction()
    await before.query('INSERT INTO note VALUES (2)')
    await server.kill()
    await t.throwsAsync(before.query('SELECT 1'))
    await server.restart()
    const after = await createConnection(url)
    const [rows] = await after.query('SELECT id FROM note')
    await after.end()
    t.deepEqual(rows, [{ id: 1 }] as never)
  } finally {
    await server.stop()
  }
})

interface Scene {
  readonly proxy: FaultProxy
  /** Past the proxy. */
  readonly direct: Connection
  readonly open: (connectTimeout?: number) => Promise<Connection>
}

/** A database with an empty table `note`, reached through a fault proxy. */
async function withScene(t: ExecutionContext, work: (scene: Scene) => Promise<void>): Promise<void> {
  const server = (await databaseServer())!
  const url = new URL(await server.createDatabase())
  const direct = await createConnection(url.href)
  await direct.query('CREATE TABLE note (id INT PRIMARY KEY)')
  const proxy = await startFaultProxy(server)
  url.port = String(proxy.port)
  const opened: Connection[] = []
  const open = async (connectTimeout = 60_000) => {
    const connection = await createConnection({ uri: url.href, connectTimeout })
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

test('it passes queries', (t) =>
  withScene(t, async ({ open, proxy }) => {
    const connection = await open()
    t.is(await answerOf(connection), 1)
    t.is(proxy.connections(), 1)
  }))

test('cut ends open connections and lets new ones through', (t) =>
  withScene(t, async ({ open, proxy }) => {
    const connection = await open()
    proxy.cut()
    await t.throwsAsync(answerOf(connection))
    t.is(await answerOf(await open()), 1)
  }))

test('pause hangs a query without closing, and refuses no connection', (t) =>
  withScene(t, async ({ open, proxy }) => {
    const connection = await open()
    proxy.pause()
    const first = await Promise.race([answerOf(connection).catch(() => 'failed'), later(300)])
    t.is(first, 'still waiting')
    await t.throwsAsync(open(500), { code: 'ETIMEDOUT' })
    t.is(proxy.connections(), 2)
    proxy.resume()
    t.is(await answerOf(await open()), 1)
  }))

test('a cut after COMMIT leaves the row and loses the answer', (t) =>
  withScene(t, async ({ open, proxy, direct }) => {
    const connection = await open()
    await connection.beginTransaction()
    await connection.query('INSERT INTO note VALUES (7)')
    const acted = proxy.cutAfterClientBytesMatching('COMMIT')
    await t.throwsAsync(connection.commit())
    await acted
    const [rows] = await direct.query<RowDataPacket[]>('SELECT id FROM note')
    t.deepEqual(
      rows.map((row) => row['id'] as number),
      [7],
    )
  }))

test('dropped responses: the write is done, the answer never comes', (t) =>
  withScene(t, async ({ open, proxy, direct }) => {
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
