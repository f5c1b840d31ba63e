import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startServerProcess, type StartedProcess } from './started-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const benchPlugin = fileURLToPath(new URL('plugin/bench-plugin.ts', import.meta.url))

export const adminName = 'admin'
export const adminPassword = 'bench administrator passphrase'

/** The real service, started as a deployer starts it. */
export interface BenchService extends StartedProcess {
  readonly baseUrl: string
  readonly dataDir: string
}

export interface ServiceToStart {
  readonly name: string
  readonly folder: string
  /** SQLite in the data folder unless told. */
  readonly databaseUrl?: string
  /** A folder that another service of this run made, to start on data that is there already. */
  readonly dataDir?: string
  readonly settings?: Readonly<Record<string, string>>
  readonly profileFolder?: string | undefined
}

/** The environment of a service under test: nothing of this shell's own settings, loopback allowed, no rate limit. */
function environmentOf(start: ServiceToStart, port: number, opsPort: number, dataDir: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('MOORAGE_') && name !== 'NODE_OPTIONS',
  )
  return {
    ...Object.fromEntries(inherited),
    MOORAGE_DATA_DIR: dataDir,
    MOORAGE_LISTEN: `127.0.0.1:${port}`,
    MOORAGE_OPS_LISTEN: `127.0.0.1:${opsPort}`,
    MOORAGE_ADMIN_USERNAME: adminName,
    MOORAGE_ADMIN_PASSWORD: adminPassword,
    MOORAGE_RATE_LIMIT_PER_MINUTE: '0',
    MOORAGE_KUBERNETES_ALLOW: 'loopback',
    // Nothing is fetched beside a measurement.
    MOORAGE_HELM: 'off',
    MOORAGE_DRAIN_SECONDS: '0',
    ...(start.databaseUrl === undefined ? {} : { MOORAGE_DATABASE_URL: start.databaseUrl }),
    MOORAGE_PLUGINS: benchPlugin,
    ...start.settings,
  }
}

/** Starts `node composition/main.ts serve`; ready when it says where it listens. */
export async function startBenchService(start: ServiceToStart): Promise<BenchService> {
  const port = await reservedPort()
  const opsPort = await reservedPort()
  const dataDir = start.dataDir ?? join(start.folder, `data-${start.name.replaceAll(/[^a-z0-9]+/gi, '-')}`)
  mkdirSync(dataDir, { recursive: true })
  // A folder for each: every thread of a process writes a profile of its own.
  const profiling =
    start.profileFolder === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${join(start.profileFolder, start.name.replaceAll(' ', '-'))}`]
  const started = await startServerProcess({
    name: start.name,
    folder: start.folder,
    arguments: [...profiling, join(root, 'composition/main.ts'), 'serve'],
    environment: environmentOf(start, port, opsPort, dataDir),
    portOf: (line) => (line.includes('is ready') ? port : undefined),
    timeoutMilliseconds: 60_000,
  })
  return { ...started, baseUrl: `http://127.0.0.1:${port}`, dataDir }
}
