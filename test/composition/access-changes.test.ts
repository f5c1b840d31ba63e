import test from 'ava'
import * as fc from 'fast-check'
import type { Knex } from 'knex'
import { accessChangeOf, raisedShards } from '../../adapters/sql/authz/access-changes.ts'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { composeNow, makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { id, int } from '../../adapters/sql/kit/columns.ts'
import type { Prepare, SqlDatabase, StatementText } from '../../adapters/sql/kit/statement.ts'
import { accessTables, everyoneShard, followersShard, shardOf } from '../../adapters/sql/tables/access.ts'
import { catalogue } from '../authz/catalogue.ts'
import { eachDatabase } from '../support/databases.ts'
import { objectRows } from '../support/object-rows.ts'
import { preparedStatements } from './prepared.ts'

const dialects = ['sqlite', 'mysql'] as const

/** The columns that an update sets, by their text alone. */
const setColumns = (sql: string): readonly string[] =>
  [...(/ set (.*?)(?: where |$)/s.exec(sql)?.[1] ?? '').matchAll(/[`"](\w+)[`"] = /g)].map(([, name]) => name ?? '')

/** The statement with the names of its binds in place of the marks. */
const named = ({ sql, order }: StatementText): string => {
  let at = 0
  return sql.replaceAll('?', () => {
    const slot = order[at++]
    return slot !== undefined && 'name' in slot ? `<${slot.name}>` : '<constant>'
  })
}

/** Returns what is wrong with the change that a statement is taken for. */
const faultOf = (statement: StatementText): string | undefined => {
  const { sql } = statement
  if (/^\s*select\b/.test(sql)) return accessChangeOf(statement) === 'nothing' ? undefined : `a read: ${sql}`
  const found = /^(insert(?: ignore)? into|delete from|update) [`"](\w+)[`"]/.exec(sql)
  const change = accessChangeOf(statement)
  if (found === null) return undefined
  const [, verb = '', tableName = ''] = found
  const table = accessTables[tableName]
  if (table === undefined) return change === 'nothing' ? undefined : `a table that decides nothing: ${sql}`
  const mayBeNothing =
    verb === 'update'
      ? setColumns(sql).every((column) =>
          table.decides === undefined ? table.ignored?.includes(column) : !table.decides.includes(column),
        )
      : verb !== 'delete from' && table.isFoundByKey === true
  if (mayBeNothing !== (change === 'nothing')) return `${String(change === 'nothing')}: ${sql}`
  if (typeof change === 'string') return undefined
  const text = named(statement)
  const isOfAccount = change.accounts.every(
    (slot) =>
      'name' in slot &&
      (verb.startsWith('insert')
        ? true
        : table.accounts.flat().some((column) => text.replaceAll(/[`"]/g, '').includes(`${column} = <${slot.name}>`))),
  )
  return isOfAccount && change.accounts.length > 0 ? undefined : `another bind than that of an account: ${text}`
}

for (const dialect of dialects) {
  test(`${dialect}: each statement that changes access raises a revision`, async (t) => {
    const statements = await preparedStatements(dialect)
    t.deepEqual([...new Set(statements.flatMap((statement) => faultOf(statement) ?? []))], [])
    // Of other forms than the check above reads. Each is looked at by a person.
    const others = statements.filter(
      ({ sql }) => !/^\s*(select\b|(insert(?: ignore)? into|delete from|update) [`"])/.test(sql),
    )
    const raising = others.filter((statement) => accessChangeOf(statement) !== 'nothing')
    t.deepEqual(
      raising.map(({ sql }) => sql),
      [],
    )
  })

  test(`${dialect}: access look-ups read only tables that raise revisions`, (t) => {
    const prepared: StatementText[] = []
    const prepareOf = makePrepare(makeComposer(dialect))
    const prepare = ((...statement: Parameters<Prepare>) => {
      const made = prepareOf(...statement)
      prepared.push(made)
      return made
    }) as Prepare
    const database = { dialect, prepare } as SqlDatabase
    makeSqlCredentialStore(database, () => false)
    makeSqlAuthorizationFacts(database, catalogue.objectTypes, objectRows)
    // What a password is compared with is read each time.
    const remembered = prepared.filter(({ sql }) => !sql.includes('password_hash'))
    const read = remembered.flatMap(({ sql }) =>
      /^\s*select\b/.test(sql) ? [...sql.matchAll(/(?:from|join) [`"]?(\w+)/g)].map(([, table]) => table ?? '') : [],
    )
    t.true(read.length > 50)
    t.deepEqual([...new Set(read)].filter((table) => accessTables[table] === undefined).sort(), [])
    for (const { table, owner, nameColumn = 'name', version } of objectRows) {
      const { decides, ignored } = accessTables[table] ?? {}
      for (const column of ['id', owner, nameColumn, ...(version === undefined ? [] : [version])])
        t.true(decides?.includes(column) ?? ignored?.includes(column) !== true, `${table}.${column}`)
    }
  })
}

/** Foreign keys whose rows have the same account as the row that they refer to. */
const ofSameAccount = new Set([
  'access_tokens.session_id',
  'sessions.remembered_id',
  'team_members.team_id',
  'team_roles.team_id',
  'team_roles.role_id',
  'role_permissions.role_id',
])

test('the deletion of a row raises revisions for the rows that go with it', async (t) => {
  const database = await (eachDatabase()[0] ?? t.fail()).open()
  try {
    const tables = await database.query<{ name: string }>((k) => k('sqlite_master').where('type', 'table'))
    const faults: string[] = []
    for (const { name } of tables) {
      if (accessTables[name] === undefined) continue
      const keys = await database.query<{ table: string; from: string; on_delete: string }>((k) =>
        k.raw(`select "table", "from", on_delete from pragma_foreign_key_list('${name}')`),
      )
      for (const { table, from, on_delete: onDelete } of keys) {
        if (!['CASCADE', 'SET NULL'].includes(onDelete)) continue
        const parent = accessTables[table]
        const isRaised =
          parent?.deletesOfOthers === true || (parent !== undefined && ofSameAccount.has(`${name}.${from}`))
        if (!isRaised) faults.push(`${name}.${from} refers to ${table}`)
      }
    }
    t.deepEqual(faults, [])
  } finally {
    await database.close()
  }
})

const accountId = fc.integer({ min: 1, max: 2 ** 40 })
const prepares = Object.fromEntries(dialects.map((dialect) => [dialect, makePrepare(makeComposer(dialect))]))

test('an insert raises the shard of each row, whatever the order of its columns', (t) => {
  const row = fc.record({ userId: accountId, targetId: accountId })
  fc.assert(
    fc.property(fc.constantFrom(...dialects), fc.array(row, { minLength: 1, maxLength: 4 }), (dialect, rows) => {
      const params = Object.fromEntries(
        rows.flatMap((_, at) => [
          [`u${at}`, id()],
          [`t${at}`, id()],
        ]),
      )
      const insert = prepares[dialect]!(params, (k, p) =>
        k('follows').insert(
          rows.map((_, at) => ({ target_id: p[`t${at}`]!, created_at: 5, user_id: p[`u${at}`]! }) as never),
        ),
      )
      const binds = Object.fromEntries(
        rows.flatMap(({ userId, targetId }, at) => [
          [`u${at}`, userId],
          [`t${at}`, targetId],
        ]),
      )
      const raised = new Set(raisedShards(insert, binds))
      return (
        raised.has(everyoneShard) ||
        rows.every(({ userId, targetId }) => raised.has(shardOf(userId)) && raised.has(shardOf(targetId)))
      )
    }),
  )
  t.pass()
})

test('a change raises the shard of its condition, and without one all shards', (t) => {
  const condition = fc.constantFrom('account first', 'account last', 'either', 'nested', 'not', 'none', 'subquery')
  const verb = fc.constantFrom('update', 'delete')
  fc.assert(
    fc.property(fc.constantFrom(...dialects), condition, verb, accountId, (dialect, form, kind, account) => {
      const statement = prepares[dialect]!({ account: id(), other: int() }, (k, p) => {
        const from = k('teams')
        const rows =
          form === 'account first'
            ? from.where('org_id', p.account).where('id', p.other)
            : form === 'account last'
              ? from.where('id', '>', p.other).where('teams.org_id', p.account)
              : form === 'either'
                ? from.where('org_id', p.account).orWhere('id', p.other)
                : form === 'nested'
                  ? from.where('id', p.other).where((any) => any.where('org_id', p.account).orWhere('id', p.other))
                  : form === 'not'
                    ? from.whereNot('org_id', p.account).where('id', p.other)
                    : form === 'subquery'
                      ? from.whereIn('id', k('teams').where('org_id', p.account).select('id')).where('id', p.other)
                      : from.where('id', p.other)
        return kind === 'update' ? rows.update({ permission: 'read' }) : rows.delete()
      })
      const isNamed = form === 'account first' || form === 'account last'
      const [raised, ...more] = raisedShards(statement, { account, other: 7 })
      return more.length === 0 && raised === (isNamed ? shardOf(account) : everyoneShard)
    }),
  )
  t.pass()
})

test('a change written as SQL raises all shards if it names a table of access', (t) => {
  const raised = (sql: string) =>
    raisedShards({ sql, order: [{ constant: 3 }, { constant: 4 }], int64: false, change: 'unknown' }, {})
  for (const sql of [
    'replace into users (id) values (?)',
    'insert into teams select * from teams where org_id = ?',
    'truncate table users',
    'delete a from teams as a',
    'with x as (select 1) delete from `teams`',
    'update users as u join teams as t on t.id = u.id set t.permission = ? where u.id = ?',
    'insert into role_permissions values (1, 2)',
  ])
    t.deepEqual(raised(sql), [everyoneShard], sql)
  t.deepEqual(raised('with x as (select 1) select * from users for update'), [])
  t.deepEqual(raised('update idle_users set x = ?'), [])
})

for (const dialect of dialects) {
  test(`${dialect}: a builder names the accounts and the columns of its statement`, (t) => {
    const raised = (build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) =>
      raisedShards(composeNow(makeComposer(dialect), build), {})
    t.deepEqual(
      raised((k) => k('teams').where('org_id', 4).update({ org_id: 3 })),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('users').where('users.id', 4).update({ 'users.is_active': 1 })),
      [shardOf(4), followersShard],
    )
    t.deepEqual(
      raised((k) => k('users').where('id', 4).increment('version', 1)),
      [shardOf(4)],
    )
    t.deepEqual(
      raised((k) => k('access_tokens').where('id', 4).update({ last_used_at: 3 })),
      [],
    )
    t.deepEqual(
      raised((k) => k('teams as t').where('t.org_id', 4).update({ permission: 'read' })),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('teams').insert(k.raw('select * from teams'))),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('teams').insert({ org_id: 4 }).onConflict('id').merge()),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('teams').truncate()),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k.with('x', k('teams')).from('teams').where('org_id', 4).delete()),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('teams').where('org_id', '=', k.ref('id')).delete()),
      [everyoneShard],
    )
    t.deepEqual(
      raised((k) => k('roles').join('teams', 'teams.id', 'roles.id').where('roles.org_id', 4).update({ name: 'a' })),
      [everyoneShard],
    )
  })
}
