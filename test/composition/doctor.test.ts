import 'reflect-metadata'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openOrMakeKeyringFile } from '../../adapters/security/keyring.ts'
import { openSelfSignedIdentity } from '../../adapters/security/tls-identity.ts'
import { loadConfig } from '../../composition/config/config.ts'
import type { Finding } from '../../composition/cli/doctor-checks.ts'
import { checkBus, checkDatabase, checkDataFolder, checkKeyring, checkNode, checkTls, skewFinding } from '../../composition/cli/doctor-checks.ts'
import type { Settings } from '../../composition/config/settings.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl, migratedMysqlUrl } from '../support/databases.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-doctor-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
const settingsWith = async (more: Readonly<Record<string, string>> = {}): Promise<Settings> => {
  const dataDir = join(folder, `data-${(folders += 1)}`)
  mkdirSync(dataDir, { mode: 0o700 })
  return (await loadConfig({ environment: { MOORAGE_DATA_DIR: dataDir, ...more } })).settings
}

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

test('a key ring that others can read is a problem; its keys are never told', async (t) => {
  const settings = await settingsWith()
  t.regex(checkKeyring(settings).message, /does not exist yet/)
  openOrMakeKeyringFile(settings.keyring)
  t.regex(checkKeyring(settings).message, /holds 1 keys; the current one is kek-/)
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
    checkTls(await settingsWith({ MOORAGE_TLS_CERTIFICATE: join(certificate, 'certificate.pem'), MOORAGE_TLS_KEY: join(key, 'key.pem') }))
  t.is((await tls(north, north)).state, 'ok')
  t.is((await tls(north, south)).state, 'problem')
  t.regex((await tls(join(folder, 'nowhere'), south)).message, /certificate\.pem cannot be read \(ENOENT\)/)
  t.regex(checkTls(await settingsWith({ MOORAGE_TLS: 'false' })).message, /plain HTTP only/)
})

test('clocks that are more than five seconds apart are a problem, in the right direction', (t) => {
  t.is(skewFinding(4_900).state, 'ok')
  t.is(skewFinding(-4_900).state, 'ok')
  t.regex(skewFinding(61_000).message, /61\.0 s ahead of/)
  t.regex(skewFinding(-61_000).message, /61\.0 s behind/)
  t.is(skewFinding(-61_000).state, 'problem')
})

test('a bus without keys is a problem, with the command that makes them; looking makes nothing', async (t) => {
  const settings = await settingsWith({ MOORAGE_BUS_URL: 'nats://bus:4222' })
  const finding = await checkBus(settings)
  t.is(finding.state, 'problem')
  t.regex(finding.message, /moorage bus init/)
  t.deepEqual(readdirSync(settings.dataDir), [])
  t.is((await checkBus(await settingsWith())).state, 'ok')
})

const onMariaDb = needing('mariadb')
onMariaDb('a server database: its clock, and a schema that is missing or there', async (t) => {
  const states = async (url: string): Promise<readonly string[]> =>
    (await checkDatabase(await settingsWith({ MOORAGE_DATABASE_URL: url }))).map(({ subject, state }) => `${subject} ${state}`)
  t.deepEqual(await states(await emptyMysqlUrl()), ['database ok', 'clock ok', 'schema warning'])
  t.deepEqual(await states(await migratedMysqlUrl()), ['database ok', 'clock ok', 'schema ok'])
})

onMariaDb('a wrong password is reported by the code of the server, and never repeated', async (t) => {
  const url = new URL(await emptyMysqlUrl())
  url.username = 'nobody'
  url.password = 'canary-password'
  const [finding] = await checkDatabase(await settingsWith({ MOORAGE_DATABASE_URL: url.href }))
  t.is(finding?.state, 'problem')
  t.regex(finding?.message ?? '', /ER_ACCESS_DENIED/)
  t.notRegex(finding?.message ?? '', /canary/)
})
