import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ExecutionContext } from 'ava'
import { request } from 'undici'
import { emptyMysqlUrl } from '../support/databases.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { until } from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)

/** The last release, and its commit. A release sets it to its predecessor. */
export const last = { version: 'v2026.11.25', commit: '462ca18d' }

/**
 * Returns a folder with the sources of the last release. A shallow clone has no history: the commit is fetched from
 * where the clone came from.
 */
const sourcesOf = async (t: ExecutionContext, commit: string): Promise<string> => {
  const git = (...words: readonly string[]) => execute('git', ['-C', root, ...words], { maxBuffer: 64_000_000 })
  const isThere = () =>
    git('cat-file', '-e', `${commit}^{tree}`).then(
      () => true,
      () => false,
    )
  if (!(await isThere())) await git('fetch', '--quiet', '--unshallow').catch(() => undefined)
  if (!(await isThere()))
    throw new Error(
      `The commit ${commit} of ${last.version} is not in this clone and cannot be fetched. Clone the whole history, or ` +
        'switch the test off with --without last-release.',
    )
  const folder = mkdtempSync(join(tmpdir(), 'moorage-last-release-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await execute('sh', [
    '-c',
    'git -C "$1" archive "$2" core adapters plugins composition package.json | tar -x -C "$3"',
    'sh',
    root,
    commit,
    folder,
  ])
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

export interface Release {
  /** Of this process alone. */
  readonly url: string
  /** The listener of notifications of a marketplace. */
  readonly marketplaceUrl: string
  /** Runs a command of this release, with its settings. Returns what it prints. */
  command(...words: readonly string[]): Promise<string>
  readonly opsUrl: string
  output(): string
  stop(): Promise<number | string>
  /** Ends the process as a crash does: what it holds in the database stays. */
  kill(): Promise<number | string>
}

/** The base URL is one for both, so that the links in answers are the same. */
const baseUrl = 'http://moorage.test:3000'

const startRelease = async (
  sources: string,
  folder: string,
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Release> => {
  const [api, ops, market] = [await reservedPort(), await reservedPort(), await reservedPort()]
  const settings = {
    MOORAGE_LISTEN: `127.0.0.1:${api}`,
    MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`,
    MOORAGE_MARKETPLACE_LISTEN: `127.0.0.1:${market}`,
    MOORAGE_BASE_URL: baseUrl,
    MOORAGE_DATA_DIR: join(folder, `data-${api}`),
    MOORAGE_DATABASE_URL: databaseUrl,
    MOORAGE_DATABASE_TIMEOUT_SECONDS: '30',
    MOORAGE_KEYRING: join(folder, 'keyring.json'),
    MOORAGE_ADMIN_USERNAME: adminLogin,
    MOORAGE_ADMIN_PASSWORD: adminPassword,
    MOORAGE_ADMIN_EMAIL: 'admin@example.com',
    MOORAGE_HELM: 'off',
    MOORAGE_TLS: 'false',
    MOORAGE_DRAIN_SECONDS: '0',
    MOORAGE_RATE_LIMIT_PER_MINUTE: '0',
    MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
    MOORAGE_LOG_FORMAT: 'json',
    // Instances of one deployment share the store of documents.
    MOORAGE_CONTRACT_DOCUMENTS: `folder:${join(folder, 'documents')}`,
    ...more,
  }
  const main = join(sources, 'composition', 'main.ts')
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings }
  // Without the bundle of packages of this run, which has those of these sources.
  const child = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (said += String(text)))
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  )
  const end = (signal: NodeJS.Signals) => () => {
    child.kill(signal)
    return exited
  }
  const first = await Promise.race([exited, until('the service', () => /Health +\S+\n/.test(said) || undefined)])
  if (first !== true) throw new Error(said)
  return {
    url: `http://127.0.0.1:${api}`,
    opsUrl: `http://127.0.0.1:${ops}`,
    marketplaceUrl: `http://127.0.0.1:${market}`,
    command: async (...words) => (await execute(process.execPath, [main, ...words], { env })).stdout,
    output: () => said,
    stop: end('SIGTERM'),
    kill: end('SIGKILL'),
  }
}

export const basic = `Basic ${btoa(`${adminLogin}:${adminPassword}`)}`

export interface Answer {
  readonly status: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any
}
export type Send = (method: string, path: string, body?: unknown, authorization?: string) => Promise<Answer>

const sendTo =
  (root: string, standard: () => string): Send =>
  async (method, path, body, authorization = standard()) => {
    const reply = await request(`${root}${path}`, {
      method: method as 'GET',
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.body.text()
    const isJson = String(reply.headers['content-type']).includes('json')
    return { status: reply.statusCode, json: isJson && text !== '' ? (JSON.parse(text) as unknown) : text }
  }

/** Both releases on one database, with a token of the site admin that both know. */
export interface TwoReleases {
  readonly older: Release
  readonly newer: Release
  readonly ofOlder: Send
  readonly ofNewer: Send
  /** The listeners of notifications. */
  readonly toMarketplace: readonly [older: Send, newer: Send]
  /** Starts the last release again on the database. */
  startOlder(): Promise<Release>
  /** Starts this release again on the database, and returns it with what sends to it. */
  startNewer(): Promise<readonly [Release, Send]>
}

/**
 * Starts both on an empty database. `prepare` runs while the last release is alone: its commands, unlike its instances,
 * do not work once the schema is migrated.
 */
export const startBoth = async (
  t: ExecutionContext,
  settings: Readonly<Record<string, string>>,
  prepare: (older: Release) => Promise<unknown>,
): Promise<TwoReleases> => {
  const sources = await sourcesOf(t, last.commit)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-two-releases-'))
  const databaseUrl = await emptyMysqlUrl()
  const startOlder = () => startRelease(sources, folder, databaseUrl, settings)
  const older = await startOlder()
  await prepare(older)
  const newer = await startRelease(root, folder, databaseUrl, settings)
  const again: Release[] = []
  t.teardown(async () => {
    await Promise.all([older, newer, ...again].map((release) => release.stop()))
    rmSync(folder, { recursive: true, force: true })
  })
  let bearer = basic
  const [ofOlder, ofNewer] = [older, newer].map(({ url }) => sendTo(`${url}/api/v1`, () => bearer)) as [Send, Send]
  const made = await ofOlder('POST', `/users/${adminLogin}/tokens`, { name: 'both', scopes: ['all', 'sudo'] })
  bearer = `Bearer ${made.json.sha1}`
  const toMarketplace = [older, newer].map(({ marketplaceUrl }) =>
    sendTo(`${marketplaceUrl}/marketplace/api/v1`, () => 'none'),
  ) as [Send, Send]
  const startNewer = async (): Promise<readonly [Release, Send]> => {
    const release = await startRelease(root, folder, databaseUrl, settings)
    again.push(release)
    return [release, sendTo(`${release.url}/api/v1`, () => bearer)]
  }
  return { older, newer, ofOlder, ofNewer, toMarketplace, startOlder, startNewer }
}

/** Writes fixtures, several at the same time. Odd ones begin at one release, even ones at the other. */
export const writeFixtures = async <Fixture>(
  count: number,
  { ofOlder, ofNewer }: TwoReleases,
  write: (n: number, next: () => Send) => Promise<Fixture>,
): Promise<readonly Fixture[]> => {
  const waiting = Array.from({ length: count }, (_, index) => index)
  const fixtures: Fixture[] = []
  const worker = async (): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      let turn = n
      fixtures.push(await write(n, () => (turn++ % 2 === 0 ? ofOlder : ofNewer)))
    }
  }
  await Promise.all(Array.from({ length: 6 }, worker))
  return fixtures
}

/** Without what changes by being read, and with time. */
const settled = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      /^(?:age$|last_used|last_login|lastUsed)/.test(key) ? undefined : inner,
    ) ?? 'null',
  )

/** Returns what is in both: the newer release may tell more. */
const toldByOlder = (newer: unknown, older: unknown): unknown => {
  if (Array.isArray(newer) && Array.isArray(older))
    return newer.map((each, at) => (at < older.length ? toldByOlder(each, older[at]) : each))
  if (typeof newer !== 'object' || typeof older !== 'object' || newer === null || older === null) return newer
  const known = older as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(newer)
      .filter(([key]) => key in known)
      .map(([key, value]) => [key, toldByOlder(value, known[key])]),
  )
}

/** Reads paths from both releases, which must answer alike; the newer one may add fields. */
export const compareReads = async (
  t: ExecutionContext,
  { ofOlder, ofNewer }: Pick<TwoReleases, 'ofOlder' | 'ofNewer'>,
  paths: readonly string[],
): Promise<void> => {
  for (const path of paths) {
    const [a, b] = [await ofOlder('GET', path), await ofNewer('GET', path)]
    t.is(a.status, 200, `${path}: ${JSON.stringify(a.json)}`)
    t.is(b.status, a.status, path)
    t.deepEqual(toldByOlder(settled(b.json), settled(a.json)), settled(a.json), path)
  }
}
