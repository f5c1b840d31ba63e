import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import type { ExecutionContext } from 'ava'
import { createHash } from 'node:crypto'
import { usualLimits } from '../../../adapters/helm/process/limits.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { helm } from '../../support/components/available.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import { startService, type TestService } from '../../support/service.ts'
import type { TestChart } from '../chart-archive.ts'
import type { ChartServer } from '../chart-server.ts'
import { chartSource } from '../chart-source.ts'
import { importedAs, packageClient, startCharts, type FollowedTask, type PackageClient } from '../package-fixture.ts'

export interface HostileFixture {
  readonly service: TestService
  readonly api: FakeApi
  readonly charts: ChartServer
  readonly client: PackageClient
  /** Installs the newest chart of that name from the repository. */
  install(chart: string, more?: object): Promise<FollowedTask>
  /** What anybody changed in the cluster so far. */
  changes(): readonly string[]
}

interface HostileOptions {
  readonly alsoOpen?: readonly string[]
  readonly renderSeconds?: number
}

interface OpenService {
  readonly service: TestService
  /** Repositories that the service may reach. */
  readonly repositories: ChartServer[]
  close(): Promise<void>
}

const openService = async (
  repositoryCount: number,
  { alsoOpen = [], renderSeconds }: HostileOptions = {},
): Promise<OpenService> => {
  const started = await Promise.all(Array.from({ length: repositoryCount }, () => startCharts()))
  const repositories = started.map(({ charts }) => charts)
  const usual = usualLimits(availableParallelism())
  const service = await startService({
    // Renderings of several tests wait for each other, on a busy machine for longer than users would.
    helmLimits: {
      ...usual,
      ...(renderSeconds === undefined ? {} : { renderSeconds }),
      renderings: { ...usual.renderings, waitSeconds: 120 },
    },
    settings: {
      MOORAGE_EGRESS_ALLOW: [...repositories.map(({ url }) => url), ...alsoOpen]
        .map((url) => new URL(url).host)
        .join(','),
      MOORAGE_HELM: (await helm())!.helm4,
    },
  })
  return {
    service,
    repositories,
    close: async () => {
      await service.stop()
      for (const charts of repositories) await charts.stop()
    },
  }
}

/** A cluster under the account `owner`, for one test. */
const fixtureOn = async (
  t: Pick<ExecutionContext, 'teardown'>,
  service: TestService,
  charts: ChartServer,
  owner: string,
): Promise<HostileFixture> => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const client = packageClient(
    service.send,
    service.adminToken,
    await importedAs(service.send, service.adminToken, owner, api.kubeconfig()),
  )
  return {
    service,
    api,
    charts,
    client,
    install: (chart, more = {}) =>
      client.done('POST', '/v3/releases/', {
        ...chartSource(charts, chart),
        releaseName: 'web',
        namespace: 'default',
        timeout: '20s',
        ...more,
      }),
    changes: () =>
      api.calls
        .filter(
          ({ verb, url }) =>
            ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb) && !url.includes('dryRun=All'),
        )
        .map(({ method, url }) => `${method} ${url}`),
  }
}

/** A service that may reach one chart repository, `alsoOpen` and nothing else; it ends with the test. */
export const startHostileFixture = async (
  t: Pick<ExecutionContext, 'teardown'>,
  options: HostileOptions = {},
): Promise<HostileFixture> => {
  const {
    service,
    repositories: [charts],
    close,
  } = await openService(1, options)
  t.teardown(close)
  return fixtureOn(t, service, charts!, 'admin')
}

const sharedRepositories = 5
let shared: Promise<OpenService> | undefined
let given = 0

/**
 * One service for tests of a file, which may reach the repositories of these tests and nothing else. Each test has a
 * repository, a cluster and an organization of its own.
 */
export const sharedHostileFixture = async (t: Pick<ExecutionContext, 'teardown'>): Promise<HostileFixture> => {
  const { service, repositories } = await (shared ??= openService(sharedRepositories))
  const charts = repositories[given++]
  if (charts === undefined) throw new Error(`more than ${sharedRepositories} tests share a service`)
  const owner = `hostile-${given}`
  await expectStatus(
    service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: owner } }),
    201,
  )
  return fixtureOn(t, service, charts, owner)
}

/** After the last test of the file. */
export const closeSharedHostileFixture = async (): Promise<void> => (await shared)?.close()

/** An archive as a repository offers it, whatever it holds. */
export const offered = (archive: Buffer, name = 'hostile', version = '1.0.0'): TestChart => ({
  name,
  version,
  metadata: { apiVersion: 'v2', name, version },
  archive,
  digest: createHash('sha256').update(archive).digest('hex'),
})

/** A socket that must never be spoken to. */
export interface Trap {
  readonly port: number
  readonly connections: number
  stop(): Promise<void>
}

export const startTrap = async (host = '127.0.0.1'): Promise<Trap> => {
  const trap = { port: 0, connections: 0, stop: () => new Promise<void>((resolve) => server.close(() => resolve())) }
  const server: Server = createServer((socket) => {
    trap.connections += 1
    socket.on('error', () => undefined).resume()
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  trap.port = (server.address() as AddressInfo).port
  return trap
}
