// process: own - uses components, and waits for the parts at its top level
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import 'reflect-metadata'
import { openOrMakeKeyringFile } from '../../adapters/security/keyring-file.ts'
import { openSelfSignedIdentity } from '../../adapters/security/tls-identity.ts'
import { openDatabase, unsuitableSettings } from '../../adapters/sql/engine/database.ts'
import { doctor } from '../../composition/runtime/cli/doctor/doctor.ts'
import type { Finding } from '../../composition/part/finding.ts'
import {
  checkDataFolder,
  checkDatabase,
  checkKeyring,
  checkNode,
  checkOpenFiles,
  checkTempFolder,
  checkTls,
  skewFinding,
} from '../../composition/runtime/cli/doctor/doctor-checks.ts'
import { checkBus } from '../../composition/parts/bus/doctor.ts'
import { checkPasswordList } from '../../composition/parts/identity/doctor.ts'
import { checkMail } from '../../composition/parts/mail/doctor.ts'
import { loadParts } from '../../composition/parts.ts'
import { loadConfig, ownParts } from '../../composition/moorage.ts'
import type { Settings } from '../../composition/moorage.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import { datedCertificate } from '../support/dated-certificate.ts'
import { startMailServer } from '../mail/mail-server.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl, migratedMysqlUrl } from '../support/databases.ts'
import { migrateToNow } from '../support/schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-doctor-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const parts = await loadParts()
const ours = { parts, ownParts: parts.length }

let folders = 0
const settingsWith = async (more: Readonly<Record<string, string>> = {}): Promise<Settings> => {
  const dataDir = join(folder, `data-${(folders += 1)}`)
  mkdirSync(dataDir, { mode: 0o700 })
  return (await loadConfig({ environment: { MOORAGE_DATA_DIR: dataDir, ...more } })).settings
}

test('a deployment that accepts common passwords is warned', (t) => {
  t.deepEqual(checkPasswordList({ passwordList: 'on' }), [])
  t.like(checkPasswordList({ passwordList: 'off' })[0], { state: 'warning' })
})

test('an old Node is a problem', (t) => {
  t.is(checkNode('24.0.0').state, 'ok')
  t.is(checkNode('20.19.2').state, 'problem')
})

test('a data folder that others can look into is a warning with the command that helps', async (t) => {
  const settings = await settingsWith()
  t.is(checkDataFolder(settings).state, 'ok')
  chmodSync(settings.dataDir, 0o755)
  const finding = checkDataFolder(settings)
  t.is(finding.state, 'warning')
  t.true(finding.message.includes(`chmod o-rwx ${settings.dataDir}`))
})

test('doctor reports a readable key ring without showing its keys', async (t) => {
  const settings = await settingsWith()
  t.regex(checkKeyring(settings).message, /does not exist yet/)
  openOrMakeKeyringFile(settings.keyring)
  t.regex(checkKeyring(settings).message, /holds 1 key; the current one is kek-[0-9a-f]+, made today\./)
  chmodSync(settings.keyring, 0o644)
  t.is(checkKeyring(settings).state, 'problem')
})

test('a certificate of one pair with the key of another is a problem before the start', async (t) => {
  const pair = async (name: string): Promise<string> => {
    await openSelfSignedIdentity(join(folder, name), [name])
    return join(folder, name)
  }
  const [north, south] = [await pair('north'), await pair('south')]
  const tls = async (certificate: string, key: string): Promise<Finding> =>
    checkTls(
      await settingsWith({
        MOORAGE_TLS_CERTIFICATE: join(certificate, 'certificate.pem'),
        MOORAGE_TLS_KEY: join(key, 'key.pem'),
      }),
    )
  t.is((await tls(north, north)).state, 'ok')
  t.is((await tls(north, south)).state, 'problem')
  t.regex((await tls(join(folder, 'nowhere'), south)).message, /certificate\.pem cannot be read \(ENOENT\)/)
  t.regex(checkTls(await settingsWith({ MOORAGE_TLS: 'false' })).message, /plain HTTP only/)
})

test('doctor warns of a certificate near its end and reports an ended one', async (t) => {
  for (const [days, state] of [
    [40, 'ok'],
    [6, 'warning'],
    [-1, 'problem'],
  ] as const) {
    const { certificatePem, keyPem } = await datedCertificate(-9, days)
    const [certificate, key] = [join(folder, `dated-${days}.pem`), join(folder, `dated-${days}.key`)]
    writeFileSync(certificate, certificatePem)
    writeFileSync(key, keyPem)
    t.is(
      checkTls(await settingsWith({ MOORAGE_TLS_CERTIFICATE: certificate, MOORAGE_TLS_KEY: key })).state,
      state,
      String(days),
    )
  }
})

test('doctor writes to the temporary folder and names its setting on failure', async (t) => {
  const settings = await settingsWith()
  t.regex((await checkTempFolder(settings)).message, /tmp does not exist yet/)
  mkdirSync(settings.tempDir)
  t.is((await checkTempFolder(settings)).state, 'ok')
  t.deepEqual(readdirSync(settings.tempDir), [])
  const blocked = join(folder, 'blocked')
  writeFileSync(blocked, '')
  for (const tempDir of [blocked, join(blocked, 'below')]) {
    const finding = await checkTempFolder({ ...settings, tempDir })
    t.is(finding.state, 'problem')
    t.regex(finding.message, /MOORAGE_TEMP_DIR/)
  }
  t.is(checkOpenFiles('Max open files            32 32 files\n').state, 'problem')
  t.is(checkOpenFiles('Max open files            4096 4096 files\n').state, 'ok')
})

test('doctor reports a clock skew above five seconds with its direction', (t) => {
  t.is(skewFinding(4_900).state, 'ok')
  t.is(skewFinding(-4_900).state, 'ok')
  t.regex(skewFinding(61_000).message, /61\.0 s ahead of/)
  t.regex(skewFinding(-61_000).message, /61\.0 s behind/)
  t.is(skewFinding(-61_000).state, 'problem')
})

test('doctor reports a bus without keys, and creates none', async (t) => {
  const settings = await settingsWith({ MOORAGE_BUS_URL: 'nats://bus:4222' })
  const finding = await checkBus(settings)
  t.is(finding.state, 'problem')
  t.regex(finding.message, /moorage bus init/)
  t.deepEqual(readdirSync(settings.dataDir), [])
  t.is((await checkBus(await settingsWith())).state, 'ok')
})

test('doctor reports everything that a start would refuse', async (t) => {
  const messages = async (more: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const printed: string[] = []
    const environment = { MOORAGE_HELM: 'off', MOORAGE_DATA_DIR: (await settingsWith()).dataDir, ...more }
    const code = await doctor({ environment, ownParts, print: (text) => printed.push(text), say: () => undefined }, {})
    t.is(code, printed.some((line) => line.startsWith('problem')) ? 1 : 0)
    return printed.filter((line) => line.startsWith('problem'))
  }
  t.deepEqual(await messages({}), [])
  t.regex(
    (await messages({ MOORAGE_PLUGINS: join(folder, 'absent.mjs') })).join('\n'),
    /settings +The plugin .*absent\.mjs cannot be loaded/,
  )
  t.regex(
    (await messages({ MOORAGE_LISTEN: '192.0.2.1:3000' })).join('\n'),
    /listeners +MOORAGE_LISTEN: 192\.0\.2\.1:3000 cannot be bound: this machine does not have that address/,
  )
  t.regex(
    (await messages({ MOORAGE_DATABASE_URL: `sqlite:${join(folder, 'absent', 'x.sqlite')}` })).join('\n'),
    /absent, the folder of the database .* does not exist/,
  )
  writeFileSync(join(folder, 'file'), '')
  t.regex((await messages({ MOORAGE_DATA_DIR: join(folder, 'file') })).join('\n'), /data folder +\S+file is no folder/)
  t.regex((await messages({ MOORAGE_KEYRING: folder })).join('\n'), /The key ring \S+ is no file/)
})

test('doctor reports newer schemas and unfinished migrations with a remedy', async (t) => {
  const settings = await settingsWith()
  const database = await openDatabase(settings.databaseUrl.reveal())
  await migrateToNow(database)
  const session = await database.openSchemaSession()
  t.teardown(async () => {
    await session.close()
    await database.close()
  })
  const schema = async () => (await checkDatabase(settings, ours)).find(({ subject }) => subject === 'schema')
  await session.execute(
    "update schema_migrations set state = 'started', statements_done = 3 where id = '0003-authz-roles'",
    [],
  )
  const begun = await schema()
  t.is(begun?.state, 'problem')
  t.regex(begun?.message ?? '', /0003-authz-roles has begun and not ended, after 3 .*moorage migrate unlock/)
  const checksum = createHash('sha256').update('9999-later').digest('hex')
  await session.execute(
    `insert into schema_migrations select '9999-later', '${checksum}', 'done', 1, holder, started_at, finished_at from schema_migrations limit 1`,
    [],
  )
  t.like(await schema(), {
    state: 'problem',
    message: 'The database was migrated by a newer version of Moorage. Upgrade this one.',
  })
})

const onMariaDb = needing('mariadb')
onMariaDb('a server database: its settings, its clock, and a schema that is missing or there', async (t) => {
  const states = async (url: string): Promise<readonly string[]> =>
    (await checkDatabase(await settingsWith({ MOORAGE_DATABASE_URL: url }), ours)).map(
      ({ subject, state }) => `${subject} ${state}`,
    )
  const url = await emptyMysqlUrl()
  const database = await openDatabase(url)
  // The server of the tests does not write its log to the disk at each commit.
  const unsuitable = (await unsuitableSettings(database).finally(() => database.close())).map(() => 'database warning')
  t.deepEqual(await states(url), ['database ok', ...unsuitable, 'clock ok', 'schema warning'])
  t.deepEqual(await states(await migratedMysqlUrl()), ['database ok', ...unsuitable, 'clock ok', 'schema ok'])
})

onMariaDb('a wrong password is reported by the code of the server, and never repeated', async (t) => {
  const url = new URL(await emptyMysqlUrl())
  url.username = 'nobody'
  url.password = 'canary-password'
  const [finding] = await checkDatabase(await settingsWith({ MOORAGE_DATABASE_URL: url.href }), ours)
  t.is(finding?.state, 'problem')
  t.regex(finding?.message ?? '', /ER_ACCESS_DENIED/)
  t.notRegex(finding?.message ?? '', /canary/)
})

const checkMailFolder = mkdtempSync(join(tmpdir(), 'moorage-check-mail-'))
test.after.always(() => rmSync(checkMailFolder, { recursive: true, force: true }))

const check = async (mail?: string) =>
  checkMail(
    (
      await loadConfig({
        environment: { MOORAGE_DATA_DIR: checkMailFolder, ...(mail === undefined ? {} : { MOORAGE_MAIL: mail }) },
      })
    ).settings,
  )

test('a folder works and is a warning: its mail is not sent', async (t) => {
  const fresh = await check()
  t.is(fresh.state, 'warning')
  t.regex(fresh.message, /does not exist yet/)
  mkdirSync(join(checkMailFolder, 'mail'))
  t.regex((await check()).message, /not sent, which is suitable for a trial only/)
  writeFileSync(join(checkMailFolder, 'file'), '')
  t.like(await check(`folder:${join(checkMailFolder, 'file')}`), { state: 'problem' })
  t.like(await check(`folder:${join(checkMailFolder, 'new', 'below')}`), { state: 'warning' })
  t.like(await check(`folder:${join(checkMailFolder, 'file', 'below')}`), { state: 'problem' })
  if (process.getuid?.() !== 0) {
    chmodSync(join(checkMailFolder, 'mail'), 0o500)
    t.like(await check(), { state: 'problem' })
  }
})

test("doctor checks a mail server's answer, sign-in and encryption", async (t) => {
  const login = { user: 'relay', password: 'relay-password' }
  const server = await startMailServer({ login })
  t.teardown(() => server.stop())
  const good = await check(`smtp://relay:relay-password@localhost:${server.port}`)
  t.deepEqual(good, {
    subject: 'mail',
    state: 'ok',
    message: `The mail server localhost:${server.port} answers. It accepts the sign-in of relay.`,
  })
  const wrong = await check(`smtp://relay:not-that-one@localhost:${server.port}`)
  t.is(wrong.state, 'problem')
  t.regex(wrong.message, /refuses the user or the password/)
  t.false(wrong.message.includes('not-that-one'))
  const untrusted = await check(`smtp://relay:relay-password@localhost:${server.port}?tls=required`)
  t.is(untrusted.state, 'problem')
  t.is(server.received.length, 0)
  await server.stop()
  const away = await check(`smtp://localhost:${server.port}`)
  t.is(away.state, 'problem')
  t.regex(away.message, /nothing listens there/)
})

test('a setting that is no mail URL stops the start and is not repeated', async (t) => {
  for (const mail of [
    'mail.example.org',
    'smtp://',
    'smtp://u:hidden@host?tls=maybe',
    'smtps://u:hidden@host?tls=off',
  ]) {
    const error = await t.throwsAsync<StartRefused>(check(mail), { instanceOf: StartRefused })
    t.regex(error?.problems.join('\n') ?? '', /MOORAGE_MAIL must be folder:PATH, smtp:/)
    t.false(error?.problems.join('\n').includes('hidden'))
  }
  const bad = { MOORAGE_DATA_DIR: checkMailFolder, MOORAGE_MAIL_FROM: 'Moorage <no-reply@a>\r\nBcc: x@y' }
  await t.throwsAsync(loadConfig({ environment: bad }), { instanceOf: StartRefused })
})
