import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { stringify } from 'yaml'
import { startDatabaseServer, type DatabaseServer } from '../support/components/database-server.ts'
import { createRunFolder } from '../support/components/run-folder.ts'
import { importCluster, makeUser, type BenchUser } from './api-calls.ts'
import type { Progress } from './progress.ts'
import { startBenchService, type BenchService, type ServiceToStart } from './service-process.ts'
import { portOfTwin, startServerProcess, type ProcessToStart, type StartedProcess } from './started-process.ts'
import { makeStubCertificate } from './upstream/certificate.ts'

/** A service with somebody who may ask it. */
interface Furnished {
  readonly service: BenchService
  readonly user: BenchUser
}

interface StubCluster {
  readonly process: StartedProcess
  /** PEM of its own authority. */
  readonly ca: string
  readonly token: string
  readonly kubeconfig: string
}

/** What rows need, started when the first of them asks and shared by the others; everything ends with `stop`. */
export interface Lab {
  readonly folder: string
  mariaDb(): Promise<DatabaseServer>
  onMariaDb(): Promise<Furnished & { readonly databaseUrl: string }>
  onSqlite(): Promise<Furnished & { readonly path: string }>
  stubCluster(): Promise<StubCluster>
  /** The SQLite service with the stub cluster imported. */
  proxied(): Promise<Furnished & { readonly prefix: string }>
  /** A service of a row's own. */
  service(start: Omit<ServiceToStart, 'folder' | 'profileFolder'>): Promise<BenchService>
  twin(file: string, settings: unknown): Promise<StartedProcess>
  /** Any other server beside ours. */
  program(start: Omit<ProcessToStart, 'folder'>): Promise<StartedProcess>
  stop(): Promise<void>
}

const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => (made ??= make())
}

/** Connections that both the service and its twin keep to the database. */
export const databaseConnections = 10

export function openLab(progress: Progress, profileFolder: string | undefined): Lab {
  const folder = createRunFolder('bench')
  const stops: (() => Promise<void>)[] = []
  const stopping = <A extends { stop(): Promise<void> }>(started: A): A => {
    stops.push(() => started.stop())
    return started
  }
  const service: Lab['service'] = async (start) => {
    progress.doing(`starting ${start.name}`)
    return stopping(await startBenchService({ ...start, folder, profileFolder }))
  }
  const mariaDb = once(async () => {
    progress.doing('starting MariaDB')
    const server = stopping(await startDatabaseServer((line) => progress.doing(line), { product: 'mariadb' }))
    await withMariaDb(server.url(''), (run) => run(`set global innodb_buffer_pool_size = ${512 * 2 ** 20}`))
    return server
  })
  const onMariaDb = once(async () => {
    const databaseUrl = await (await mariaDb()).createDatabase()
    const started = await service({ name: 'service on MariaDB', databaseUrl })
    return { service: started, databaseUrl, user: await makeUser(started, 'bench-ada') }
  })
  const onSqlite = once(async () => {
    const started = await service({ name: 'service on SQLite' })
    return { service: started, path: `${started.dataDir}/moorage.sqlite`, user: await makeUser(started, 'bench-ada') }
  })
  const stubCluster = once(async () => stopping(await startStubCluster(folder)))
  return {
    folder,
    mariaDb,
    onMariaDb,
    onSqlite,
    stubCluster,
    proxied: once(async () => {
      const furnished = await onSqlite()
      return {
        ...furnished,
        prefix: await importCluster(furnished.service, furnished.user, 'stub', (await stubCluster()).kubeconfig),
      }
    }),
    service,
    twin: async (file, settings) => stopping(await startTwin(folder, file, settings)),
    program: async (start) => stopping(await startServerProcess({ ...start, folder })),
    stop: async () => {
      for (const stop of stops.splice(0).toReversed()) await stop()
    },
  }
}

/** Statements of the bench itself on a MariaDB. */
export async function withMariaDb<A>(
  url: string,
  work: (run: (sql: string, values?: unknown[]) => Promise<unknown>) => Promise<A>,
): Promise<A> {
  const connection = await createConnection({ uri: url, multipleStatements: false })
  try {
    return await work(async (sql, values = []) => (await connection.query(sql, values))[0])
  } finally {
    await connection.end()
  }
}

const startTwin = (folder: string, file: string, settings: unknown, withMessages = false): Promise<StartedProcess> =>
  startServerProcess({
    name: file,
    folder,
    arguments: [fileURLToPath(new URL(file, import.meta.url)), JSON.stringify(settings)],
    portOf: portOfTwin,
    withMessages,
  })

async function startStubCluster(folder: string): Promise<StubCluster & { stop(): Promise<void> }> {
  const certificate = await makeStubCertificate(folder)
  const started = await startTwin(
    folder,
    'upstream/stub-cluster.ts',
    { certificate: certificate.certificatePath, key: certificate.keyPath },
    true,
  )
  const token = 'stub-cluster-token'
  return {
    process: started,
    ca: certificate.pem,
    token,
    stop: () => started.stop(),
    kubeconfig: stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'stub',
          cluster: {
            server: `https://127.0.0.1:${started.port}`,
            'certificate-authority-data': Buffer.from(certificate.pem).toString('base64'),
          },
        },
      ],
      users: [{ name: 'bench', user: { token } }],
      contexts: [{ name: 'stub', context: { cluster: 'stub', user: 'bench' } }],
      'current-context': 'stub',
    }),
  }
}
