import test from 'ava'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { accessTables } from '../../adapters/sql/tables/access.ts'
import { repositoryFiles } from '../support/test-files.ts'
import { composingFiles } from './composed.ts'
import { addedTables, declaredColumns, keyspaces, undeclaredTables } from './layout.ts'

const { moorage, moorage_accounts: accounts } = keyspaces
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Tables that Vitess needs beside those of the schema. */
const added = [...addedTables.matchAll(/^create table (\w+)/gm)].map(([, name]) => name ?? '')

test('each table is in one keyspace of Vitess', (t) => {
  const listed = [...Object.keys(moorage.tables), ...Object.keys(accounts.tables)]
  t.deepEqual(listed.toSorted(), [...declaredColumns.keys(), ...undeclaredTables, ...added].sort())
  t.is(new Set(listed).size, listed.length)
})

test('access tables share one shard with their revisions', (t) => {
  // Vitess commits to one shard after the other: a revision that another shard shows first would be kept with old rights.
  t.false(moorage.sharded)
  for (const name of ['access_revisions', 'instances', ...Object.keys(accessTables)])
    t.true(name in moorage.tables, name)
})

test('each table with shards has a shard key, and a sequence if its rows are numbered', (t) => {
  t.true(accounts.sharded)
  const vindexes = accounts.vindexes ?? {}
  for (const [name, { column_vindexes: keys = [], auto_increment: numbered }] of Object.entries(accounts.tables)) {
    const columns = declaredColumns.get(name) ?? {}
    t.true(keys.length > 0, name)
    for (const { column = '', name: vindex } of keys) {
      t.true(column in columns, `${name}.${column}`)
      t.true(vindex in vindexes, vindex)
    }
    // The rows of an account are found by a hash of its id, or by the shard of what they belong to.
    t.true(keys[0]?.name === 'account' || vindexes[keys[0]?.name ?? '']?.owner !== name, name)
    const [first] = Object.values(columns)
    const isNumbered = first?.name === 'id' && first.mayBeLeftOut
    t.is(numbered?.column, isNumbered ? 'id' : undefined, name)
    if (numbered !== undefined) t.is(moorage.tables[numbered.sequence.replace('moorage.', '')]?.type, 'sequence', name)
  }
  for (const { type, owner, params } of Object.values(vindexes).filter((vindex) => vindex.type !== 'xxhash')) {
    // With consistent_lookup_unique vtgate locks a row of the look-up for an insert and for an update in two sessions: a
    // transaction that makes both waits for itself.
    t.is(`${type} ${params?.['autocommit']}`, 'lookup_unique true')
    t.true(params?.['table']?.replace('moorage.', '') !== undefined && owner !== undefined)
    t.true((params?.['table'] ?? '').replace('moorage.', '') in moorage.tables)
  }
})

test('statements that are composed when they run are known', (t) => {
  // The others are prepared. A file of this kind must be named in composed.ts, so that they are planned.
  const composing = repositoryFiles(root).filter(
    (file) =>
      /^adapters\/sql\/(?!engine|kit|kernel\/backup)[^.]*\.ts$/.test(file) &&
      /\b(?:filteredRows|queryRows)\(|\.query(?:<.*>)?\(|\.list\([^)]*narrowed/.test(
        readFileSync(`${root}${file}`, 'utf8'),
      ),
  )
  t.deepEqual(composing, Object.keys(composingFiles))
})
