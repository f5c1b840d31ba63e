// process: own - keeps its process busy
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { readArchive } from '../../composition/runtime/cli/backup/archive.ts'
import { schemaFaults } from '../../composition/runtime/cli/backup/verify.ts'
import { ourMigrations } from '../support/schema.ts'
import { emptyMysqlUrl } from '../support/databases.ts'
import { needing } from '../support/components/needing.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { writeSqliteFile } from '../support/sqlite-file.ts'
import type { Settings } from './drill.fixture.ts'
import { backup, differences, newDeployment, newPath, passphraseFile, rowsOf, underLoad } from './drill.fixture.ts'
import { repeats } from '../support/thorough.ts'

const withMariaDb = needing('mariadb')

let service: PopulatedService
let settings: Settings
test.before(async () => {
  const made = newDeployment()
  service = await startPopulatedService({ MOORAGE_DATA_DIR: made['MOORAGE_DATA_DIR'] ?? '' })
  settings = { ...made, MOORAGE_DATABASE_URL: service.databaseUrl }
  // The sample of the bus has a seed that no key ring has sealed.
  await service.write('delete from bus_users')
  await service.write('delete from bus_identities')
})
test.after.always(() => service?.stop())

/** They tell of the process, of the token with which it is asked, or of the moment. */
const ofTheProcess =
  /^\/api\/v1\/(?:accounts\/admin(?:\/config)?$|user\/settings\/(?:security\/twofa\/enroll|tokens)|(?:user|admin)\/audit|licenses\/crl|dbaas\/billing|dashboard\/summary\/running|rating\/preview)/
const ofTheMoment = /"(?:requestId|checkedAt|age|last_login)":"[^"]+"|"LastLoginUnix":\d+|expires=\d+|signature=[\w-]+/g

/** Asks again where a busy cluster did not answer in time: the answer tells of that moment, not of the database. */
const answerOf = async (of: TestService, path: string): Promise<ServiceAnswer> => {
  for (let triesLeft = 5; ; triesLeft -= 1) {
    const answer = await of.send('GET', path, { token: service.adminToken })
    if (triesLeft === 0 || !answer.text.includes('"phase":"NotConnected"')) return answer
  }
}

/** What every route that only reads answers to the site admin. */
const answers = async (of: TestService): Promise<ReadonlyMap<string, string>> => {
  const all = new Map<string, string>()
  const isRead = ({ bound, methods, listener, fullPath }: AssembledRoute): boolean =>
    listener === 'api' &&
    bound.kind === 'json' &&
    methods.includes('GET') &&
    bound.route.makesToken !== true &&
    !ofTheProcess.test(fullPath)
  for (const route of service.running.assembly.routes.filter(isRead)) {
    const path = targetOf(route, service.fixture)
    const answer = await answerOf(of, path)
    all.set(`GET ${path}`, `${answer.status} ${answer.text.replaceAll(of.baseUrl, 'BASE').replaceAll(ofTheMoment, '')}`)
  }
  return all
}

withMariaDb.serial('a SQLite backup is restored into MariaDB and back without loss', async (t) => {
  t.timeout(600_000)
  const before = await rowsOf(service.databaseUrl)
  const archive = newPath('.tar')
  const created = await backup(settings, 'create', archive, '--passphrase-file', passphraseFile)
  t.deepEqual([created.code, created.err], [0, ''])
  const answered = await answers(service)

  const grown = newDeployment(await emptyMysqlUrl())
  const restored = await backup(grown, 'restore', archive, '--passphrase-file', passphraseFile)
  t.deepEqual([restored.code, restored.err, restored.code === 0 ? '' : restored.out], [0, '', ''])
  t.regex(restored.out, /ok +audit log: whole[^]*ok +key ring: opens[^]*ok +sign-in: 1 site admin/)
  t.deepEqual(differences(await rowsOf(grown['MOORAGE_DATABASE_URL'] ?? ''), before), [])

  const other = await startService({ settings: { ...grown, MOORAGE_USAGE_REPORTERS: 'anyone' } })
  t.teardown(() => other.stop())
  t.deepEqual(differences(await answers(other), answered), [])
})

test.serial('a backup of SQLite under load is a moment of it', (t) =>
  underLoad(t, { of: service, settings, token: service.adminToken, target: newDeployment() }),
)

test.serial('verify finds any changed byte, a cut file, another key ring and a newer schema', async (t) => {
  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, '--passphrase-file', passphraseFile)).code, 0)
  const whole = await backup(settings, 'verify', archive)
  t.deepEqual([whole.code, whole.err], [0, ''])
  t.regex(whole.out, /is whole: \d+ rows of \d+ tables, 1 documents/)
  const bytes = readFileSync(archive)
  const copy = newPath('.tar')
  for (let n = 0; n < 60; n += repeats(4, 1)) {
    // The positions of the last ones are in the seal and the end.
    const place = n < 50 ? Math.floor((bytes.length * n) / 50) : bytes.length - 1 - (n - 50) * 200
    const changed = Buffer.from(bytes)
    changed[place] = (changed[place] ?? 0) ^ (1 << (n % 8))
    writeFileSync(copy, changed)
    const { code, err } = await backup(settings, 'verify', copy)
    t.is(code, 1, `byte ${place}`)
    t.regex(err, /cannot be used\. It (?:was changed|is cut)/)
  }
  for (const length of [0, 1000, Math.floor(bytes.length / 2), bytes.length - 1024, bytes.length - 1]) {
    writeFileSync(copy, bytes.subarray(0, length))
    const cut = await backup(settings, 'verify', copy)
    t.is(cut.code, 1)
    t.regex(cut.err, /It is cut, or its backup was not finished/)
  }
  const { manifest } = await readArchive(archive)
  t.deepEqual(schemaFaults(manifest, ourMigrations), [])
  const [last = ''] = ourMigrations.map(({ id }) => id).slice(-1)
  t.regex(schemaFaults(manifest, ourMigrations.slice(0, -1))[0] ?? '', new RegExp(`made by a newer Moorage.*${last}`))
  const ofPart = { ...manifest, migrations: [...manifest.migrations, 'berths/0001-berths'] }
  t.regex(schemaFaults(ofPart, ourMigrations)[0] ?? '', /tables of the part berths, which is not loaded/)
  const foreign = newDeployment()
  t.is(
    (await backup({ ...foreign, MOORAGE_DATABASE_URL: 'sqlite::memory:' }, 'create', newPath(), '--no-key-ring')).code,
    1,
  )
  t.regex((await backup(foreign, 'verify', archive)).err, /is not that of the backup/)
  t.regex((await backup(foreign, 'restore', archive)).err, /is not that of the backup/)
  const wrong = newPath()
  writeFileSync(wrong, 'another passphrase\n')
  t.regex(
    (await backup(newDeployment(), 'restore', archive, '--passphrase-file', wrong)).err,
    /passphrase is not the one/,
  )
  t.regex((await backup(newDeployment(), 'restore', archive)).err, /key ring .* is not there/)
})

test.serial('restore requires an empty database and restarts after an unfinished one', async (t) => {
  const archive = newPath('.tar')
  const key = ['--passphrase-file', passphraseFile]
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  t.regex((await backup(settings, 'create', archive, ...key)).err, /exists\. A backup replaces no file/)
  t.is((await backup(settings, 'create', newPath())).code, 2)
  t.regex(
    (await backup(settings, 'restore', archive)).err,
    /has data already: its table \w+ has rows. Nothing was changed/,
  )
  const target = newDeployment()
  t.is((await backup(target, 'restore', archive, ...key)).code, 0)
  const expected = await rowsOf(target['MOORAGE_DATABASE_URL'] ?? '')
  const path = (target['MOORAGE_DATABASE_URL'] ?? '').slice('sqlite:'.length)
  await writeSqliteFile(path, (file) => {
    file.exec(
      "delete from users; insert into schema_migrations select '9999-restore-not-finished', " +
        `'${createHash('sha256').update('9999-restore-not-finished').digest('hex')}', state, 0, holder, 0, 0 ` +
        'from schema_migrations limit 1',
    )
  })
  const refused = await t.throwsAsync(startService({ settings: target }))
  t.regex(refused?.message ?? '', /A restore into this database has begun and not ended/)
  t.regex((await backup(target, 'create', newPath(), '--no-key-ring')).err, /has begun and not ended/)
  t.is((await backup(target, 'restore', archive)).code, 0)
  t.deepEqual(differences(await rowsOf(target['MOORAGE_DATABASE_URL'] ?? ''), expected), [])
})
