// process: own - records the statements of this process
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import mysql from 'mysql2'
import { declaredColumns, keyspaces, undeclaredTables, withColumns } from './layout.ts'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import { formOf, readNamed } from './forms.ts'
import { planStatements } from './planner.ts'
import { serviceStatements, sessionStatements } from './statements.ts'

const test = needing('vtexplain', 'mariadb')
const named = readNamed(readFileSync(fileURLToPath(new URL('several-shards.tsv', import.meta.url)), 'utf8'))
const sharded = { moorage: withColumns(keyspaces.moorage), moorage_accounts: withColumns(keyspaces.moorage_accounts) }

test('Vitess plans every statement for one keyspace without shards', async (t) => {
  const tables = Object.fromEntries([...declaredColumns.keys(), ...undeclaredTables].map((name) => [name, {}]))
  const statements = [...(await serviceStatements()).map(({ example }) => example), ...sessionStatements]
  const planned = await planStatements({ moorage: withColumns({ sharded: false, tables }) }, 'moorage', statements)
  t.deepEqual(
    planned.flatMap(({ place, error }, at) => (place === 'one' ? [] : [`${place} ${error}: ${statements[at]}`])),
    [],
  )
})

test('Vitess plans every statement for account shards', async (t) => {
  const statements = await serviceStatements()
  const examples = [...statements.map(({ example }) => example), ...sessionStatements]
  const planned = await planStatements(sharded, '@primary', examples)
  t.deepEqual(
    planned.flatMap(({ place, error }, at) => (place === 'fails' ? [`${error}: ${examples[at]}`] : [])),
    [],
  )
  const counts = Object.groupBy(planned, ({ place }) => place)
  t.log(
    Object.entries(counts)
      .map(([place, { length } = []]) => `${place}: ${length}`)
      .join(', '),
  )
  const found = statements.flatMap(({ sql }, at) => {
    const place = planned[at]?.place ?? 'fails'
    return ['one', 'lists'].includes(place) ? [] : [`${place}\t${formOf(sql)}`]
  })
  // One that runs on one shard by now must be removed from the list.
  t.deepEqual([...new Set(found)].sort(), named.map(({ place, form }) => `${place}\t${form}`).sort())
  t.deepEqual(
    named.filter(({ reason }) => reason.length < 20),
    [],
  )
})

test('a request runs on one shard', async (t) => {
  const service = await startService({ database: 'mysql' })
  t.teardown(service.stop)
  const token = await service.tokenFor('admin')
  t.is((await service.send('POST', '/api/v1/orgs', { token, body: { username: 'harbour' } })).status, 201)
  const team = (await service.send('GET', '/api/v1/orgs/harbour/teams', { token })).json as { readonly id: number }[]
  const run = recordStatements()
  t.teardown(run.stop)
  // The first reads what is remembered after it; the second proves that it still holds.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    t.is((await service.send('GET', '/api/v1/user', { token })).status, 200)
    t.is((await service.send('GET', `/api/v1/teams/${team[0]?.id}`, { token })).status, 200)
    // The look-up of a cluster is the same whether it exists or not.
    t.is((await service.send('GET', '/api/v1/clusters/harbour/none', { token })).status, 404)
  }
  run.stop()
  const statements = await serviceStatements()
  // A job may run beside the requests. Lists have as many places as there are values.
  const forms = new Set([...run.texts].map(formOf))
  const wanted = statements.filter(({ sql }) => forms.has(formOf(sql)))
  t.true(wanted.length > 3)
  const known = new Set([...wanted.map(({ sql }) => sql), ...sessionStatements].map(formOf))
  t.deepEqual(
    [...forms].filter((form) => !known.has(form)),
    [],
  )
  const planned = await planStatements(
    sharded,
    '@primary',
    wanted.map(({ example }) => example),
  )
  t.deepEqual(
    planned.flatMap(({ place }, at) => (place === 'one' ? [] : [wanted[at]?.sql])),
    [],
  )
})

/** Records the texts that this process runs as prepared statements on MySQL. */
const recordStatements = (): { readonly texts: ReadonlySet<string>; readonly stop: () => void } => {
  const texts = new Set<string>()
  const prototype = (mysql as unknown as { readonly Connection: { readonly prototype: Executing } }).Connection
    .prototype
  const { execute } = prototype
  prototype.execute = function (this: unknown, sql: unknown, ...rest: readonly unknown[]) {
    texts.add(typeof sql === 'string' ? sql : (sql as { readonly sql: string }).sql)
    return execute.call(this, sql, ...rest)
  }
  return {
    texts,
    stop: () => {
      prototype.execute = execute
    },
  }
}

interface Executing {
  execute(this: unknown, sql: unknown, ...rest: readonly unknown[]): unknown
}
