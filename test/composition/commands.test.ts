import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { migrateUp } from '../../adapters/sql/engine/migrator.ts'
import { openSqliteDatabase } from '../../adapters/sql/engine/sqlite-database.ts'
import { ourMigrations } from '../support/schema.ts'
import { cliFolder, run } from './command-fixture.ts'

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
  'admin local-sign-in',
  'admin create-token',
  'audit verify',
  'audit export',
  'bus init',
  'helm install',
  'helm version',
  'database compact',
  'backup create',
  'backup verify',
  'backup restore',
  'demo seed',
  'demo reset',
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

test('help and version succeed, and wrong use exits with 2 and a suggestion', async (t) => {
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

test('config check lists plugins and routes without opening data', async (t) => {
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

test('keys init makes a key ring once, and asks no database', async (t) => {
  const path = join(cliFolder, 'made', 'keyring.json')
  const environment = { MOORAGE_KEYRING: path, MOORAGE_DATABASE_URL: 'mysql://reader@127.0.0.1:1/none' }
  t.regex((await run(['keys', 'init'], environment)).out, /Made the key ring .*keyring\.json/)
  const made = readFileSync(path, 'utf8')
  const again = await run(['keys', 'init'], environment)
  t.is(again.code, 1)
  t.regex(again.err, /exists already/)
  t.is(readFileSync(path, 'utf8'), made)
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

test('admin creates a user, a password and a token, and explains refusals', async (t) => {
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

test('doctor names each problem and exits with 1 when one needs repair', async (t) => {
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

test('the message names a file that is not a database', async (t) => {
  const dataDir = join(cliFolder, 'no-database')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'moorage.sqlite'), 'something else entirely'.repeat(400))
  const { code, err } = await run(['migrate', 'status'], { MOORAGE_DATA_DIR: dataDir })
  t.is(code, 1)
  t.regex(err, /no-database\/moorage\.sqlite cannot be used: .*not a database/)
})

test('every command refuses the schema of a newer version', async (t) => {
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
