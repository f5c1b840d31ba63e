// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import fc from 'fast-check'
import { changeKeyringFile, openOrMakeKeyringFile, readKeyringContent } from '../../adapters/security/keyring-file.ts'
import { followKeyringFile } from '../../adapters/security/keyring-in-use.ts'
import {
  makeSecretBox,
  newKeyring,
  openKeyring,
  waitingKeyOf,
  withAddedKey,
  withCurrentKey,
} from '../../adapters/security/keyring.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import type { SealedValues } from '../../adapters/sql/kernel/sealed-values.ts'
import { makeSqlSealedValues } from '../../adapters/sql/kernel/sealed-values.ts'
import type { Column, Columns, Table } from '../../adapters/sql/kit/columns.ts'
import { columnsOf, tableName } from '../../adapters/sql/kit/columns.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { SealedColumn } from '../../adapters/sql/kit/declared-tables.ts'
import { allTables, sealedColumns } from '../support/all-tables.ts'
import type { RuntimeContext } from '../../composition/runtime/cli/runtime-context.ts'
import { ownParts } from '../../composition/moorage.ts'
import type { KeyRingStore } from '../../composition/runtime/cli/keys/keys.ts'
import { sealAgain } from '../../composition/runtime/cli/keys/seal-again.ts'
import { rotateOn } from '../../composition/runtime/cli/keys/rotate.ts'
import type { SecretBox, SealedPlace } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { anyRow } from '../support/any-row.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { borrowMysqlDatabase, migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { cleanEnvironment, mainFile } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { run } from '../composition/command-fixture.ts'

interface Fixture {
  readonly db: SqlDatabase
  readonly path: string
  readonly environment: Record<string, string>
  /** Seals with the key ring of the file. */
  readonly box: SecretBox
  current(): string
}

const makeFixture = async (t: ExecutionContext, dialect: 'sqlite' | 'mysql'): Promise<Fixture> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-keys-'))
  const borrowed = dialect === 'mysql' ? await borrowMysqlDatabase() : undefined
  const url = borrowed?.url ?? `sqlite:${await migratedSqlitePath()}`
  const db = await openPatiently(url)
  t.teardown(async () => {
    await db.close()
    await borrowed?.giveBack()
    rmSync(folder, { recursive: true, force: true })
  })
  const path = join(folder, 'keyring.json')
  return {
    db,
    path,
    environment: { MOORAGE_DATA_DIR: folder, MOORAGE_DATABASE_URL: url, MOORAGE_TLS: 'false' },
    box: makeSecretBox(followKeyringFile(path, openOrMakeKeyringFile(path)).wrapper),
    current: () => readKeyringContent(path)?.currentKeyId ?? '',
  }
}

const placeOf = ({ table, column }: SealedColumn, rowRef: string | number): SealedPlace => ({
  table,
  column,
  tenantId: 7,
  rowRef: String(rowRef),
})

const tableOf = ({ table }: SealedColumn): Table => allTables.find((each) => tableName(each) === table)!

/** Adds a row of random values with this sealed value, without foreign keys. */
const addRow = async (db: SqlDatabase, sealedColumn: SealedColumn, key: number, value: Uint8Array): Promise<void> => {
  const columns = columnsOf(tableOf(sealedColumn) as Table<Columns>) as Record<string, Column>
  const [row] = fc.sample(anyRow(columns as Columns), 1)
  const fields = Object.entries(columns)
  const given = new Map<string, unknown>([
    [sealedColumn.key, key],
    [sealedColumn.column, value],
  ])
  const binds = fields.map(([field, column]) => column.encode(given.get(column.name) ?? row?.[field]))
  const session = await db.openSchemaSession()
  try {
    await session.execute(db.dialect === 'mysql' ? 'set foreign_key_checks = 0' : 'pragma foreign_keys = off', [])
    const names = fields.map(([, { name }]) => (db.dialect === 'mysql' ? `\`${name}\`` : `"${name}"`))
    await session.execute(
      `insert into ${sealedColumn.table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
      binds,
    )
  } finally {
    await session.close()
  }
}

const read = async (db: SqlDatabase, { table, column, key }: SealedColumn, row: number): Promise<Uint8Array> => {
  const [found] = await db.query<{ value: Uint8Array }>((k) => k(table).where(key, row).select(`${column} as value`))
  return found!.value
}

const mail: SealedColumn = { table: 'mail_outbox', column: 'sealed', key: 'id' }

/** Adds mail that is sealed, of the rows 1 to `count`. */
const addMail = async ({ db, box }: Fixture, count: number): Promise<void> => {
  for (let id = 1; id <= count; id += 1) {
    const sealed = await box.seal(secret(`text ${id}`), placeOf(mail, id))
    await db.query((k) =>
      k('mail_outbox').insert({ id, ref: randomUUID(), sealed: sealed as never, not_before: 0, created_at: 0 }),
    )
  }
}

const dialects = ['sqlite', ...(isSwitchedOff('mariadb') ? [] : ['mysql' as const])] as const

for (const dialect of dialects) {
  test(`${dialect}: every sealed column is resealed, and the old key can retire`, async (t) => {
    const fixture = await makeFixture(t, dialect)
    const { db, box, environment, path } = fixture
    const old = fixture.current()
    for (const column of sealedColumns)
      await addRow(db, column, 5, await box.seal(secret(`the value of ${column.table}`), placeOf(column, 5)))
    const lost = makeSecretBox(openKeyring(newKeyring()).wrapper)
    await db.query((k) =>
      k('mail_outbox').insert({ id: 6, ref: randomUUID(), not_before: 0, created_at: 0, sealed: '' }),
    )
    const closed = await lost.seal(secret('closed'), placeOf(mail, 6))
    await db.query((k) =>
      k('mail_outbox')
        .where('id', 6)
        .update({ sealed: closed as never }),
    )

    const rotated = await run(['keys', 'rotate', '--json'], environment)
    t.is(rotated.code, 1, rotated.err)
    const told = JSON.parse(rotated.out)
    t.is(told.key, fixture.current())
    t.not(told.key, old)
    t.deepEqual(
      told.columns.toSorted((a: { column: string }, b: { column: string }) => (a.column < b.column ? -1 : 1)),
      sealedColumns
        .map(({ table, column }) => ({ column: `${table}.${column}`, count: 1 }))
        .sort((a, b) => (a.column < b.column ? -1 : 1)),
    )
    t.like(told.unopened, { length: 1, 0: { column: 'mail_outbox.sealed', row: 6 } })
    t.regex(told.unopened[0].reason, new RegExp(lost.keyIdOf(closed)))
    t.deepEqual(Buffer.from(await read(db, mail, 6)), Buffer.from(closed), 'it stays as it was')
    for (const column of sealedColumns) {
      const value = await read(db, column, 5)
      t.is(box.keyIdOf(value), told.key, column.table)
      t.is((await box.open(value, placeOf(column, 5))).reveal(), `the value of ${column.table}`)
      await t.throwsAsync(box.open(value, placeOf(column, 6)), undefined, 'it is bound to its row')
    }

    const status = await run(['keys', 'status'], environment)
    t.is(status.code, 1)
    t.regex(status.err, new RegExp(`The key ${lost.keyIdOf(closed)} seals 1 values, and the key ring does not hold it`))
    t.regex(status.out, new RegExp(`${told.key} .* current +${sealedColumns.length} values`))
    t.regex(status.out, new RegExp(`${old} .* old +0 values`))
    await db.query((k) => k('mail_outbox').where('id', 6).delete())
    t.is((await run(['keys', 'status'], environment)).code, 0)

    const retire = (...words: readonly string[]) => run(['keys', 'retire', ...words], environment)
    t.regex((await retire(told.key, '--forget-backups')).err, /is the current one/)
    t.regex((await retire('kek-none', '--forget-backups')).err, /does not hold the key kek-none/)
    t.regex((await retire(old, '--forget-backups')).err, /may still store a value/)
    changeKeyringFile(path, (content) => ({ ...content, currentSince: '2020-01-01T00:00:00.000Z' }))
    t.regex((await retire(old)).err, /Backups of the database from before .* need the key/)
    t.is(readKeyringContent(path)?.keys.length, 2, 'nothing was removed')
    t.is((await retire(old, '--forget-backups')).code, 0)
    t.deepEqual(
      readKeyringContent(path)?.keys.map(({ id }) => id),
      [told.key],
    )
    for (const column of sealedColumns)
      t.is((await box.open(await read(db, column, 5), placeOf(column, 5))).reveal(), `the value of ${column.table}`)
  })

  test(`${dialect}: values that are changed at the same time are not overwritten`, async (t) => {
    const fixture = await makeFixture(t, dialect)
    const { db, box, environment } = fixture
    const rows = 25
    await addMail(fixture, rows)
    const latest = new Map(Array.from({ length: rows }, (_, at) => [at + 1, `text ${at + 1}`]))
    let isOver = false
    const write = async (offset: number): Promise<void> => {
      for (let count = 0; !isOver; count += 1) {
        const id = 1 + ((offset + 2 * count) % rows)
        // Each row has one writer, so that the last text is known.
        if (id % 2 !== offset) continue
        const text = `changed ${offset} ${count}`
        const sealed = await box.seal(secret(text), placeOf(mail, id))
        await db.query((k) =>
          k('mail_outbox')
            .where({ id })
            .update({ sealed: sealed as never }),
        )
        latest.set(id, text)
        const opened = await box.open(await read(db, mail, id), placeOf(mail, id))
        t.is(opened.reveal(), text)
      }
    }
    const writers = [write(0), write(1)]
    const rotated = await run(['keys', 'rotate'], environment)
    const again = await run(['keys', 'rotate'], environment)
    isOver = true
    await Promise.all(writers)
    t.is(rotated.code, 0, rotated.err)
    t.is(again.code, 0, again.err)
    for (const [id, text] of latest) {
      const value = await read(db, mail, id)
      t.is((await box.open(value, placeOf(mail, id))).reveal(), text)
      t.is(box.keyIdOf(value), fixture.current())
    }
  })

  test(`${dialect}: an instance without the key blocks its use and is named`, async (t) => {
    const fixture = await makeFixture(t, dialect)
    const { db, box, path, environment } = fixture
    const old = fixture.current()
    await addMail(fixture, 2)
    const register = makeSqlInstanceRegister(db, randomUUID())
    await register.beat({ sealingKey: old, newestKey: old })
    // It lives longer than the test.
    await db.query((k) => k('instances').update({ beat_at: Date.now() + 3_600_000 }))
    const added = await run(['keys', 'add', '--json'], environment)
    const { key } = JSON.parse(added.out)
    t.is(JSON.parse((await run(['keys', 'add', '--json'], environment)).out).key, key, 'a key that waits is enough')
    const lines: string[] = []
    const store: KeyRingStore = {
      path,
      values: makeSqlSealedValues(db),
      columns: sealedColumns,
      secretBox: box,
      leases: makeSqlLeaseStore(db),
      alive: () => register.alive(),
      now: () => new Date(),
      patienceMs: 0,
      content: () => readKeyringContent(path)!,
    }
    const context: RuntimeContext = {
      environment: {},
      ownParts,
      print: (line) => void lines.push(line),
      say: (line) => void lines.push(line),
    }
    await t.throwsAsync(rotateOn(context, {}, store), { message: /is in .*, but not in the key ring of the instance/ })
    t.is(fixture.current(), old)
    t.is(box.keyIdOf(await read(db, mail, 1)), old)
    // It has a copy of the file now, in which the old key is still the current one.
    await db.query((k) => k('instances').update({ newest_key: key }))
    t.is(await rotateOn(context, {}, store), 1)
    t.regex(lines.join('\n'), /the instance \S+ still seals new values with another key/)
    t.is(box.keyIdOf(await read(db, mail, 2)), key)
    await db.query((k) => k('instances').update({ sealing_key: key }))
    await t.throwsAsync(rotateOn(context, {}, store), { message: /is in .*, but not in the key ring/ }, 'the next key')
    t.is(fixture.current(), key)
  })
}

for (const dialect of dialects) {
  test(`${dialect}: a value that is changed between reading and writing keeps the change`, async (t) => {
    const fixture = await makeFixture(t, dialect)
    const { db, box, path } = fixture
    await addMail(fixture, 3)
    const before = changeKeyringFile(path, withAddedKey)
    changeKeyringFile(path, (content) => withCurrentKey(content, waitingKeyOf(before) ?? '', new Date()))
    const old = makeSecretBox(openKeyring(before).wrapper)
    const values = makeSqlSealedValues(db)
    const changed = new Set<unknown>()
    const racing: SealedValues = {
      ...values,
      find: async (column, row) => {
        const found = await values.find(column, row)
        if (changed.has(row)) return found
        changed.add(row)
        // Another process changes it here, one that has not seen the new key; row 3 goes.
        const sealed = await old.seal(secret(`changed ${row}`), placeOf(mail, row))
        if (row === 3) await db.query((k) => k('mail_outbox').where('id', row).delete())
        else
          await db.query((k) =>
            k('mail_outbox')
              .where('id', row)
              .update({ sealed: sealed as never }),
          )
        return found
      },
    }
    const result = await sealAgain({ values: racing, secretBox: box }, [mail], fixture.current())
    t.deepEqual(result, { columns: [{ column: 'mail_outbox.sealed', count: 2 }], unopened: [] })
    for (const id of [1, 2]) {
      const value = await read(db, mail, id)
      t.is(box.keyIdOf(value), fixture.current())
      t.is((await box.open(value, placeOf(mail, id))).reveal(), `changed ${id}`)
    }
  })
}

test('values in a table of a part of a deployer are sealed again', async (t) => {
  const fixture = await makeFixture(t, 'sqlite')
  const { db, box } = fixture
  const place = { table: 'tide_secrets', column: 'sealed', tenantId: 1, rowRef: 'ebb' }
  await db.query((k) => k.raw('create table tide_secrets (name varchar(20) primary key, sealed blob null)'))
  for (const name of ['ebb', 'flow'])
    await db.query((k) => k.raw('insert into tide_secrets values (?, ?)', [name, null]))
  const sealed = await box.seal(secret('low'), place)
  await db.query((k) =>
    k('tide_secrets')
      .where('name', 'ebb')
      .update({ sealed: sealed as never }),
  )
  const environment = {
    ...fixture.environment,
    MOORAGE_PLUGINS: fileURLToPath(new URL('../composition/fixtures/sealing-part.ts', import.meta.url)),
  }
  const rotated = await run(['keys', 'rotate', '--json'], environment)
  t.is(rotated.code, 0, rotated.err)
  t.deepEqual(JSON.parse(rotated.out).columns, [{ column: 'tide_secrets.sealed', count: 1 }])
  const [row] = await db.query<{ sealed: Uint8Array }>((k) => k('tide_secrets').where('name', 'ebb').select('sealed'))
  t.is(box.keyIdOf(row!.sealed), fixture.current())
  t.is((await box.open(row!.sealed, place)).reveal(), 'low')
})

test('an old copy of the key ring is refused', async (t) => {
  const fixture = await makeFixture(t, 'sqlite')
  await makeSqlInstanceRegister(fixture.db, randomUUID()).beat({ sealingKey: 'kek-newer', newestKey: 'kek-newer' })
  await fixture.db.query((k) => k('instances').update({ beat_at: Date.now() + 3_600_000 }))
  const { code, err } = await run(['keys', 'status'], fixture.environment)
  t.is(code, 1)
  t.regex(err, /does not hold the key kek-newer, with which another instance seals: it is an old copy/)
})

test('a rotation that is killed in the middle is continued by the next one', async (t) => {
  const fixture = await makeFixture(t, 'sqlite')
  const { db, box, environment } = fixture
  const old = fixture.current()
  const [count, stuckAt] = [60, 31]
  await addMail(fixture, count)
  // The statement for one row takes minutes, so the process is killed in it.
  await db.query((k) =>
    k.raw(
      `create trigger stuck before update on mail_outbox when old.id = ${stuckAt} begin ` +
        'select count(*) from (with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000000000) ' +
        'select i from n); end',
    ),
  )
  const child = spawn(process.execPath, [mainFile, 'keys', 'rotate'], {
    env: cleanEnvironment(environment),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = new Promise<unknown>((resolve) => child.once('exit', (_, signal) => resolve(signal)))
  await until('half of the values', async () =>
    box.keyIdOf(await read(db, mail, stuckAt - 1)) === old ? undefined : true,
  )
  child.kill('SIGKILL')
  t.is(await exited, 'SIGKILL')
  await db.query((k) => k.raw('drop trigger stuck'))
  const key = fixture.current()
  t.not(key, old)
  t.is(box.keyIdOf(await read(db, mail, count)), old)
  t.regex((await run(['doctor'], environment)).out, /warning +sealed .*old key \S+ still seals 30 values.*keys rotate/)
  const again = await run(['keys', 'rotate'], environment)
  t.is(again.code, 0, again.err)
  t.regex(again.err, new RegExp(`Continues with the key ${key}`))
  t.regex(again.out, /^Sealed 30 values again/)
  t.is(fixture.current(), key)
  for (let id = 1; id <= count; id += 1)
    t.is((await box.open(await read(db, mail, id), placeOf(mail, id))).reveal(), `text ${id}`)
  t.notRegex((await run(['doctor'], environment)).out, /old key/)
})

test('a progress line is written at a terminal and removed at the end', async (t) => {
  const fixture = await makeFixture(t, 'sqlite')
  await addMail(fixture, 3)
  const written: string[] = []
  const store: KeyRingStore = {
    path: fixture.path,
    values: makeSqlSealedValues(fixture.db),
    columns: sealedColumns,
    secretBox: fixture.box,
    leases: makeSqlLeaseStore(fixture.db),
    alive: async () => [],
    now: () => new Date(),
    patienceMs: 0,
    content: () => readKeyringContent(fixture.path)!,
  }
  const terminal = { write: (text: string) => void written.push(text), columns: () => 40, rows: () => 20 }
  const context: RuntimeContext = { environment: {}, ownParts, print: () => undefined, say: () => undefined, terminal }
  t.is(await rotateOn(context, {}, store), 0)
  t.deepEqual(
    written.slice(0, 3).map((text) => text.trim()),
    [1, 2, 3].map((count) => `mail_outbox.sealed: ${count}`),
  )
  t.regex(written.at(-1) ?? '', /^\r +\r$/)
})
