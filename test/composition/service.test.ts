import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { openOrMakeKeyringFile } from '../../adapters/security/keyring.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migrateUp, migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import { makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import { openSqliteDatabase } from '../../adapters/sql/engine/sqlite-database.ts'
import type { Prepare, Statement } from '../../adapters/sql/kit/statement.ts'
import type { ExitCode } from '../../composition/cli/command-context.ts'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import { loadConfig } from '../../composition/config/config.ts'
import { loadOutsideParts } from '../../composition/outside-parts.ts'
import { loadParts } from '../../composition/parts.ts'
import { compose, makeStopSequence } from '../../composition/service/compose.ts'
import { passingFoundation } from '../../composition/service/foundation.ts'
import type { RunningService } from '../../composition/service/running-service.ts'
import { startRunning } from '../../composition/service/running-service.ts'
import { StartRefused } from '../../composition/boot.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { needing } from '../support/components/needing.ts'
import { adminLogin, adminPassword, startService, testEnvironment } from '../support/service.ts'
import { ourMigrations } from '../support/schema.ts'

test('the assembled service answers on its own ports, with a site admin and a token', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const version = await service.send('GET', '/api/v1/version')
  t.is(version.status, 200)
  const me = await service.send('GET', '/api/v1/user', { token: service.adminToken })
  t.is(me.status, 200, me.text)
  t.is(me.json.login, adminLogin)
  t.is((await service.send('GET', '/api/v1/user')).status, 401)
  t.is((await service.send('GET', '/api/v1/user', { basic: [adminLogin, adminPassword] })).status, 200)
})

test('readiness says yes while it runs and the metrics know the requests', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  t.is((await fetch(`${service.opsUrl}/readyz`)).status, 200)
  await service.send('GET', '/api/v1/version')
  t.regex(
    await (await fetch(`${service.opsUrl}/metrics`)).text(),
    /moorage_http_requests_total\{[^}]*route="\/version"/,
  )
})

test('error bodies and links name the port that was really bound', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const answer = await service.send('GET', '/api/v1/user')
  t.true(String(answer.json.url).startsWith(service.baseUrl), answer.text)
})

test('a bus that does not answer, or has no keys, keeps nothing but messages from working', async (t) => {
  const service = await startService({ settings: { MOORAGE_BUS_URL: 'nats://127.0.0.1:1' } })
  t.teardown(() => service.stop())
  const ready = await fetch(`${service.opsUrl}/readyz?verbose`)
  t.is(ready.status, 200)
  t.regex(await ready.text(), /\[-\] bus\n/)
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  const answer = await service.send('GET', '/api/v1/user/bus/credentials', { token: service.adminToken })
  t.is(answer.status, 404)
  t.like(answer.json, { code: 'BusHasNoCredentials' })
  t.regex(answer.json.message as string, /moorage bus init/)
})

const onMariaDb = needing('mariadb')
onMariaDb('the same assembly runs on a server database', async (t) => {
  const service = await startService({ database: 'mysql' })
  t.teardown(() => service.stop())
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).json.login, adminLogin)
})

test('no secret of the settings or of the start reaches the log', async (t) => {
  const service = await startService({ settings: { MOORAGE_LOG_LEVEL: 'debug' } })
  t.teardown(() => service.stop())
  await service.send('GET', '/api/v1/user?token=canary-query', { basic: [adminLogin, adminPassword] })
  await service.send('GET', '/api/v1/user', { token: service.adminToken })
  t.true(service.logLines().length > 0)
  for (const secret of [adminPassword, service.adminToken, 'canary-query']) t.false(service.logText().includes(secret))
})

const start = async (
  environment: Record<string, string | undefined>,
  options: { readonly acceptsKeyring?: boolean } = {},
): Promise<RunningService> =>
  startRunning({
    ...options,
    config: await loadConfig({ environment }),
    log: makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } }),
  })

const environmentOn = async (
  t: { teardown(fn: () => void): void },
  database: 'sqlite' | 'mysql',
): Promise<Record<string, string | undefined>> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-first-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return { ...(await testEnvironment(folder, database)), MOORAGE_ADMIN_PASSWORD: undefined }
}

for (const database of ['sqlite', 'mysql'] as const) {
  const each = database === 'mysql' ? needing('mariadb') : test
  each(
    `${database}: of two instances that start at once one makes the first admin, with a password that works`,
    async (t) => {
      const environment = await environmentOn(t, database)
      const services = await Promise.all([start(environment), start(environment)])
      t.teardown(() => Promise.all(services.map((service) => service.stop())))
      const made = services.flatMap(({ firstAdmin }) => firstAdmin ?? [])
      t.is(made.length, 1)
      const [{ username = '', generatedPassword = '' } = {}] = made
      t.regex(generatedPassword, /^[a-z2-9]{5}(-[a-z2-9]{5}){3}$/)
      for (const { baseUrl } of services) {
        const authorization = `Basic ${Buffer.from(`${username}:${generatedPassword}`).toString('base64')}`
        t.is((await fetch(`${baseUrl}/api/v1/user`, { headers: { authorization } })).status, 200)
      }
    },
  )
}

test('the second start creates no user and shows no password', async (t) => {
  const environment = await environmentOn(t, 'sqlite')
  const first = await start(environment)
  t.truthy(first.firstAdmin?.generatedPassword)
  await first.stop()
  const second = await start(environment)
  t.teardown(() => second.stop())
  t.is(second.firstAdmin, undefined)
})

test('a password that the policy refuses stops the start with a sentence that does not repeat it', async (t) => {
  const environment = { ...(await environmentOn(t, 'sqlite')), MOORAGE_ADMIN_PASSWORD: 'short-canary'.slice(0, 7) }
  const error = await t.throwsAsync(start(environment), { instanceOf: StartRefused })
  t.regex(error.message, /first site admin admin cannot be made/)
  t.notRegex(error.message, /short-c/)
})

test('a start that cannot listen creates no user: the next one shows the password', async (t) => {
  const environment = await environmentOn(t, 'sqlite')
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  await t.throwsAsync(start({ ...environment, MOORAGE_LISTEN: `127.0.0.1:${port}` }), {
    instanceOf: StartRefused,
    message: /another process listens there/,
  })
  taken.close()
  const service = await start(environment)
  t.teardown(() => service.stop())
  t.truthy(service.firstAdmin?.generatedPassword)
})

for (const dialect of ['sqlite', 'mysql'] as const) {
  test(`every statement that a service prepares is one of ${dialect}`, async (t) => {
    const environment = {
      MOORAGE_DATABASE_URL: 'sqlite::memory:',
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
    }
    const config = await loadConfig({ environment })
    const foundation = await passingFoundation()
    const log = makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } })
    const stops = makeStopSequence(log)
    stops.add('database', () => foundation.database.close())
    const prepared: Statement[] = []
    const prepareOf = makePrepare(makeComposer(dialect))
    const prepare: Prepare = (...statement) => {
      const made = prepareOf(...statement)
      prepared.push(made)
      return made
    }
    compose({
      config,
      foundation: { ...foundation, database: { ...foundation.database, dialect, prepare } },
      log,
      stops,
    })
    await stops.run()
    // A statement is composed when it is first used, and most tests use few.
    for (const { sql, order } of prepared) t.is(sql.split('?').length - 1, order.length, sql)
    t.true(prepared.length > 300, String(prepared.length))
  })
}

const here = fileURLToPath(new URL('./', import.meta.url))
const slowPlugin = join(here, 'fixtures', 'slow-plugin.ts')
const folder = mkdtempSync(join(tmpdir(), 'moorage-plugins-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const own = await loadParts()
const outside = (places: readonly string[], from: string) => loadOutsideParts(places, from, own)

test("a deployer's plugin is loaded by a path relative to the folder and provides its own ports", async (t) => {
  const [loaded] = (await outside(['./fixtures/slow-plugin.ts'], here)).parts
  t.is(loaded?.plugin.id, 'slow')
  const service = await startService({ settings: { MOORAGE_PLUGINS: slowPlugin } })
  t.teardown(() => service.stop())
  const answer = await service.send('GET', '/api/v1/slow/0')
  t.is(answer.status, 200, answer.text)
  t.is(answer.json.text, 'done on SelfHosted')
})

test('a package is found by its name from the folder', async (t) => {
  const place = join(folder, 'node_modules', 'my-plugin')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"name":"my-plugin","type":"module","main":"main.js"}')
  writeFileSync(
    join(place, 'main.js'),
    `import { definePart } from 'moorage/composition/part'
import { definePlugin } from 'moorage/plugins/kit/plugin'
export const part = definePart({
  plugin: definePlugin({ id: 'mine', summary: '', listener: 'api', gate: 'always', groups: [] }),
})
`,
  )
  const [loaded] = (await outside(['my-plugin'], folder)).parts
  t.is(loaded?.plugin.id, 'mine')
})

test('a plugin outside every package imports this copy by the names that package.json exports', async (t) => {
  writeFileSync(
    join(folder, 'outside.ts'),
    `import * as t from 'io-ts'
import { right } from 'fp-ts/lib/Either.js'
import { definePart } from 'moorage/composition/part'
import { releaseVersion } from 'moorage/core/platform/version'
import { anyone } from 'moorage/plugins/kit/access'
import { defineGroup } from 'moorage/plugins/kit/group'
import { handle } from 'moorage/plugins/kit/handle'
import { definePlugin } from 'moorage/plugins/kit/plugin'
import { json } from 'moorage/plugins/kit/reply'
import { defineRoute } from 'moorage/plugins/kit/route'

const tide = defineRoute({ id: 'tide.get', method: 'GET', path: '/tide', summary: 'Tell the tide', tag: 'Tide', access: anyone,
  ok: json(200, t.type({ of: t.string }), { of: 'v1' }), failures: [] })
const tideGroup = defineGroup({ needs: {}, routes: () => [handle(tide, async () => right({ of: releaseVersion }))] })
const plugin = definePlugin({ id: 'tide', summary: 'Tides', listener: 'api', gate: 'always', groups: [tideGroup] })
export const part = definePart({ plugin, tags: [{ name: 'Tide', description: 'Tides of the harbour.' }] })
`,
  )
  const service = await startService({ settings: { MOORAGE_PLUGINS: join(folder, 'outside.ts') } })
  t.teardown(() => service.stop())
  t.deepEqual((await service.send('GET', '/api/v1/tide')).json, { of: releaseVersion })
})

test('what package.json does not export stays closed to plugins', async (t) => {
  writeFileSync(join(folder, 'curious.ts'), "import 'moorage/composition/http/bind-route'\nexport const plugin = 1\n")
  const { problems } = await outside(['./curious.ts'], folder)
  t.regex(problems[0] ?? '', /curious\.ts cannot be loaded: Cannot find package 'moorage'/)
})

test('all plugins that cannot be loaded are reported at once', async (t) => {
  writeFileSync(join(folder, 'empty.mjs'), 'export const nothing = 1\n')
  writeFileSync(
    join(folder, 'bare.mjs'),
    "export const part = { plugin: { id: 'bare', summary: '', listener: 'api', gate: 'always', needs: {}, routes: () => [] } }\n",
  )
  writeFileSync(join(folder, 'throws.mjs'), "throw new Error('no licence')\n")
  writeFileSync(join(folder, 'old.mjs'), 'export const plugin = {}\nexport const provide = () => undefined\n')
  const { parts, problems } = await outside(
    ['./empty.mjs', './throws.mjs', './absent.mjs', 'no-such-package', './bare.mjs', './old.mjs'],
    folder,
  )
  t.deepEqual(parts, [])
  t.is(problems.length, 6)
  t.regex(problems[0] ?? '', /empty\.mjs must export `part`/)
  t.regex(problems[1] ?? '', /throws\.mjs cannot be loaded: no licence/)
  t.regex(problems[4] ?? '', /bare\.mjs must export `part`, made by definePart/)
  t.regex(problems[5] ?? '', /old\.mjs exports `plugin`, the form of earlier releases: export `part` instead/)
  t.true(problems.every((problem) => !problem.includes('\n')))
})

test('a plugin that claims a route of the service is refused at the start', async (t) => {
  const path = join(here, 'fixtures', 'clashing-plugin.ts')
  await t.throwsAsync(startService({ settings: { MOORAGE_PLUGINS: path } }), {
    instanceOf: StartRefused,
    message: /\/api\/v1\/version of clash\.version is already/,
  })
})

test('a plugin with a fault of its own is named, and the schema is not migrated before', async (t) => {
  const declared = (provide: string): string =>
    "import { definePart } from 'moorage/composition/part'\nimport { definePlugin } from 'moorage/plugins/kit/plugin'\n" +
    "const plugin = definePlugin({ id: 'tide', summary: '', listener: 'api', gate: 'always', groups: [] })\n" +
    `export const part = definePart({ plugin, provide: ${provide} })\n`
  const reasonFor = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    writeFileSync(path, text)
    const dataDir = join(folder, `data-of-${name}`)
    const settings = {
      MOORAGE_PLUGINS: path,
      MOORAGE_DATA_DIR: dataDir,
      MOORAGE_DATABASE_URL: `sqlite:${join(dataDir, 'tide.sqlite')}`,
    }
    const error = await t.throwsAsync(startService({ settings }), { instanceOf: StartRefused })
    mkdirSync(dataDir, { recursive: true })
    const database = await openDatabase(settings.MOORAGE_DATABASE_URL)
    const states = new Set(
      (await migrationStatus(database, ourMigrations).finally(() => database.close())).map(({ state }) => state),
    )
    t.deepEqual(states, new Set(['pending']), 'an earlier version can still start')
    return error.message
  }
  t.regex(
    await reasonFor('wet.mjs', declared("() => { throw new Error('the tables are wet') }")),
    /^`provide` of the plugin tide failed: the tables are wet \(.*wet\.mjs:4:\d+\)$/,
  )
  t.regex(
    await reasonFor('late.mjs', declared('async () => []')),
    /^`provide` of the plugin tide must return a list of bind.*, and must not be async/,
  )
  t.regex(
    await reasonFor('gate.mjs', declared('() => []').replace("'always'", "'allways'")),
    /gate allways, which must be one of always, vendor-hosted/,
  )
})

const cliFolder = mkdtempSync(join(tmpdir(), 'moorage-cli-'))
test.after.always(() => rmSync(cliFolder, { recursive: true, force: true }))
let folders = 0

interface Ran {
  readonly code: ExitCode
  readonly out: string
  readonly err: string
}

/** The command line in this process, over a data folder of its own unless one is given. */
const run = async (words: readonly string[], environment: Record<string, string> = {}): Promise<Ran> => {
  const out: string[] = []
  const err: string[] = []
  const code = await runCommandLine(words, {
    environment: { MOORAGE_DATA_DIR: join(cliFolder, `data-${(folders += 1)}`), ...environment },
    print: (text) => void out.push(text),
    say: (text) => void err.push(text),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const commands = [
  'serve',
  'openapi',
  'doctor',
  'migrate up',
  'migrate status',
  'migrate plan',
  'migrate unlock',
  'config check',
  'config print',
  'config schema',
  'admin create-user',
  'admin set-password',
  'admin reset-second-factor',
  'admin unlock',
  'admin create-token',
  'audit verify',
  'audit export',
  'bus init',
  'helm install',
  'helm version',
]

for (const command of commands) {
  test(`${command} --help teaches with examples and knows --config`, async (t) => {
    const { code, out, err } = await run([...command.split(' '), '--help'])
    t.is(code, 0)
    t.is(err, '')
    t.regex(out, /--config <file>/)
    t.regex(out, /Examples:\n.*moorage /)
  })
}

test('help and version are results; wrong use is 2, on stderr, with a suggestion', async (t) => {
  t.deepEqual(await run(['--version']).then(({ code, err }) => [code, err]), [0, ''])
  const unknown = await run(['serv'])
  t.is(unknown.code, 2)
  t.is(unknown.out, '')
  t.regex(unknown.err, /unknown command 'serv'[\s\S]*Did you mean serve\?/)
  t.is((await run([])).code, 2)
  t.is((await run(['migrate'])).code, 2)
  t.is((await run(['serve', '--prot', '1'])).code, 2)
  t.is((await run(['admin', 'create-user', 'alice'])).code, 2)
})

test('a refused configuration is 1, every problem on stderr, nothing on stdout', async (t) => {
  const { code, out, err } = await run(['config', 'check'], { MOORAGE_LISTENN: 'x', MOORAGE_RUN_MODE: 'fast' })
  t.is(code, 1)
  t.is(out, '')
  t.regex(err, /2 problems:[\s\S]*MOORAGE_LISTENN: did you mean MOORAGE_LISTEN\?[\s\S]*MOORAGE_RUN_MODE must be one of/)
})

test('config check says which plugins and routes this deployment has, and touches no data', async (t) => {
  const environment = {
    MOORAGE_DATABASE_URL: 'mysql://nobody:x@127.0.0.1:1/none',
    MOORAGE_DATA_DIR: join(cliFolder, 'never'),
  }
  const { code, out } = await run(['config', 'check', '--json'], environment)
  t.is(code, 0)
  const { plugins, deploymentType } = JSON.parse(out) as {
    plugins: { id: string; routes: string[] }[]
    deploymentType: string
  }
  t.is(deploymentType, 'SelfHosted')
  t.true(plugins.find(({ id }) => id === 'platform')?.routes.includes('GET /api/v1/version'))
  t.regex((await run(['config', 'check'])).out, /identity \(always\)/)
  t.regex((await run(['doctor'], environment)).out, /never does not exist yet/)
})

test('config print masks, config schema is JSON', async (t) => {
  const { out } = await run(['config', 'print'], { MOORAGE_ADMIN_PASSWORD: 'canary-canary' })
  t.regex(out, /^admin_password: "\*\*\*" +# MOORAGE_ADMIN_PASSWORD, environment$/m)
  t.notRegex(out, /canary/)
  const { settings } = JSON.parse((await run(['config', 'print', '--json'])).out) as {
    settings: Record<string, unknown>
  }
  t.is(settings['listen'], '127.0.0.1:3000')
  t.is((JSON.parse((await run(['config', 'schema'])).out) as { type: string }).type, 'object')
})

test('openapi prints the document of this deployment', async (t) => {
  t.is((await run(['openapi', '--json'])).code, 0, 'as every command that has a result')
  const document = JSON.parse((await run(['openapi'], { MOORAGE_BASE_URL: 'https://p.example' })).out) as {
    openapi: string
    servers: { url: string }[]
    paths: Record<string, unknown>
  }
  t.is(document.openapi, '3.1.0')
  t.is(document.servers[0]?.url, 'https://p.example/api/v1')
  t.truthy(document.paths['/version'])
})

test('migrate: status, plan, up, up again, unlock', async (t) => {
  const environment = { MOORAGE_DATA_DIR: join(cliFolder, 'migrated') }
  t.regex((await run(['migrate', 'status'], environment)).out, /pending +identity +0001-identity-accounts/)
  t.regex((await run(['migrate', 'plan'], environment)).out, /create table `accounts`/)
  t.regex((await run(['migrate', 'up'], environment)).out, /applied 0001-identity-accounts of the part identity/)
  t.is((await run(['migrate', 'up'], environment)).out, 'The schema is up to date.')
  t.true(
    (JSON.parse((await run(['migrate', 'status', '--json'], environment)).out) as { isCurrent: boolean }).isCurrent,
  )
  t.is((await run(['migrate', 'unlock'], environment)).code, 0)
})

test('admin: a user is made, given a password and a token; refusals are plain', async (t) => {
  const environment = { MOORAGE_DATA_DIR: join(cliFolder, 'admin') }
  const early = await run(['admin', 'unlock', 'alice'], environment)
  t.is(early.code, 1)
  t.regex(early.err, /Run: moorage migrate up/)
  await run(['migrate', 'up'], environment)
  const made = JSON.parse(
    (await run(['admin', 'create-user', 'alice', '--email', 'alice@example.com', '--json'], environment)).out,
  ) as Record<string, unknown>
  t.is(made['username'], 'alice')
  t.false(made['is_admin'])
  t.regex(String(made['password']), /^[a-z2-9-]{23}$/)
  const again = await run(['admin', 'create-user', 'Alice', '--email', 'other@example.com'], environment)
  t.is(again.code, 1)
  t.is(again.out, '')
  const file = join(cliFolder, 'password.txt')
  writeFileSync(file, 'lantern-harbour-1987\nsecond line\n')
  const set = await run(['admin', 'set-password', 'alice', '--password-file', file], environment)
  t.is(set.code, 0, set.err)
  t.notRegex(set.out + set.err, /lantern/)
  t.regex(
    (await run(['admin', 'create-token', 'alice', '--name', 'ci', '--scopes', 'read:cluster'], environment)).out,
    /token +moor_\w{36}/,
  )
  t.regex(
    (await run(['admin', 'create-token', 'alice', '--name', 'x', '--scopes', 'paint:walls'], environment)).err,
    /There is no scope "paint:walls"/,
  )
  t.regex((await run(['admin', 'create-token', 'bob', '--name', 'x'], environment)).err, /The user bob does not exist/)
  t.is((await run(['admin', 'unlock', 'alice'], environment)).code, 0)
  for (const [name, says] of [
    ['alice', /No second factor is enrolled/],
    ['bob', /The user does not exist/],
  ] as const) {
    const reset = await run(['admin', 'reset-second-factor', name], environment)
    t.is(reset.code, 1)
    t.regex(reset.err, says)
  }
})

test('doctor says what is wrong and exits 1 when something must be repaired', async (t) => {
  const healthy = await run(['doctor', '--json'])
  t.is(healthy.code, 0, healthy.out)
  const broken = await run(['doctor'], {
    MOORAGE_DATABASE_URL: 'mysql://nobody:canary@127.0.0.1:1/none',
    MOORAGE_HELM: '/no/helm',
  })
  t.is(broken.code, 1)
  t.regex(broken.out, /^problem +database .*ECONNREFUSED.*MOORAGE_DATABASE_URL/m)
  t.regex(broken.out, /^problem +helm .*\/no\/helm/m)
  t.notRegex(broken.out, /canary/)
  const misconfigured = await run(['doctor'], { MOORAGE_RUN_MODE: 'fast' })
  t.is(misconfigured.code, 1)
  t.regex(misconfigured.out, /^problem +settings +MOORAGE_RUN_MODE must be/m)
})

test('a key ring that is gone while the database is in use stops everything that needs it', async (t) => {
  const dataDir = join(cliFolder, 'lost-keys')
  const environment = { MOORAGE_DATA_DIR: dataDir }
  await run(['migrate', 'up'], environment)
  t.is((await run(['admin', 'create-user', 'alice', '--email', 'alice@example.com'], environment)).code, 0)
  rmSync(join(dataDir, 'keyring.json'))
  const { code, err } = await run(['serve'], environment)
  t.is(code, 1)
  t.regex(err, /keyring\.json is not there, but the database is in use.*Restore it/)
  t.false(existsSync(join(dataDir, 'keyring.json')), 'a new one would hide that the old one is lost')
  const doctor = await run(['doctor'], environment)
  t.is(doctor.code, 1)
  t.regex(doctor.out, /^problem +key ring .*is not there/m)
  t.notRegex(doctor.out, /the first start makes it/)
})

test('the key ring of another database stops everything that needs it, until the operator accepts it', async (t) => {
  const dataDir = join(cliFolder, 'other-keys')
  const environment = { MOORAGE_DATA_DIR: dataDir, MOORAGE_LISTEN: '127.0.0.1:0', MOORAGE_OPS_LISTEN: '127.0.0.1:0' }
  await run(['migrate', 'up'], environment)
  t.is((await run(['admin', 'create-user', 'alice', '--email', 'alice@example.com'], environment)).code, 0)
  rmSync(join(dataDir, 'keyring.json'))
  openOrMakeKeyringFile(join(dataDir, 'keyring.json'))
  for (const words of [['serve'], ['admin', 'unlock', 'alice']]) {
    const { code, err } = await run(words, environment)
    t.is(code, 1, words.join(' '))
    t.regex(err, /keyring\.json is not that of this database.*MOORAGE_KEYRING/)
  }
  const doctor = await run(['doctor'], environment)
  t.is(doctor.code, 1)
  t.regex(doctor.out, /^problem +key ring .*is not that of this database/m)
  const accepted = { ...environment, MOORAGE_TLS: 'false', MOORAGE_HELM: 'off', MOORAGE_DRAIN_SECONDS: '0' }
  const service = await start(accepted, { acceptsKeyring: true })
  t.not(service.firstAdmin, undefined, 'it wrote a row of the audit log')
  await service.stop()
  // From then on the key ring is that of the database.
  await (await start(accepted)).stop()
})

test('the message names a file that is not a database', async (t) => {
  const dataDir = join(cliFolder, 'no-database')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'moorage.sqlite'), 'something else entirely'.repeat(400))
  const { code, err } = await run(['migrate', 'status'], { MOORAGE_DATA_DIR: dataDir })
  t.is(code, 1)
  t.regex(err, /no-database\/moorage\.sqlite cannot be used: .*not a database/)
})

test('no command works on the schema of a newer version: it would not ask for what it does not know of', async (t) => {
  const dataDir = join(cliFolder, 'newer')
  const environment = { MOORAGE_DATA_DIR: dataDir, MOORAGE_LISTEN: '127.0.0.1:0', MOORAGE_OPS_LISTEN: '127.0.0.1:0' }
  mkdirSync(dataDir)
  const database = openSqliteDatabase(join(dataDir, 'moorage.sqlite'))
  await migrateUp(database, {
    migrations: [
      ...ourMigrations,
      { id: '9999-tomorrow', part: 'tomorrow', summary: 'of a newer version', up: async () => undefined },
    ],
  })
  await database.close()
  for (const words of [['serve'], ['serve', '--no-migrate'], ['admin', 'unlock', 'admin'], ['bus', 'init']]) {
    const { code, err } = await run(words, environment)
    t.is(code, 1, words.join(' '))
    t.regex(
      err,
      /migrated by a newer Moorage: this version does not know 9999-tomorrow\. Run the newer version/,
      words.join(' '),
    )
  }
})

test('serve --no-migrate refuses an empty database', async (t) => {
  const { code, err } = await run(['serve', '--no-migrate'], {
    MOORAGE_LISTEN: '127.0.0.1:0',
    MOORAGE_OPS_LISTEN: '127.0.0.1:0',
  })
  t.is(code, 1)
  t.regex(err, /schema is behind by \d+ migrations\. Run: moorage migrate up/)
})
