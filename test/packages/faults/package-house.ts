import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { helm } from '../../support/components/available.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import type { ApiCall } from '../../support/fake-api/api-path.ts'
import { migratedSqlitePath } from '../../support/databases.ts'
import { startServiceProcess, type ServiceProcess } from '../../support/service-process.ts'
import { adminLogin, adminPassword } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { chartOf } from '../chart-archive.ts'
import type { ChartServer } from '../chart-server.ts'
import { importedAs, packageClient, startCharts, type FollowedTask, type PackageClient } from '../package-world.ts'

/** One data folder and one database, on which one service process after the other is started, and a cluster beside it. */
export interface PackageHouse {
  readonly api: FakeApi
  readonly charts: ChartServer
  /** Speaks to whichever process runs. */
  readonly client: PackageClient
  /** SIGKILL, a new process, and what the dead one held is taken for lost at once. */
  killAndRestart(): Promise<void>
  /** SIGTERM, as long as the process needs, and a new one. Answers the exit code of the old. */
  stopAndRestart(): Promise<number | string>
  /** The newest revisions of the release `web` of `shop`, as the cluster's labels tell: `2 deployed`. */
  records(): readonly string[]
  /** Calls of helm that made something of that name. */
  made(resource: string, name: RegExp): readonly ApiCall[]
  object(path: string): Promise<unknown>
  /** Files with values that lie in the folder for temporary things. */
  valueFiles(): readonly string[]
}

const charts = ['harbour', 'lookup', 'minimal'] as const
export const namespace = 'shop'

const createdName = (call: ApiCall): boolean => call.verb === 'create' || (call.verb === 'patch' && call.url.includes('fieldManager=helm'))

/** The part of a house that outlives a cluster. */
interface OpenHouse {
  readonly charts: ChartServer
  readonly temporary: string
  readonly token: string
  readonly send: ServiceProcess['send']
  readonly killAndRestart: PackageHouse['killAndRestart']
  readonly stopAndRestart: PackageHouse['stopAndRestart']
  close(): Promise<void>
}

const openHouse = async (settings: Readonly<Record<string, string>>): Promise<OpenHouse> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-packages-'))
  const repository = await startCharts(...(await Promise.all(charts.map((name) => chartOf(name)))))
  const databaseUrl = `sqlite:${await migratedSqlitePath()}`
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  const environment = {
    TMPDIR: temporary,
    MOORAGE_DATA_DIR: folder, MOORAGE_DATABASE_URL: databaseUrl, MOORAGE_TLS: 'false', MOORAGE_HELM: (await helm())!.helm4, ...repository.settings, ...settings,
  }
  const start = (): Promise<ServiceProcess> => startServiceProcess({ settings: environment })
  let service = await start()
  const database = await openDatabase(databaseUrl)
  const send: ServiceProcess['send'] = (...request) => service.send(...request)
  const made = await send('POST', `/api/v1/users/${adminLogin}/tokens`, { basic: [adminLogin, adminPassword], body: { name: 'house', scopes: ['all'] } })
  return {
    charts: repository.charts,
    temporary,
    token: made.json.sha1 as string,
    send,
    killAndRestart: async () => {
      service.signal('SIGKILL')
      await service.exited
      await service.stop()
      await loseLeases(database)
      service = await start()
    },
    stopAndRestart: async () => {
      service.signal('SIGTERM')
      const code = await service.exited
      await service.stop()
      service = await start()
      return code
    },
    close: async () => {
      await service.stop()
      await database.close()
      await repository.charts.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A cluster beside a house, for one test. */
const withCluster = async (t: ExecutionContext, { charts: repository, temporary, token, send, killAndRestart, stopAndRestart }: OpenHouse): Promise<PackageHouse> => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'lighthouse', namespace: 'default' }, data: { value: 'lit' } })
  const cluster = await importedAs(send, token, adminLogin, api.kubeconfig())
  return {
    api,
    charts: repository,
    client: packageClient(send, token, cluster),
    killAndRestart,
    stopAndRestart,
    records: () =>
      api.all('v1', 'Secret', namespace)
        .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm' && metadata.labels['name'] === 'web')
        .map(({ metadata }) => `${metadata.labels?.['version']} ${metadata.labels?.['status']}`),
    made: (resource, name) => api.calls.filter((call) => call.resource === resource && createdName(call) && isHelms(call) && (call.name === undefined || name.test(call.name))),
    object: async (path) => {
      const answer = await api.request('GET', path)
      return answer.status === 200 ? answer.body : undefined
    },
    valueFiles: () => readdirSync(temporary).filter((name) => existsSync(join(temporary, name, 'values.json'))),
  }
}

/** Starts it all; it ends with the test. */
export const startPackageHouse = async (t: ExecutionContext, settings: Readonly<Record<string, string>> = {}): Promise<PackageHouse> => {
  const house = await openHouse(settings)
  t.teardown(() => house.close())
  return withCluster(t, house)
}

let shared: Promise<OpenHouse> | undefined

/** One house for the serial tests of a file, each with a cluster of its own: a process that loads the service costs more than most of them. */
export const sharedPackageHouse = async (t: ExecutionContext): Promise<PackageHouse> => withCluster(t, await (shared ??= openHouse({})))

/** After the last test of the file. */
export const closeSharedHouse = async (): Promise<void> => (await shared)?.close()

/** The dead process holds its tasks for half a minute more; nobody waits for that here. */
const loseLeases = (database: SqlDatabase): Promise<unknown> => database.query((k) => k('tasks').where('state', 'running').update({ lease_until: 1 }))

export const isHelms = (call: ApiCall): boolean => call.headers.some(([name, value]) => name === 'user-agent' && value.startsWith('Helm/'))

/** After whatever happened: the task's end is told whole, no record is pending, and the next operation works. */
export const isSound = async (t: ExecutionContext, house: PackageHouse, task: FollowedTask, source: object): Promise<void> => {
  t.deepEqual(task.events.map(({ seq }) => seq), task.events.map((_, index) => index + 1))
  t.is(task.events.at(-1)?.id, task.id)
  t.deepEqual(house.records().filter((record) => record.includes('pending')), [])
  await until('the values of a killed helm are removed', () => (house.valueFiles().length === 0 ? true : undefined))
  const next = await house.client.done('PUT', '/v3/releases/web/', { ...source, namespace, install: true, values: ['hooks.isOn=false'], timeout: '60s' })
  t.is(next.state, 'succeeded', `${next.message} ${next.error}`)
}
