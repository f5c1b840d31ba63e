// process: own - starts two releases as processes
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ExecutionContext } from 'ava'
import { request } from 'undici'
import { releaseVersion } from '../../core/platform/version.ts'
import { emptyMysqlUrl } from '../support/databases.ts'
import { needing } from '../support/components/needing.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { until } from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)
const test = needing('last-release', 'mariadb')

/** The last release, and its commit. A release sets it to its predecessor. */
const last = { version: 'v2026.11.25', commit: '462ca18d' }

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

interface Release {
  /** Of this process alone. */
  readonly url: string
  readonly opsUrl: string
  readonly settings: Readonly<Record<string, string>>
  output(): string
  stop(): Promise<number | string>
}

/** The base URL is one for both, so that the links in answers are the same. */
const baseUrl = 'http://moorage.test:3000'

const startRelease = async (sources: string, folder: string, databaseUrl: string): Promise<Release> => {
  const [api, ops] = [await reservedPort(), await reservedPort()]
  const settings = {
    MOORAGE_LISTEN: `127.0.0.1:${api}`,
    MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`,
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
  }
  // Without the bundle of packages of this run, which has those of these sources.
  const child = spawn(process.execPath, [join(sources, 'composition', 'main.ts'), 'serve'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (said += String(text)))
  const exited = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  )
  const stop = () => {
    child.kill('SIGTERM')
    return exited
  }
  const first = await Promise.race([exited, until('the service', () => /Health +\S+\n/.test(said) || undefined)])
  if (first !== true) throw new Error(said)
  return { url: `http://127.0.0.1:${api}`, opsUrl: `http://127.0.0.1:${ops}`, settings, output: () => said, stop }
}

const basic = `Basic ${btoa(`${adminLogin}:${adminPassword}`)}`

interface Answer {
  readonly status: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any
}
type Send = (method: string, path: string, body?: unknown, authorization?: string) => Promise<Answer>

const sendTo =
  ({ url }: Release, standard: () => string): Send =>
  async (method, path, body, authorization = standard()) => {
    const reply = await request(`${url}/api/v1${path}`, {
      method: method as 'GET',
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.body.text()
    const isJson = String(reply.headers['content-type']).includes('json')
    return { status: reply.statusCode, json: isJson && text !== '' ? (JSON.parse(text) as unknown) : text }
  }

/** All kinds of writes, in one world of the number `n`. Each is sent by the next of the two releases. */
const writeWorld = async (n: string, next: () => Send, kubeconfig: string): Promise<readonly string[]> => {
  const failures: string[] = []
  const must = async (method: string, path: string, body?: unknown, authorization?: string): Promise<Answer> => {
    const answer = await next()(method, path, body, authorization)
    if (answer.status >= 300) failures.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`)
    return answer
  }
  const [user, org] = [`u${n}`, `o${n}`]
  const person = { username: user, email: `${user}@example.com`, password: 'quiet-harbour-lantern-7' }
  await must('POST', '/admin/users', { ...person, must_change_password: false })
  await must('PATCH', `/admin/users/${user}`, { full_name: `Häfen ${n}`, email: `${user}@example.org` })
  await must('POST', '/orgs', { username: org })
  await must('PATCH', `/orgs/${org}`, { description: `harbour ${n} 😀`, website: 'https://example.com' })
  const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
  const role = await must('POST', `/authz/roles?org=${org}`, { name: `role ${n}`, description: '', permissions })
  const team = await must('POST', `/orgs/${org}/teams`, { name: `team-${n}`, description: 'first', permission: 'read' })
  await must('PUT', `/teams/${team.json.id}/members/${user}`)
  await must('PATCH', `/teams/${team.json.id}`, { name: `team-${n}`, description: 'second', permission: 'read' })
  await must('PUT', `/user/following/${user}`)
  await must('POST', `/users/${adminLogin}/tokens`, { name: `token ${n}`, scopes: ['read:cluster'] }, basic)
  await must('POST', '/user/emails', { emails: [`admin-${n}@example.net`] })
  await must('PATCH', '/user/settings', { full_name: `Admin ${n}` })
  await must('POST', `/clustersv2/${org}/import`, {
    basicInfo: { name: 'pier', displayName: `Pier ${n}` },
    provider: { accessConfig: kubeconfig },
  })
  await must('GET', `/clusters/${org}/pier/client-config`)
  await must('POST', '/orgs', { username: `gone-${n}` })
  await must('DELETE', `/orgs/gone-${n}`)
  await must('DELETE', `/user/emails`, { emails: [`admin-${n}@example.net`] })
  if (role.json.id === undefined) failures.push('the role has no id')
  return failures
}

const readsOf = (n: string): readonly string[] => [
  `/users/u${n}`,
  `/users/u${n}/orgs`,
  `/orgs/o${n}`,
  `/orgs/o${n}/teams`,
  `/orgs/o${n}/members`,
  `/orgs/o${n}/audit`,
  `/authz/roles?org=o${n}`,
  `/clustersv2/o${n}`,
  `/clusters/o${n}/pier`,
]
const commonReads = [
  '/user',
  '/user/settings',
  '/user/emails',
  '/user/orgs',
  '/admin/users',
  '/admin/audit',
  '/user/following',
]

/** Without what changes by being read, and with time. */
const settled = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      /^(?:age$|last_used|last_login|lastUsed)/.test(key) ? undefined : inner,
    ) ?? 'null',
  )

test('the last release and this one run on one database, and what either writes is right for the other', async (t) => {
  t.timeout(600_000)
  const sources = await sourcesOf(t, last.commit)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-two-releases-'))
  const fake = await startFakeKubernetes()
  const databaseUrl = await emptyMysqlUrl()
  const older = await startRelease(sources, folder, databaseUrl)
  const newer = await startRelease(root, folder, databaseUrl)
  t.teardown(async () => {
    await Promise.all([older.stop(), newer.stop()])
    await fake.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  let bearer = basic
  const [ofOlder, ofNewer] = [sendTo(older, () => bearer), sendTo(newer, () => bearer)]
  t.is((await ofOlder('GET', '/version')).json.version, last.version)
  t.is((await ofNewer('GET', '/version')).json.version, releaseVersion)
  const readiness = await (await request(`${newer.opsUrl}/readyz?verbose`)).body.text()
  t.regex(readiness, /releases.*an instance of v2026\.11\.25 or older is alive/)
  const made = await ofOlder('POST', `/users/${adminLogin}/tokens`, { name: 'both', scopes: ['all', 'sudo'] })
  bearer = `Bearer ${made.json.sha1}`

  // Odd worlds begin at one release, even ones at the other, so that each kind of write is sent by both.
  const failures: string[] = []
  const worlds = Array.from({ length: 24 }, (_, index) => `${index}`)
  const waiting = [...worlds]
  const worker = async (): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      let count = Number(n)
      failures.push(...(await writeWorld(n, () => (count++ % 2 === 0 ? ofOlder : ofNewer), fake.kubeconfig())))
    }
  }
  await Promise.all(Array.from({ length: 6 }, worker))
  t.deepEqual(failures, [])

  let compared = 0
  for (const path of [...commonReads, ...worlds.flatMap(readsOf)]) {
    const [a, b] = [await ofOlder('GET', path), await ofNewer('GET', path)]
    t.is(a.status, 200, `${path}: ${JSON.stringify(a.json)}`)
    t.is(b.status, a.status, path)
    t.deepEqual(settled(b.json), settled(a.json), path)
    compared += 1
  }
  t.log(`${worlds.length} worlds, ${compared} answers compared`)

  // The chain of the audit log has rows of both.
  const command = (from: string, ...words: readonly string[]) =>
    execute(process.execPath, [join(from, 'composition', 'main.ts'), ...words], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...newer.settings },
    })
  const verified = await command(root, 'audit', 'verify')
  t.notRegex(verified.stdout, /broken|altered|missing/i)
  t.notRegex(`${older.output()}${newer.output()}`, /"level":50/, 'no request ended with an error')

  // Named in docs/upgrades.md: a release that was made before the rule does not start on a newer schema.
  await older.stop()
  const error = await t.throwsAsync(startRelease(sources, folder, databaseUrl))
  t.regex(error.message, /migrated by a newer Moorage/)
})
