// process: own - it waits for the parts at its top level
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import test from 'ava'
import { shownSettings } from '../../composition/runtime/cli/config.ts'
import { fileKey } from '../../composition/part/setting.ts'
import { configSchema, settingsOf } from '../../composition/runtime/config/settings.ts'
import { loadParts } from '../../composition/parts.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { StartRefused } from '../../composition/part/boot.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-config-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const fileWith = (text: string): string => {
  const path = join(folder, `config-${(files += 1)}.yaml`)
  writeFileSync(path, text)
  return path
}

const problemsOf = async (environment: Record<string, string>, file?: string): Promise<readonly string[]> => {
  try {
    await loadConfig({ environment, file })
    return []
  } catch (error) {
    if (error instanceof StartRefused) return error.problems
    throw error
  }
}

const settingsTable = settingsOf(await loadParts())

test('without any input the defaults of the contract are used', async (t) => {
  const { settings, sources } = await loadConfig({ environment: {} })
  t.deepEqual(settings.listen, { host: '127.0.0.1', port: 3000 })
  t.deepEqual(settings.marketplaceListen, { host: '127.0.0.1', port: 3001 })
  t.deepEqual(settings.opsListen, { host: '127.0.0.1', port: 3002 })
  t.is(settings.dataDir, join(process.cwd(), 'data'))
  t.is(settings.databaseUrl.reveal(), `sqlite:${join(process.cwd(), 'data', 'moorage.sqlite')}`)
  t.is(settings.keyring, join(process.cwd(), 'data', 'keyring.json'))
  t.is(settings.deploymentType, 'SelfHosted')
  t.false(settings.billingEnabled)
  t.is(settings.passwordMinLength, 12)
  t.deepEqual(settings.kubernetesAllow, ['public', 'private'])
  t.is(settings.adminPassword, undefined)
  t.is(settings.baseUrl, undefined)
  t.deepEqual(new Set(Object.values(sources)), new Set(['default']))
})

test('the environment wins over the file, the file over the default', async (t) => {
  const file = fileWith(
    'listen: 127.0.0.1:4000\nlog_level: debug\nkubernetes_allow: [loopback]\nbilling_enabled: true\n',
  )
  const { settings, sources } = await loadConfig({ environment: { MOORAGE_LISTEN: '[::1]:5000' }, file })
  t.deepEqual(settings.listen, { host: '::1', port: 5000 })
  t.is(settings.logLevel, 'debug')
  t.true(settings.billingEnabled)
  t.deepEqual(settings.kubernetesAllow, ['loopback'])
  t.is(sources['listen'], 'environment')
  t.is(sources['logLevel'], 'file')
  t.is(sources['opsListen'], 'default')
})

test('MOORAGE_CONFIG names the file, --config wins over it', async (t) => {
  const first = fileWith('log_level: warn\n')
  const second = fileWith('log_level: error\n')
  t.is((await loadConfig({ environment: { MOORAGE_CONFIG: first } })).settings.logLevel, 'warn')
  t.is((await loadConfig({ environment: { MOORAGE_CONFIG: first }, file: second })).settings.logLevel, 'error')
})

test('paths that depend on the data folder follow it', async (t) => {
  const { settings } = await loadConfig({ environment: { MOORAGE_DATA_DIR: '/srv/moorage' } })
  t.is(settings.keyring, '/srv/moorage/keyring.json')
  t.is(settings.databaseUrl.reveal(), 'sqlite:/srv/moorage/moorage.sqlite')
})

test('all problems are reported at once, with the nearest known key', async (t) => {
  const file = fileWith('lisen: 127.0.0.1:4000\ndatabaseUrl: x\nops_listen: {port: 1}\nrun_mode: prod\nxyzzyplugh: 1\n')
  const problems = await problemsOf(
    { MOORAGE_PASSWORD_MIN_LENGTH: '7', MOORAGE_DEPLOYMENT_TIPE: 'x', MOORAGE_BASE_URL: 'ftp://x' },
    file,
  )
  const text = problems.join('\n')
  t.is(problems.length, 8)
  t.regex(text, /key lisen in .*did you mean listen\?/)
  t.regex(text, /key databaseUrl in .*did you mean database_url\?/)
  t.regex(text, /ops_listen in .*not a nested mapping/)
  t.regex(text, /run_mode in .* must be one of production, development/)
  t.regex(text, /variable MOORAGE_DEPLOYMENT_TIPE: did you mean MOORAGE_DEPLOYMENT_TYPE\?/)
  t.regex(text, /MOORAGE_PASSWORD_MIN_LENGTH must be a whole number from 8 to 64/)
  t.regex(text, /MOORAGE_BASE_URL must be an http or https URL/)
  t.true(problems.some((problem) => problem.includes('xyzzyplugh') && !problem.includes('did you mean')))
})

test('no problem repeats the value, which may be a secret in the wrong place', async (t) => {
  const file = fileWith('database_url: hunter2hunter2\n')
  const problems = await problemsOf({ MOORAGE_LISTEN: 'hunter2hunter2', MOORAGE_BUS_URL: 'hunter2hunter2' }, file)
  t.is(problems.length, 3)
  t.notRegex(problems.join('\n'), /hunter2/)
})

test('broken YAML tells the place and never the text', async (t) => {
  const problems = await problemsOf({}, fileWith('listen: 127.0.0.1:1\nadmin_password: "hunter2\n'))
  t.regex(problems.join('\n'), /line \d+, column \d+: not valid YAML/)
  t.notRegex(problems.join('\n'), /hunter2/)
  t.regex((await problemsOf({}, fileWith('bus_url: inproc:\n'))).join('\n'), /line 1, column \d+: .*needs quotes/)
  t.regex((await problemsOf({}, join(folder, 'absent.yaml'))).join('\n'), /cannot be read \(ENOENT\)/)
  t.regex((await problemsOf({}, fileWith('- a list\n'))).join('\n'), /must hold keys and values/)
})

test('a value of the file keeps its text instead of a YAML type', async (t) => {
  const file = fileWith(
    'admin_password: 0123456789012\nspoke_agent_version: 1.10\nadmin_username: 0x1F\ntask_workers: 7\ntls: False\nhelm:\nbase_url: ~\ntrusted_proxies: [10.0.0.0/8]\n',
  )
  const { settings, sources } = await loadConfig({ environment: {}, file })
  t.is(settings.adminPassword?.reveal(), '0123456789012')
  t.is(settings.spokeAgentVersion, '1.10')
  t.is(settings.adminUsername, '0x1F')
  t.deepEqual([settings.taskWorkers, settings.tls, settings.trustedProxies], [7, false, ['10.0.0.0/8']])
  t.deepEqual([sources['helm'], sources['baseUrl']], ['default', 'default'])
  t.is(
    (
      await loadConfig({ environment: {}, file: fileWith('admin_password: 123456789012345678901234567890\n') })
    ).settings.adminPassword?.reveal(),
    '123456789012345678901234567890',
  )
})

test('a variable as a key of the file is reported with its key, and so is __proto__', async (t) => {
  const text = (await problemsOf({}, fileWith('MOORAGE_TASK_WORKERS: 3\n__proto__: 3\n'))).join('\n')
  t.regex(text, /key MOORAGE_TASK_WORKERS in .*did you mean task_workers\?/)
  t.regex(text, /key __proto__/)
})

test('a listen address that no URL can contain is refused', async (t) => {
  for (const listen of ['256.1.1.1:4000', '127.0.0.1:99999', '1.2.3:4:5', '*:80', ':80'])
    t.regex((await problemsOf({ MOORAGE_LISTEN: listen })).join(), /MOORAGE_LISTEN must be host:port/, listen)
})

test('aliases are resolved, and a file that multiplies by them is refused', async (t) => {
  const { settings } = await loadConfig({
    environment: {},
    file: fileWith('listen: &here 127.0.0.1:8080\nmarketplace_listen: *here\n'),
  })
  t.is(settings.marketplaceListen.port, 8080)
  const anchors = [
    'a0: &a0 [x, x]',
    ...[1, 2, 3, 4, 5, 6, 7, 8].map(
      (n) =>
        `a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(', ')}]`,
    ),
  ]
  t.regex((await problemsOf({}, fileWith(`${anchors.join('\n')}\n`))).join('\n'), /too many aliases/)
})

test('the variables of a Kubernetes Service named moorage are not taken for settings', async (t) => {
  const injected = {
    MOORAGE_PORT: 'tcp://10.0.0.1:3000',
    MOORAGE_PORT_3000_TCP: 'tcp://10.0.0.1:3000',
    MOORAGE_PORT_3000_TCP_ADDR: '10.0.0.1',
    MOORAGE_SERVICE_HOST: '10.0.0.1',
    MOORAGE_SERVICE_PORT_HTTP: '3000',
    MOORAGE_OPS_SERVICE_HOST: '10.0.0.2',
  }
  t.deepEqual(await problemsOf(injected), [])
})

test('an empty variable counts as absent', async (t) => {
  const { settings, sources } = await loadConfig({ environment: { MOORAGE_LISTEN: '', MOORAGE_CONFIG: ' ' } })
  t.is(settings.listen.port, 3000)
  t.is(sources['listen'], 'default')
})

test('the listeners for the public and for operators cannot be one', async (t) => {
  t.regex((await problemsOf({ MOORAGE_OPS_LISTEN: '127.0.0.1:3000' })).join(), /must differ/)
  t.deepEqual(await problemsOf({ MOORAGE_MARKETPLACE_LISTEN: '127.0.0.1:3000' }), [])
})

test('a certificate without its key is refused, not silently left unused', async (t) => {
  for (const name of ['MOORAGE_TLS_CERTIFICATE', 'MOORAGE_TLS_KEY'])
    t.regex((await problemsOf({ [name]: 'some.pem' })).join(), /belong together/)
  t.deepEqual(await problemsOf({ MOORAGE_TLS_CERTIFICATE: 'a.pem', MOORAGE_TLS_KEY: 'b.pem' }), [])
})

test('secrets are masked wherever settings are shown', async (t) => {
  const config = await loadConfig({
    environment: {
      MOORAGE_ADMIN_PASSWORD: 'canary-one',
      MOORAGE_MARKETPLACE_SECRET: 'canary-two',
      MOORAGE_DATABASE_URL: 'mysql://moorage:canary%2Fthree@db:3306/moorage',
      MOORAGE_BUS_URL: 'nats://u:canary-4@a:1,nats://u:canary-5@b:1,nats://canary-6@c:1',
    },
  })
  for (const password of ['canary/6', 'can:ary@canary', 'canary,//x', 'canary#?7']) {
    const raw = await loadConfig({
      environment: { MOORAGE_DATABASE_URL: `mysql://moorage:${password}@db:3306/moorage` },
    })
    t.notRegex(JSON.stringify(shownSettings(raw)), /canary/, 'a password that is not percent-encoded')
  }
  const shown = JSON.stringify(shownSettings(config))
  t.notRegex(shown, /canary/)
  t.notRegex(JSON.stringify(config.settings), /canary/)
  t.true(shown.includes('mysql://moorage:***@db:3306/moorage'))
  t.is(config.settings.databaseUrl.reveal(), 'mysql://moorage:canary%2Fthree@db:3306/moorage')
})

test('the schema is valid and names every setting that the reader accepts', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  const validate = ajv.compile(configSchema(settingsTable))
  const schema = configSchema(settingsTable) as {
    properties: Record<string, { default?: unknown; 'x-env': string; description: string }>
  }
  t.deepEqual(Object.keys(schema.properties), Object.values(settingsTable).map(fileKey))
  const defaults = Object.fromEntries(
    Object.entries(schema.properties).flatMap(([key, { default: value }]) =>
      value === undefined ? [] : [[key, value]],
    ),
  )
  t.true(validate(defaults), JSON.stringify(validate.errors))
  const printed = shownSettings(
    await loadConfig({ environment: { MOORAGE_DATABASE_URL: 'mysql://u:p@db/moorage', MOORAGE_ADMIN_PASSWORD: 'x' } }),
  )
  t.true(validate(Object.fromEntries(printed.map(({ key, value }) => [key, value]))), JSON.stringify(validate.errors))
  t.false(validate({ lisen: 'x' }))
  t.false(validate({ password_min_length: 3 }))
  t.true(Object.values(schema.properties).every(({ description }) => description.length > 4))
})

test('every variable of the contract is in the table', (t) => {
  const contract = [
    'LISTEN',
    'MARKETPLACE_LISTEN',
    'OPS_LISTEN',
    'BASE_URL',
    'DATA_DIR',
    'DATABASE_URL',
    'BUS_URL',
    'BUS_PUBLIC_URL',
    'DEPLOYMENT_TYPE',
    'BILLING_ENABLED',
    'RUN_MODE',
    'ADMIN_USERNAME',
    'ADMIN_EMAIL',
    'ADMIN_PASSWORD',
    'KEYRING',
    'TRUSTED_PROXIES',
    'PASSWORD_MIN_LENGTH',
    'SESSION_COOKIE',
    'HELM',
    'KUBERNETES_ALLOW',
    'EGRESS_ALLOW',
    'LOG_LEVEL',
    'PLUGINS',
    'MARKETPLACE_SECRET',
  ]
  const known: readonly string[] = Object.values(settingsTable).map(({ env }) => env)
  t.deepEqual(
    contract.filter((name) => !known.includes(`MOORAGE_${name}`)),
    [],
  )
})
