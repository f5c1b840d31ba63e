import { randomUUID } from 'node:crypto'
import test from 'ava'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import {
  makeSqlContractEvents,
  makeSqlDocumentRemovals,
  makeSqlContractStore,
} from '../../adapters/sql/contracts/contract-store.ts'
import { makeSqlAuthorityStore, makeSqlLicenseStore } from '../../adapters/sql/contracts/license-store.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { bindsOf } from '../sql/binds-of.ts'
import type { ContractId, TermsVersion } from '../../core/contracts/types.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { accountRow } from '../authz/stored-fixture.ts'
import { isMariaDb } from '../sql/server-version.ts'
import { eachDatabase } from '../support/databases.ts'
import { at, otherOwner, owner, terms } from './contract-store.fixture.ts'
import { declareSuite } from '../support/declare-suite.ts'
import { bindingStoreSuite } from './binding-store.suite.ts'
import { contractStoreSuite } from './contract-store.suite.ts'

const clock = { now: () => at }

const storesOn = (db: SqlDatabase, runner: SqlRunner) => ({
  contracts: makeSqlContractStore(db, clock)(runner),
  bindings: makeSqlBindingStore(db, clock)(runner),
  events: makeSqlContractEvents(db)(runner),
})

for (const database of eachDatabase()) {
  const opened = async () => {
    const db = await database.open()
    await contractStoreSuite.fill?.(db)
    return db
  }
  const open = async () => {
    const db = await opened()
    return { ...storesOn(db, db), close: () => db.close() }
  }
  declareSuite(contractStoreSuite, `${database.name}: contracts`, open)
  declareSuite(bindingStoreSuite, `${database.name}: bindings`, open)

  test(`${database.name}: reads take a constant number of statements`, async (t) => {
    const db = await opened()
    try {
      const runner = countingRunner(db)
      const { contracts, bindings, events } = storesOn(db, runner)
      const ids: ContractId[] = []
      for (const _ of [1, 2, 3]) ids.push(await contracts.insert(owner, terms(), at))
      const uids = Array.from({ length: 1000 }, () => randomUUID())
      for (const id of ids)
        await bindings.add(
          { id, ownerId: owner },
          uids.map((clusterUid) => ({ clusterUid, displayName: clusterUid })),
          at,
        )
      const page = { page: 1, limit: 1000 }
      const reads = {
        'contracts of an account': [1, () => contracts.listOf(owner, {}, page)],
        'active contracts of a cluster': [
          1,
          () => contracts.listOf(owner, { activeAt: at, cluster: { uid: uids[0]!, bound: 'with' } }, page),
        ],
        'contracts of all accounts': [1, () => contracts.listAll(page)],
        'clusters of a contract': [1, () => bindings.listOf(ids[0]!, page)],
        'contracts of 1,000 clusters': [1, () => bindings.listFor(owner, uids, at)],
        'clusters of offline contracts': [2, () => bindings.listLicensed(owner, at, page)],
        'which of 1,000 clusters are bound': [1, () => bindings.boundAmong(ids[0]!, uids)],
        history: [1, () => events.listOf(ids[0]!, page)],
      } as const
      for (const [title, [count, read]] of Object.entries(reads)) {
        runner.taken()
        await read()
        t.is(runner.taken(), count, title)
      }
    } finally {
      await db.close()
    }
  })

  test(`${database.name}: each list finds its rows by an index`, async (t) => {
    const db = await opened()
    try {
      await fill(db)
      const steps: string[] = []
      const { contracts, bindings, events } = storesOn(db, explaining(db, steps))
      const page = { page: 1, limit: 20 }
      const id = 1 as ContractId
      const uid = uidOf(7)
      const lists = {
        'contracts of an account': () => contracts.listOf(owner, {}, page),
        'active contracts with a cluster': () =>
          contracts.listOf(owner, { activeAt: at, cluster: { uid, bound: 'with' } }, page),
        'active contracts without a cluster': () =>
          contracts.listOf(owner, { activeAt: at, cluster: { uid, bound: 'without' } }, page),
        'contracts to remind': () => contracts.listToRemind(10, at, new Date(at.getTime() + 10 * 86_400_000), 20),
        'the next end of a contract': () => contracts.nextEnds(at, new Date(at.getTime() + 10 * 86_400_000)),
        'contracts that bind new clusters': () => contracts.listBindingNew(owner, at),
        'clusters of a contract': () => bindings.listOf(id, page),
        'contracts of clusters': () => bindings.listFor(owner, [uid, uidOf(8)], at),
        'bound clusters': () => bindings.boundAmong(id, [uid, uidOf(8)]),
        history: () => events.listOf(id, page),
        'terms of a contract': () => contracts.listTerms(id),
        'whether a contract is used': () => contracts.isUsed(id),
        'contracts of a cluster': () => bindings.listContractsOf(uid, 1000),
        'licensed clusters': () => bindings.listLicensed(owner, at, page),
        'contracts of all accounts': () => contracts.listAll(page),
        'licenses of a contract': () => makeSqlLicenseStore(db)(explaining(db, steps)).listOf(id, page),
        'newest license': () => makeSqlLicenseStore(db)(explaining(db, steps)).findNewest(id, uid, 'offline'),
        'revoked licenses': () => makeSqlLicenseStore(db)(explaining(db, steps)).listRevoked(1, at, 100),
        'documents to remove': () => makeSqlDocumentRemovals(db)(explaining(db, steps)).listDue(at, '', 100),
      }
      // MySQL reads few contracts or tags whole, and joins them by a hash.
      const hashed =
        db.dialect === 'mysql' && !(await isMariaDb(db)) ? ['clusters of a contract', 'licensed clusters'] : []
      for (const [title, read] of Object.entries(lists)) {
        if (hashed.includes(title)) continue
        steps.length = 0
        await read()
        t.true(steps.length > 0, title)
        // A list of all contracts reads an index in its order, and stops at the end of the page.
        const expected = title === 'contracts of all accounts' ? readsIndex[db.dialect] : usesIndex[db.dialect]
        for (const step of steps) t.regex(step, expected, `${title}: ${step}`)
        if (title === 'clusters of a contract' && db.dialect === 'sqlite')
          t.false(steps.includes('USE TEMP B-TREE FOR ORDER BY'), 'nothing is sorted')
        if (title === 'contracts of all accounts' && db.dialect === 'sqlite')
          t.true(
            steps.includes('SEARCH c USING INTEGER PRIMARY KEY (rowid=?)'),
            'only the contracts of the page are read',
          )
      }
    } finally {
      await db.close()
    }
  })
}

const uidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Contracts of two accounts with clusters, so many that the databases do not prefer to read all of them. */
const fill = async (db: SqlDatabase): Promise<void> => {
  const { contracts, bindings, events } = storesOn(db, db)
  await db.query((k) => k('accounts').insert(Array.from({ length: 400 }, (_, n) => accountRow('user')(1000 + n))))
  for (let n = 0; n < 200; n += 1) {
    const ownerId = n % 20 === 0 ? owner : otherOwner
    const id = await contracts.insert(
      ownerId,
      terms({ startsAt: new Date(at.getTime() - n * 1000), endsAt: new Date(at.getTime() + n * 86_400_000) }),
      at,
    )
    await bindings.add(
      { id, ownerId },
      Array.from({ length: 10 }, (_, i) => ({ clusterUid: uidOf(n * 10 + i), displayName: `cluster ${i}` })),
      at,
    )
    await events.record(id, 'contract.created', 'ann@example.com', at)
    const [first] = (await contracts.listTerms(id)) as [TermsVersion]
    const changes = Array.from({ length: 4 }, (_, i) => new Date(at.getTime() - (4 - i) * 1000))
    await contracts.setTerms(
      id,
      changes.map((from, i) => ({ ...first, number: i + 1, from: i === 0 ? new Date(0) : from, to: changes[i + 1] })),
      at,
    )
  }
  const certificatePem = ''
  const authorityId = await makeSqlAuthorityStore(db)(db).add({ certificatePem, sealedKey: undefined }, at)
  const licenses = makeSqlLicenseStore(db)(db)
  const about = {
    ownerId: owner,
    kind: 'offline',
    authorityId,
    certificatePem,
    notBefore: at,
    notAfter: at,
    contentKey: '',
    issuedAt: at,
    issuedBy: '',
  } as const
  for (let n = 0; n < 300; n += 1)
    await licenses.insert({
      ...about,
      serial: String(n),
      contractId: (1 + (n % 100)) as ContractId,
      clusterUid: uidOf(n),
      revokedAt: n % 10 === 0 ? at : undefined,
    })
  await makeSqlDocumentRemovals(db)(db).plan(
    Array.from({ length: 300 }, (_, n) => uidOf(n)),
    new Date(at.getTime() + 1000),
  )
  const tables = [
    'licenses',
    'contract_document_removals',
    'contracts',
    'contract_clusters',
    'contract_events',
    'contract_terms',
    'accounts',
  ]
  await db.query((k) => (db.dialect === 'sqlite' ? k.raw('analyze') : k.raw(`analyze table ${tables.join(', ')}`)))
}

/** A step of a plan that does not read a whole table or index. What was found may be read from memory. */
const usesIndex = {
  sqlite: /^(?!SCAN (a|b|c|t|v|accounts|contracts|contract_\w+)\b)/,
  mysql: /^\S+ (const|system|eq_ref|ref|range|index_subquery|unique_subquery|index_merge|ref_or_null) /,
} as const

const readsIndex = {
  sqlite: /^(?!SCAN (a|b|c|t|v|accounts|contracts|contract_\w+)$)/,
  mysql: /^\S+ (const|system|eq_ref|ref|range|index) \w/,
} as const

interface PlanRow {
  readonly detail?: string
  readonly table?: string | null
  readonly type?: string | null
  readonly key?: string | null
}

/** A runner that records how the database finds the rows of each statement that it passes on. */
const explaining = (db: SqlDatabase, steps: string[]): SqlRunner => {
  const explain = async (sql: string, binds: readonly unknown[]): Promise<void> => {
    const rows = await db.query<PlanRow>((k) =>
      k.raw(`explain ${db.dialect === 'sqlite' ? 'query plan' : 'format = traditional'} ${sql}`, binds as never),
    )
    const shown = rows.filter(({ table }) => table !== null && table?.startsWith('<') !== true)
    steps.push(...shown.map(({ detail, table, type, key }) => detail ?? `${table} ${type} ${key}`))
  }
  const all: SqlRunner['all'] = async (statement, binds) => {
    await explain(statement.sql, bindsOf(statement, binds as object))
    return db.all(statement, binds)
  }
  return {
    dialect: db.dialect,
    all,
    first: async (statement, binds) => (await all(statement, binds))[0],
    run: db.run,
    query: async (build) => {
      let text: { readonly sql: string; readonly bindings: readonly unknown[] } = { sql: '', bindings: [] }
      const rows = await db.query<never>((k) => {
        const query = build(k)
        text = query.toSQL()
        return query
      })
      await explain(text.sql, text.bindings)
      return rows
    },
  }
}
