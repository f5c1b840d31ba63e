// process: own - records the statements of this process
import type * as t from 'io-ts'
import { isRight } from 'fp-ts/lib/Either.js'
import anyTest from 'ava'
import { createConnection } from 'mysql2/promise'
import { databaseNow } from '../../adapters/sql/kit/fragments.ts'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import { optionalInner } from '../../plugins/kit/codecs.ts'
import { needing } from '../support/components/needing.ts'
import { borrowMysqlDatabase } from '../support/databases.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { AcceptedScan } from './accepted-plans.ts'
import { bounded, scans, unindexedFilters } from './accepted-plans.ts'
import { recordSqliteStatements } from './recorded-statements.ts'

/**
 * Every GET route is called with each of its query parameters, and both engines explain the statements that it ran. A
 * new route, filter or order is explained without a change here.
 */

/** Values of which each query parameter decodes one at least. */
const candidates = [
  ...['true', '1', '60', '2026-05-01T08:00:00Z', '2026-05-01', '2026-05', 'role.created', 'alice', 'running', 'name'],
  ...[
    '5f6f1c9e-8f2b-4a37-9c1e-0d5f6a7b8c9d',
    'a'.repeat(64),
    '0'.repeat(64),
    '3600',
    '1767225600',
    'a/b',
    'A'.repeat(43),
  ],
]

const valuesOf = (codec: t.Any): readonly string[] => {
  const inner = optionalInner(codec) ?? codec
  const words = Object.keys((inner as { readonly keys?: object }).keys ?? {})
  return words.length > 0 ? words : candidates.filter((candidate) => isRight(inner.decode(candidate))).slice(0, 1)
}

interface Explained {
  readonly route: string
  /** The query parameter beside those that the route needs; '' without one. */
  readonly parameter: string
  readonly sql: string
}

/** The statements of a route that a request ran. A job may run beside it. */
const isOfRequest = (sql: string): boolean =>
  /^select /i.test(sql) && !/`(task_outbox|leases|instances|webhook_cursors|served_at)`/.test(sql)

const statementsOfRoutes = async (service: PopulatedService) => {
  const recorded = recordSqliteStatements()
  const tokens = [service.adminToken, await service.tokenFor('alice')]
  const found: Explained[] = []
  const withoutValue: string[] = []
  try {
    for (const { bound, methods, ...route } of service.running.assembly.routes) {
      if (bound.kind !== 'json' || !methods.includes('GET')) continue
      const target = targetOf({ bound, methods, ...route }, service.fixture)
      const given = Object.entries(propsOf(bound.route.query)).map(([name, codec]) => [name, valuesOf(codec)] as const)
      withoutValue.push(...given.flatMap(([name, all]) => (all.length === 0 ? [`${bound.route.id} ${name}`] : [])))
      for (const [name, all] of [['', ['']] as const, ['page', ['2']] as const, ...given])
        for (const value of all)
          for (const token of tokens) {
            const address = new URL(target, service.baseUrl)
            if (name !== '') address.searchParams.set(name, value)
            recorded.taken()
            const { status } = await service.send('GET', address.pathname + address.search, { token })
            if (status !== 200) continue
            const taken = recorded.taken().filter(isOfRequest)
            found.push(...taken.map((sql) => ({ route: bound.route.id, parameter: name, sql })))
          }
    }
  } finally {
    recorded.stop()
  }
  return { found, withoutValue }
}

/** The table that a name of a plan stands for; undefined for the result of a subquery. */
const tableOf = (sql: string, name: string): string | undefined => {
  const aliased = new RegExp(`(?:from|join) \`?(\\w+)\`? as \`?${name}\\b`).exec(sql)?.[1]
  return aliased ?? (new RegExp(`(?:from|join) \`?${name}\\b`).test(sql) ? name : undefined)
}

/** Reads every row of a table that grows, unless the first rows in the order of an index are enough. */
const isScan = (sql: string, name: string): boolean => {
  const table = tableOf(sql, name)
  if (table === undefined || table in bounded) return false
  return sql.includes(' where ') || !sql.includes(' limit ')
}

const placesIn = (sql: string): number => sql.split('?').length - 1

/** Compares texts without their columns, of which there may be many. */
const formOf = (sql: string): string => sql.replaceAll(/select (?!count|1\b|\*)[^()]*? from /g, 'select … from ')

const acceptedFor = (sql: string): AcceptedScan | undefined => scans.find(({ part }) => sql.includes(part))

let service: PopulatedService
let statements: Awaited<ReturnType<typeof statementsOfRoutes>>
anyTest.before(async () => {
  service = await startPopulatedService()
  statements = await statementsOfRoutes(service)
})
anyTest.after.always(() => service.stop())

anyTest('every query parameter has a value to explain', (t) => {
  t.deepEqual([...new Set(statements.withoutValue)], [])
  t.true(new Set(statements.found.map(({ route }) => route)).size > 100)
})

const sqlitePlan = (sql: string): readonly string[] =>
  service.rows(`explain query plan ${sql}`, ...Array<number>(placesIn(sql)).fill(1)).map(({ detail }) => String(detail))

anyTest('SQLite reads no table that grows from end to end', (t) => {
  const found = new Set<string>()
  const used = new Set<object>()
  for (const { route, sql } of statements.found) {
    const names = sqlitePlan(sql).flatMap((line) => /^SCAN (\w+)/.exec(line)?.[1] ?? [])
    if (!names.some((name) => isScan(sql, name))) continue
    const accepted = acceptedFor(sql)
    if (accepted === undefined) found.add(`${route}: ${formOf(sql)}`)
    else used.add(accepted)
  }
  t.deepEqual([...found], [])
  t.deepEqual(
    scans.filter((accepted) => !used.has(accepted)),
    [],
    'an exception that nothing needs',
  )
})

anyTest('a filter of a list is decided by an index', (t) => {
  const plain = new Map<string, Set<string>>()
  for (const { route, parameter, sql } of statements.found)
    if (parameter === '') plain.set(route, (plain.get(route) ?? new Set()).add(sql))
  const found = new Set<string>()
  for (const { route, parameter, sql } of statements.found) {
    const before = plain.get(route) ?? new Set()
    if (['', 'page'].includes(parameter) || before.has(sql) || !sql.includes(' limit ')) continue
    const plans = [...before].map((other) => sqlitePlan(other).join('\n'))
    // The same plan for another condition: the rows are read and then looked at.
    if (plans.includes(sqlitePlan(sql).join('\n'))) found.add(`${route} ${parameter}`)
  }
  t.deepEqual([...found].sort(), Object.keys(unindexedFilters).sort())
})

needing('mariadb')('MariaDB reads no table that grows from end to end', async (t) => {
  const database = await borrowMysqlDatabase()
  const connection = await createConnection(database.url)
  t.teardown(async () => {
    for (const table of ['table_stats', 'index_stats'])
      await rows(`delete from mysql.${table} where db_name = ?`, [name])
    await connection.end()
    await database.giveBack()
  })
  const rows = async (sql: string, binds: unknown[] = []) =>
    (await connection.query(sql, binds))[0] as Record<string, string | number | null>[]
  // The planner believes that every table has many rows.
  const name = new URL(database.url).pathname.slice(1)
  const tables = (await rows('show tables')).map((row) => String(Object.values(row)[0]))
  await rows('insert into mysql.table_stats (db_name, table_name, cardinality) values ?', [
    tables.map((table) => [name, table, 1_000_000]),
  ])
  const keys = await rows(
    'select table_name as t, index_name as i, seq_in_index as s from information_schema.statistics where table_schema = ?',
    [name],
  )
  await rows('insert into mysql.index_stats (db_name, table_name, index_name, prefix_arity, avg_frequency) values ?', [
    keys.map(({ t: table, i, s: arity }) => [name, table, i, arity, 10]),
  ])
  await rows(`flush tables ${tables.map((table) => `\`${table}\``).join(', ')}`)
  const found = new Set<string>()
  let explained = 0
  for (const [sql, { route }] of new Map(statements.found.map((one) => [one.sql, one])).entries()) {
    if (sql.includes('sqlite_version')) continue
    // Numbers are sent as text, except where only a number is valid.
    const text = sql
      .replaceAll(databaseNow('sqlite'), databaseNow('mysql'))
      .replaceAll('= +?', '= ?')
      .replaceAll(/(limit|offset) \?/g, '$1 30')
    const plan = await rows(`explain ${text}`, Array<string>(placesIn(text)).fill('1')).catch((error: Error) => error)
    if (plan instanceof Error) {
      found.add(`${route}: ${plan.message}: ${text}`)
      continue
    }
    explained += 1
    const names = plan.flatMap(({ type, table }) => (type === 'ALL' || type === 'index' ? [String(table)] : []))
    if (names.some((table) => isScan(sql, table)) && acceptedFor(sql) === undefined)
      found.add(`${route}: ${formOf(sql)}`)
  }
  t.true(explained > 100)
  t.deepEqual([...found], [])
})
