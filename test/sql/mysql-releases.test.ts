// process: own - runs test files on servers of its own
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migrateUp } from '../../adapters/sql/engine/migrator.ts'
import {
  backup,
  differences,
  newDeployment,
  newPath,
  passphraseFile,
  rowsOf,
  underLoad,
} from '../backup/drill.fixture.ts'
import { startDatabaseServer, type DatabaseServer } from '../support/components/database-server.ts'
import { needing } from '../support/components/needing.ts'
import { ourMigrations } from '../support/schema.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { adminPassword, startService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What differs most between servers: schema, statements, time limits, locks, races, the start of the service. */
const representative = [
  'test/authz/access-memory.test.ts',
  'test/authz/role-store.test.ts',
  'test/composition/doctor.test.ts',
  'test/composition/first-start.test.ts',
  'test/contracts/contract-store.test.ts',
  'test/identity/accounts/user-search.test.ts',
  'test/identity/stores.test.ts',
  'test/marketplace/stores.test.ts',
  'test/races/accounts.test.ts',
  'test/races/races.test.ts',
  'test/sql/declared-tables.test.ts',
  'test/sql/migration-phases.test.ts',
  'test/sql/migrations.test.ts',
  'test/sql/mysql-crash.test.ts',
  'test/sql/mysql-faults.test.ts',
  'test/sql/mysql-settings.test.ts',
  'test/sql/mysql-tls.test.ts',
  'test/sql/part-migrations.test.ts',
  'test/sql/statements.test.ts',
  'test/sql/tables.test.ts',
  'test/sql/unit-of-work.test.ts',
  'test/sql/updates.test.ts',
  'test/tasks/worker.test.ts',
  'test/usage/events/event-store.test.ts',
  'test/usage/months/month-inputs.test.ts',
]

/** Runs the test runner, and reports on stderr what it reports, so that this run does not look like one that hangs. */
const runTests = (words: readonly string[]): Promise<{ readonly status: number | null; readonly output: string }> =>
  new Promise((resolve, reject) => {
    const environment = { ...process.env }
    // ava would take its process for one of this run.
    for (const name of ['MOORAGE_TEST_MARIADB_URL', 'MOORAGE_TEST_TIMES', 'NODE_ENV', 'AVA_PATH'])
      delete environment[name]
    const child = spawn(process.execPath, ['test/run.ts', ...words], {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        process.stderr.write(text)
      })
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })

const onServer = async (t: ExecutionContext, product: 'mysql-8' | 'mysql-9' | 'mariadb'): Promise<DatabaseServer> => {
  const server = await startDatabaseServer(undefined, { product })
  t.teardown(() => server.stop())
  return server
}

for (const release of ['8', '9'] as const) {
  const product = `mysql-${release}` as const
  const test = needing(product)

  test.serial(`MySQL ${release}: suites of stores, migrations, faults and races pass`, async (t) => {
    t.timeout(3_600_000)
    const { status, output } = await runTests(['--mysql', release, ...representative])
    t.is(status, 0, output.slice(output.indexOf('\nFailures')).slice(0, 20_000))
    t.regex(output, /\n\d+ passed, 0 failed/)
  })

  test.serial(`MySQL ${release}: backups under load go from SQLite to it, to MariaDB, and back`, async (t) => {
    t.timeout(900_000)
    const [server, mariaDb] = await Promise.all([onServer(t, product), onServer(t, 'mariadb')])
    const onSqlite = newDeployment()
    const service = await startPopulatedService({ MOORAGE_DATA_DIR: onSqlite['MOORAGE_DATA_DIR'] ?? '' })
    t.teardown(() => service.stop())
    // The sample of the bus has a seed that no key ring has sealed.
    await service.write('delete from bus_users')
    await service.write('delete from bus_identities')
    const token = service.adminToken
    const onMysql = newDeployment(await server.createDatabase())
    const settings = { ...onSqlite, MOORAGE_DATABASE_URL: service.databaseUrl }
    await underLoad(t, { of: service, settings, token, target: onMysql })

    const onMariaDb = newDeployment(await mariaDb.createDatabase())
    const grown = await startService({ settings: { ...onMysql, MOORAGE_USAGE_REPORTERS: 'anyone' } })
    t.teardown(() => grown.stop())
    const connection = await createConnection(onMysql['MOORAGE_DATABASE_URL'] ?? '')
    await connection.query("delete from teams where name like 'load-%'")
    await connection.end()
    await underLoad(t, { of: grown, settings: onMysql, token, target: onMariaDb })

    // The backup records its time afterwards.
    const before = await rowsOf(onMariaDb['MOORAGE_DATABASE_URL'] ?? '')
    const archive = newPath('.tar')
    const created = await backup(onMariaDb, 'create', archive, '--passphrase-file', passphraseFile)
    t.deepEqual([created.code, created.err], [0, ''])
    const back = newDeployment(await server.createDatabase())
    const restored = await backup(back, 'restore', archive, '--passphrase-file', passphraseFile)
    t.deepEqual([restored.code, restored.err], [0, ''], restored.out)
    t.deepEqual(differences(await rowsOf(back['MOORAGE_DATABASE_URL'] ?? ''), before), [])
  })

  test.serial(`MySQL ${release}: the service is served for an account with a password`, async (t) => {
    t.timeout(300_000)
    const server = await onServer(t, product)
    const url = new URL(await server.createDatabase())
    const name = url.pathname.slice(1)
    const root = await createConnection(server.url(''))
    await root.query("create user owner identified by 'deep water: 7', app identified by 'still water: 8'")
    await root.query(
      `grant create, alter, index, references, drop, select, insert, update, delete on ${name}.* to owner`,
    )
    await root.query(`grant select, insert, update, delete on ${name}.* to app`)
    await root.end()
    const urlOf = (user: string, password: string): string =>
      Object.assign(new URL(url), { username: user, password }).href
    const migrated = await openDatabase(urlOf('owner', 'deep water: 7'))
    await migrateUp(migrated, { migrations: ourMigrations })
    await migrated.close()
    const service = await startServiceProcess({
      settings: { MOORAGE_DATABASE_URL: urlOf('app', 'still water: 8'), MOORAGE_ADMIN_PASSWORD: adminPassword },
    })
    t.teardown(() => service.stop())
    const basic = ['admin', adminPassword] as const
    t.is((await service.send('POST', '/api/v1/orgs', { basic, body: { username: 'harbour' } })).status, 201)
    t.is((await service.send('GET', '/api/v1/orgs/harbour', { basic })).status, 200)
  })
}
