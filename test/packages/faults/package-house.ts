import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import type { ExecutionContext, TestFn } from 'ava'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { helm } from '../../support/components/available.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import type { ApiCall } from '../../support/fake-api/api-path.ts'
import { migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { startServiceProcess, type ServiceProcess } from '../../support/service-process.ts'
import { adminLogin, adminPassword } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { chartOf } from '../chart-archive.ts'
import type { ChartServer } from '../chart-server.ts'
import { importedAs, packageClient, startCharts, type FollowedTask, type PackageClient } from '../package-fixture.ts'

/**
 * One data folder and one database, on which one service process after the other is started, and a cluster beside it.
 */
export interface PackageHouse {
  readonly api: FakeApi
  readonly charts: ChartServer
  /** The same charts, for a test that holds up their repository. */
  readonly otherCharts: ChartServer
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
  /** Files with values that lie in the folder for temporary things: all of them, or those that contain this text. */
  valueFiles(text?: string): readonly string[]
}

const charts = ['harbour', 'lookup', 'minimal'] as const
export const namespace = 'shop'

const createdName = (call: ApiCall): boolean =>
  call.verb === 'create' || (call.verb === 'patch' && call.url.includes('fieldManager=helm'))

/** Returns the text of a file; undefined if there is none. The service may remove it at any moment. */
const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined
    throw error
  }
}

/** The part of a house that outlives a cluster. */
interface OpenHouse {
  readonly charts: ChartServer
  readonly otherCharts: ChartServer
  readonly temporary: string
  readonly token: string
  readonly send: ServiceProcess['send']
  readonly killAndRestart: PackageHouse['killAndRestart']
  readonly stopAndRestart: PackageHouse['stopAndRestart']
  close(): Promise<void>
}

const openHouse = async (settings: Readonly<Record<string, string>>): Promise<OpenHouse> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-packages-'))
  const offered = await Promise.all(charts.map((name) => chartOf(name)))
  const [repository, other] = [await startCharts(...offered), await startCharts(...offered)]
  const allowed = [repository, other].map((each) => each.settings['MOORAGE_EGRESS_ALLOW']).join(',')
  const databaseUrl = `sqlite:${await migratedSqlitePath()}`
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  const environment = {
    TMPDIR: temporary,
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: databaseUrl,
    MOORAGE_TLS: 'false',
    MOORAGE_HELM: (await helm())!.helm4,
    MOORAGE_EGRESS_ALLOW: allowed,
    ...settings,
  }
  const start = (): Promise<ServiceProcess> => startServiceProcess({ settings: environment })
  let service = await start()
  const database = await openPatiently(databaseUrl)
  const send: ServiceProcess['send'] = (...request) => service.send(...request)
  const made = await send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'house', scopes: ['all'] },
  })
  return {
    charts: repository.charts,
    otherCharts: other.charts,
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
      await other.charts.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A cluster beside a house, for one test. */
const withCluster = async (
  t: ExecutionContext,
  { charts: repository, otherCharts, temporary, token, send, killAndRestart, stopAndRestart }: OpenHouse,
): Promise<PackageHouse> => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  api.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'lighthouse', namespace: 'default' },
    data: { value: 'lit' },
  })
  // Each cluster has an owner of its own, since the number of helm processes of one owner is limited.
  const owner = `owner-${randomBytes(4).toString('hex')}`
  await expectStatus(send('POST', '/api/v1/orgs', { token, body: { username: owner } }), 201)
  const cluster = await importedAs(send, token, owner, api.kubeconfig())
  return {
    api,
    charts: repository,
    otherCharts,
    client: packageClient(send, token, cluster),
    killAndRestart,
    stopAndRestart,
    records: () =>
      api
        .all('v1', 'Secret', namespace)
        .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm' && metadata.labels['name'] === 'web')
        .map(({ metadata }) => `${metadata.labels?.['version']} ${metadata.labels?.['status']}`),
    made: (resource, name) =>
      api.calls.filter(
        (call) =>
          call.resource === resource &&
          createdName(call) &&
          isHelms(call) &&
          (call.name === undefined || name.test(call.name)),
      ),
    object: async (path) => {
      const answer = await api.request('GET', path)
      return answer.status === 200 ? answer.body : undefined
    },
    valueFiles: (text = '') =>
      readdirSync(temporary).filter((name) => textOf(join(temporary, name, 'values.json'))?.includes(text) === true),
  }
}

/** Starts it all; it ends with the test. */
export const startPackageFixture = async (
  t: ExecutionContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<PackageHouse> => {
  const house = await openHouse(settings)
  t.teardown(() => house.close())
  return withCluster(t, house)
}

let shared: Promise<OpenHouse> | undefined

/**
 * One house for the tests of a file, each with a cluster of its own: a process that loads the service costs more than
 * most of them. The first caller decides its settings.
 */
export const sharedPackageHouse = async (
  t: ExecutionContext,
  settings = { MOORAGE_TASK_WORKERS: '16' },
): Promise<PackageHouse> => withCluster(t, await (shared ??= openHouse(settings)))

/** What a test of `killedTogether` shares with the others. */
export interface TogetherHouse extends PackageHouse {
  /** Returns when all are prepared. What comes between this and `killAndRestart` must not take long. */
  prepared(): Promise<void>
}

/** Runs `act` when all parties have arrived, those that came in time and those that ended without. */
const meeting = (act: () => Promise<void>): { join(): () => Promise<void> } => {
  let expected = 0
  const done = Promise.withResolvers<void>()
  return {
    join: () => {
      expected += 1
      let hasArrived = false
      return () => {
        if (!hasArrived && (expected -= 1) === 0) act().then(done.resolve, done.reject)
        hasArrived = true
        return done.promise
      }
    },
  }
}

/**
 * Declares tests that run at the same time on the shared house, whose process is killed once for all of them: its start
 * costs more than a test.
 */
export const killedTogether = (
  test: TestFn,
): ((title: string, run: (t: ExecutionContext, house: TogetherHouse) => Promise<void>) => void) => {
  const preparation = meeting(() => Promise.resolve())
  const death = meeting(async () => (await shared)?.killAndRestart())
  return (title, run) =>
    test(title, async (t) => {
      // ava begins all of them before any of them has to wait.
      const [prepared, killAndRestart] = [preparation.join(), death.join()]
      try {
        await run(t, { ...(await sharedPackageHouse(t)), prepared, killAndRestart })
      } finally {
        // One that failed does not hold up the others. It reports its own failure.
        prepared().catch(() => undefined)
        killAndRestart().catch(() => undefined)
      }
    })
}

/** After the last test of the file. */
export const closeSharedHouse = async (): Promise<void> => (await shared)?.close()

/** The dead process holds its tasks for half a minute more; nobody waits for that here. */
const loseLeases = (database: SqlDatabase): Promise<unknown> =>
  database.query((k) => k('tasks').where('state', 'running').update({ lease_until: 1 }))

export const isHelms = (call: ApiCall): boolean =>
  call.headers.some(([name, value]) => name === 'user-agent' && value.startsWith('Helm/'))

/** After whatever happened: the task's end is told whole, no record is pending, and the next operation works. */
export const isSound = async (
  t: ExecutionContext,
  house: PackageHouse,
  task: FollowedTask,
  source: object,
): Promise<void> => {
  t.deepEqual(
    task.events.map(({ seq }) => seq),
    task.events.map((_, index) => index + 1),
  )
  t.is(task.events.at(-1)?.id, task.id)
  t.deepEqual(
    house.records().filter((record) => record.includes('pending')),
    [],
  )
  await until('the values of a killed helm are removed', () => (house.valueFiles().length === 0 ? true : undefined))
  const next = await house.client.done('PUT', '/v3/releases/web/', {
    ...source,
    namespace,
    install: true,
    values: ['hooks.isOn=false'],
    timeout: '60s',
  })
  t.is(next.state, 'succeeded', `${next.message} ${next.error}`)
}
