// process: own - ends processes
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { isCurrent, migrateUp, migrationPlan, migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import { aliveWithout, makeSqlFleet, makeSqlInstanceRegister } from '../../adapters/sql/kernel/instance-store.ts'
import { previousSchema } from '../../adapters/sql/kernel/migrations.ts'
import type { OrderedMigration } from '../../adapters/sql/kit/migration.ts'
import { createTable, rowId } from '../../adapters/sql/kit/schema-columns.ts'
import { lockOf } from '../../adapters/sql/kit/statement-locks.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl, migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { migrateToNow, ourMigrations } from '../support/schema.ts'
import { isMariaDb } from './server-version.ts'
import { fillingMigration } from './slow-migration.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-phases-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const sqliteUrl = async () => `sqlite:${join(folder, `${files++}.sqlite`)}`

const onEach = (
  title: string,
  mysqlUrl: () => Promise<string>,
  body: (t: ExecutionContext, database: SqlDatabase, url: string) => Promise<void>,
): void => {
  const urls = { sqlite: sqliteUrl, ...(isSwitchedOff('mariadb') ? {} : { mysql: mysqlUrl }) }
  for (const [name, urlOf] of Object.entries(urls)) {
    test(`${name}: ${title}`, async (t) => {
      const url = await urlOf()
      const database = await openPatiently(url)
      t.teardown(() => database.close())
      await body(t, database, url)
    })
  }
}

const step = (id: string, phase: OrderedMigration['phase'], ...sql: readonly string[]): OrderedMigration => ({
  part: 'test',
  id,
  summary: 'a step',
  ...(phase === undefined ? {} : { phase }),
  up: async (knex) => {
    for (const statement of sql) await knex.raw(statement)
  },
})

const expand = step('9001-test-expand', 'expand', 'alter table leases add column extra varchar(9) null')
const contract = step('9002-test-contract', 'contract', 'alter table leases drop column extra')
const later = step('9003-test-later', 'expand', 'create table later_rows (id integer)')

/** How many migrations v2026.11.25 has. */
const released = 43

test("each later migration declares its phase and follows that release's", (t) => {
  const since = ourMigrations.filter(({ id }) => id > previousSchema)
  t.true(since.length > 0)
  t.is(ourMigrations.length - since.length, released, 'a new migration has a number above those of the release')
  for (const { id, phase } of since)
    t.truthy(phase, `the migration ${id} must declare phase: 'expand' or 'contract' (docs/upgrades.md)`)
})

onEach(
  'a step that contracts waits for instances that do not know it, and no other step does',
  migratedMysqlUrl,
  async (t, database) => {
    await migrateToNow(database)
    const level = (knownSchema: string) => ({ version: 'v2026.12.1', knownSchema })
    const older = makeSqlInstanceRegister(database, 'older', level('9001-test-expand'))
    const untold = makeSqlInstanceRegister(database, 'untold')
    const knowing = makeSqlInstanceRegister(database, 'knowing', level('9003-test-later'))
    const migrations = [...ourMigrations, expand, contract, later]
    const postponed: (readonly [string, readonly string[]])[] = []
    const up = () =>
      migrateUp(database, {
        migrations,
        aliveWithout: (session, id) => aliveWithout(session, database.dialect, id),
        onPostponed: ({ id }, instances) => void postponed.push([id, instances]),
      })
    for (const instance of [older, untold, knowing]) await instance.beat()
    t.deepEqual(await up(), [expand.id, later.id])
    t.deepEqual(postponed.splice(0), [[contract.id, ['older (v2026.12.1)', 'untold (v2026.11.25 or older)']]])
    const status = await migrationStatus(database, migrations)
    t.like(
      status.find(({ id }) => id === contract.id),
      { state: 'pending', phase: 'contract' },
    )
    t.true(isCurrent(status), 'the version works while the step waits')

    await untold.leave()
    t.deepEqual(await up(), [])
    t.deepEqual(postponed.splice(0), [[contract.id, ['older (v2026.12.1)']]])
    await older.leave()
    t.deepEqual(await up(), [contract.id])
    t.deepEqual(postponed, [])
    t.deepEqual(await up(), [])
  },
)

onEach('an instance that is alive does not hold up a step that is forced', migratedMysqlUrl, async (t, database) => {
  await migrateToNow(database)
  await makeSqlInstanceRegister(database, 'untold').beat()
  t.deepEqual(await migrateUp(database, { migrations: [...ourMigrations, expand, contract] }), [expand.id, contract.id])
})

onEach(
  'a release runs on the schema of the next one until that contracts, and on no later one',
  migratedMysqlUrl,
  async (t, database) => {
    await migrateToNow(database)
    const newest = ourMigrations.at(-1)!.id
    await migrateUp(database, { migrations: [...ourMigrations, expand], beside: newest })
    t.deepEqual(await migrateToNow(database), [])
    t.deepEqual(await migrationPlan(database, ourMigrations), [])
    const status = await migrationStatus(database, ourMigrations)
    t.like(status.at(-1), { id: expand.id, state: 'newer', phase: 'expand' })
    t.true(isCurrent(status))

    const refused = (id: string) => ({ instanceOf: MigrationRefused, message: new RegExp(`newer Moorage.*${id}`) })
    const afterNext = [...ourMigrations, expand, later]
    await migrateUp(database, { migrations: afterNext, beside: expand.id })
    await t.throwsAsync(migrateToNow(database), refused(later.id))
    t.deepEqual(await migrateUp(database, { migrations: [...ourMigrations, expand] }), [])
    await migrateUp(database, { migrations: [...afterNext, contract], beside: expand.id })
    await t.throwsAsync(migrateUp(database, { migrations: [...ourMigrations, expand] }), refused(contract.id))
  },
)

onEach('the lowest of the instances that are alive decides what all know', migratedMysqlUrl, async (t, database) => {
  await migrateToNow(database)
  const register = (id: string, knownSchema?: string) =>
    makeSqlInstanceRegister(database, id, ...(knownSchema === undefined ? [] : [{ version: `v${id}`, knownSchema }]))
  const [one, two, untold] = [register('1', '0100-a'), register('2', '0101-b'), register('untold')]
  const fleet = makeSqlFleet(one)
  for (const instance of [two, one]) await instance.beat()
  t.deepEqual(await fleet.lowest(), { version: 'v1', knownSchema: '0100-a' })
  t.true(await fleet.knows('0100-a'))
  t.false(await fleet.knows('0101-b'))
  await untold.beat()
  t.is(await fleet.lowest(), undefined)
  t.false(await fleet.knows('0001-x'))
  for (const instance of [untold, one]) await instance.leave()
  t.true(await fleet.knows('0101-b'))
})

const makeFirst: OrderedMigration = {
  part: 'test',
  id: '0001-test-first',
  summary: 'a table with rows',
  up: async (knex, dialect) => {
    await createTable(knex, dialect, 'first', (table) => rowId(table, dialect))
    // Numbers with gaps.
    for (const id of [1, 2, 3, 500, 501, 90_000, 90_001, 90_002, 90_003, 90_004]) await knex('first').insert({ id })
  },
}

onEach(
  'rows are set a few at a time, and a run that was killed continues with those that remain',
  emptyMysqlUrl,
  async (t, database, url) => {
    await migrateUp(database, { migrations: [makeFirst] })
    const child = spawn(process.execPath, [fileURLToPath(new URL('slow-migration.ts', import.meta.url)), url, 'fill'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')
    const migrations = [makeFirst, fillingMigration(0)]
    t.like((await migrationStatus(database, migrations))[1], { state: 'filling' })
    const set = await database.query<{ readonly id: number }>((k) => k('first').whereNotNull('doubled').select('id'))
    t.true(set.length >= 6 && set.length < 10)

    const said: string[] = []
    const options = { migrations, staleMilliseconds: 0, say: (line: string) => void said.push(line) }
    t.deepEqual(await migrateUp(database, options), ['0003-test-fill'], 'no person is needed')
    t.regex(said.at(-1) ?? '', /0003-test-fill, 100 % of 4 rows of first/)
    const rows = await database.query<{ readonly id: number; readonly doubled: number }>((k) =>
      k('first').orderBy('id').select('id', 'doubled'),
    )
    t.is(rows.length, 10)
    for (const { id, doubled } of rows) t.is(Number(doubled), Number(id) * 2)
    t.true(isCurrent(await migrationStatus(database, migrations)))
    t.deepEqual(await migrateUp(database, { migrations }), [])
  },
)

onEach(
  'the plan says what each statement touches, how many rows there are, and what waits',
  emptyMysqlUrl,
  async (t, database) => {
    await migrateUp(database, { migrations: [makeFirst] })
    const wide = step('0004-test-wide', 'contract', 'create table other (id integer)', 'drop table other')
    const plan = await migrationPlan(database, [makeFirst, fillingMigration(0), wide])
    t.deepEqual(
      plan.map(({ id, phase, fills }) => [id, phase, fills?.rowsAtATime]),
      [
        ['0003-test-fill', 'expand', 3],
        ['0004-test-wide', 'contract', undefined],
      ],
    )
    const isMysql = database.dialect === 'mysql'
    t.deepEqual(
      plan[0]?.effects.map(({ lock, table }) => [lock, table]),
      [
        ['brief', 'first'],
        [isMysql ? 'rows' : 'writes', 'first'],
      ],
    )
    if (!isMysql) t.is(plan[0]?.effects[0]?.rows, 10)
    t.deepEqual(
      plan[1]?.effects.map(({ table }) => table),
      [undefined, undefined],
    )
  },
)

/** Texts are made longer, for which MariaDB copies nothing; MySQL does for some. The plan says the worse. */
const cautious = ['0013-organizations-security accounts', '0017-audit-retention audit_events']

needing('mariadb')(
  'mysql: the server agrees with the plan of every migration on which change of a table blocks changes of its rows',
  async (t) => {
    const database = await openPatiently(await emptyMysqlUrl())
    t.teardown(() => database.close())
    if (!(await isMariaDb(database))) return t.pass('MySQL does not tell apart what is rebuilt in place')
    const session = await database.openSchemaSession()
    t.teardown(() => session.close())
    // Rows that a statement reads, and does not change, are not locked at this level.
    t.deepEqual(await session.execute('select @@tx_isolation as level', []), [{ level: 'READ-COMMITTED' }])
    const clauses = { brief: 'algorithm = instant', online: 'algorithm = nocopy, lock = none' }
    const counts = { none: 0, brief: 0, online: 0, rows: 0, writes: 0 }
    const copiesNothing: string[] = []
    for (const { id, statements } of await migrationPlan(database, ourMigrations)) {
      for (const statement of statements) {
        const lock = lockOf(statement, 'mysql')
        const [, table] = /^alter table `?(\w+)`? (?!partition)/i.exec(statement) ?? []
        counts[lock] += 1
        if (table === undefined) {
          const kinds = {
            none: /^(create table|select)\b/i,
            rows: /^(insert|update|delete)\b/i,
            brief: /^drop table\b/i,
            writes: /^alter table \w+ partition\b/i,
          }
          const isSaid = Object.entries(kinds).some(([kind, form]) => kind === lock && form.test(statement.trim()))
          t.true(isSaid, `${id}: ${lock} ${statement}`)
          if (lock !== 'rows') await session.execute(statement, [])
          continue
        }
        const change = statement.replace(/;$/, '')
        if (lock === 'brief' || lock === 'online') {
          await t.notThrowsAsync(session.execute(`${change}, ${clauses[lock]}`, []), `${id}: ${lock} ${change}`)
          continue
        }
        t.is(lock, 'writes', change)
        const refusal = await session.execute(`${change}, lock = none`, []).then(
          () => undefined,
          (error: unknown) => String((error as Error).message),
        )
        if (refusal === undefined) copiesNothing.push(`${id} ${table}`)
        else {
          t.regex(refusal, /LOCK=NONE is not supported/)
          await session.execute(change, [])
        }
      }
    }
    t.deepEqual(copiesNothing, cautious)
    t.true(counts.brief > 10 && counts.online > 10 && counts.writes > 5 && counts.rows > 10, JSON.stringify(counts))
  },
)

onEach(
  'the plan of the upgrade of a database of the last release has each statement that then runs',
  emptyMysqlUrl,
  async (t, database) => {
    const before = ourMigrations.filter(({ id }) => id <= previousSchema)
    await migrateUp(database, { migrations: before })
    const planned = (await migrationPlan(database, ourMigrations)).map(
      ({ id, statements }) => [id, statements] as const,
    )
    t.deepEqual(
      planned.map(([id]) => id),
      ourMigrations.filter(({ id }) => id > previousSchema).map(({ id }) => id),
    )
    const ran = new Map<string, string[]>()
    const recorded = ourMigrations.map((migration): OrderedMigration => {
      const statements: string[] = []
      ran.set(migration.id, statements)
      return {
        ...migration,
        up: async (knex, dialect) => {
          knex.on('query', ({ sql }: { readonly sql: string }) => void statements.push(sql))
          await migration.up(knex, dialect)
        },
      }
    })
    await migrateUp(database, { migrations: recorded })
    for (const [id, statements] of planned) {
      const said = ran.get(id) ?? []
      t.true(said.length > 0, id)
      t.deepEqual(
        statements.filter((statement) => !said.includes(statement)),
        [],
        id,
      )
      t.is(said.length, statements.length, id)
    }
  },
)
