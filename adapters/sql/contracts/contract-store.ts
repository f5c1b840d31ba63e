import type { Knex } from 'knex'
import type { ContractEvents, ContractSelection, ContractStore, DocumentRemovals } from '../../../core/contracts/ports.ts'
import type { ContractEventName, ContractId, ContractTerms } from '../../../core/contracts/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import { filteredPage, pageQuery } from '../kit/page-query.ts'
import type { Bind, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { ContractRow } from './rows.ts'
import { contractColumns, contractOf } from './rows.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

const termColumns = [
  'name', 'product', 'features', 'emails', 'quota', 'restrictions', 'starts_at', 'ends_at',
  'allows_offline', 'binds_new_clusters', 'disables_analytics', 'enables_client_billing',
] as const
type TermColumn = (typeof termColumns)[number]

const termBinds = (terms: ContractTerms): Record<TermColumn, Bind> => ({
  name: terms.name,
  product: terms.product,
  features: toWireJson(terms.features),
  emails: toWireJson(terms.emails),
  quota: toWireJson(terms.quota),
  restrictions: terms.restrictions,
  starts_at: terms.startsAt.getTime(),
  ends_at: terms.endsAt.getTime(),
  allows_offline: terms.allowsOffline ? 1 : 0,
  binds_new_clusters: terms.bindsNewClusters ? 1 : 0,
  disables_analytics: terms.disablesAnalytics ? 1 : 0,
  enables_client_billing: terms.enablesClientBilling ? 1 : 0,
})

/** Joins contracts with their owners, and selects what `ContractRow` has. */
export const withOwner = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'c.owner_id').select(...contractColumns, 'a.name as owner_name')

const newest = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.orderBy([{ column: 'c.starts_at', order: 'desc' }, { column: 'c.id', order: 'desc' }])

const newestFirst: Shown = (_, rows, cut) => cut(newest(withOwner(rows)))

/** The ids of the page come from an index alone: otherwise MariaDB reads and sorts all contracts. */
const newestOfAll: Shown = (k, rows, cut) =>
  withOwner(k.from(cut(newest(rows.select('c.id', 'c.starts_at'))).as('p')).join('contracts as c', 'c.id', 'p.id')).orderBy([{ column: 'p.starts_at', order: 'desc' }, { column: 'p.id', order: 'desc' }])

/** Narrows to contracts that are in force at an instant, given as milliseconds. */
export const activeAt = (rows: Knex.QueryBuilder, at: Knex.Value): Knex.QueryBuilder =>
  rows.where('c.starts_at', '<=', at).where('c.ends_at', '>', at).whereNull('c.revoked_at')

const selected = (k: Knex, rows: Knex.QueryBuilder, selection: ContractSelection): Knex.QueryBuilder => {
  if (selection.activeAt !== undefined) activeAt(rows, selection.activeAt.getTime())
  if (selection.allowsOffline === true) rows.where('c.allows_offline', 1)
  const { cluster } = selection
  if (cluster === undefined) return rows
  const bound = k('contract_clusters as b').select(k.raw('1')).whereRaw('b.contract_id = c.id').where('b.cluster_uid', cluster.uid)
  return cluster.bound === 'with' ? rows.whereExists(bound) : rows.whereNotExists(bound)
}

const toRemind = (db: SqlDatabase, days: 45 | 10) =>
  db.prepare((k, p: Params<'now' | 'endsBefore' | 'limit'>) =>
    activeAt(withOwner(k('contracts as c')), p('now')).where('c.ends_at', '<', p('endsBefore')).whereNull(`c.reminded_${days}_at`).orderBy(['c.ends_at', 'c.id']).limit(p('limit')),
  )

const markReminded = (db: SqlDatabase, days: 45 | 10) =>
  db.prepare((k, p: Params<'id' | 'at'>) => k('contracts').where('id', p('id')).whereNull(`reminded_${days}_at`).update({ [`reminded_${days}_at`]: p('at') }))

const reads = (db: SqlDatabase) => ({
  listAll: pageQuery(db, (k) => k('contracts as c'), newestOfAll),
  get: db.prepare((k, p: Params<'ownerId' | 'id'>) => withOwner(k('contracts as c')).where('c.id', p('id')).where('c.owner_id', p('ownerId'))),
  getAny: db.prepare((k, p: Params<'id'>) => withOwner(k('contracts as c')).where('c.id', p('id'))),
  lock: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      withOwner(k('contracts as c')).where('c.owner_id', p('ownerId')).whereIn('c.id', listSlots(p, length)).orderBy('c.id').forUpdate('c'),
    ),
  ),
  bindingNew: db.prepare((k, p: Params<'ownerId' | 'now'>) =>
    activeAt(withOwner(k('contracts as c')), p('now')).where('c.owner_id', p('ownerId')).where('c.binds_new_clusters', 1).orderBy('c.id').limit(1000),
  ),
  toRemind: { 45: toRemind(db, 45), 10: toRemind(db, 10) },
})

const changed = (k: Knex, p: Params<'at'>): Record<string, Knex.Value | Knex.Raw> => ({ updated_at: p('at'), version: k.raw('?? + 1', ['version']) })

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<TermColumn | 'ownerId' | 'at'>) =>
    k('contracts').insert({ ...Object.fromEntries(termColumns.map((column) => [column, p(column)])), owner_id: p('ownerId'), created_at: p('at'), updated_at: p('at'), version: 1 }),
  ),
  replace: db.prepare((k, p: Params<TermColumn | 'id' | 'at'>) =>
    k('contracts').where('id', p('id')).update({ ...Object.fromEntries(termColumns.map((column) => [column, p(column)])), ...changed(k, p) }),
  ),
  setDocument: db.prepare((k, p: Params<'id' | 'at' | 'ref' | 'name' | 'type' | 'size'>) =>
    k('contracts').where('id', p('id')).update({ document_ref: p('ref'), document_name: p('name'), document_type: p('type'), document_size: p('size'), ...changed(k, p) }),
  ),
  revoke: db.prepare((k, p: Params<'id' | 'at'>) => k('contracts').where('id', p('id')).whereNull('revoked_at').update({ revoked_at: p('at'), ...changed(k, p) })),
  remove: db.prepare((k, p: Params<'id'>) => k('contracts').where('id', p('id')).delete()),
  clearReminders: db.prepare((k, p: Params<'id'>) => k('contracts').where('id', p('id')).update({ reminded_45_at: null, reminded_10_at: null })),
  markReminded: { 45: markReminded(db, 45), 10: markReminded(db, 10) },
})

/** Every statement on contracts, composed once. */
export const contractStatements = (db: SqlDatabase) => ({ ...reads(db), ...writes(db) })
type ContractStatements = ReturnType<typeof contractStatements>

type ContractReads = Pick<ContractStore, 'listOf' | 'listAll' | 'get' | 'getAny' | 'lock' | 'listToRemind' | 'listBindingNew'>

const contractReads = (s: ContractStatements, runner: SqlRunner): ContractReads => {
  const one = async (row: Promise<ContractRow | undefined>) => {
    const found = await row
    return found === undefined ? undefined : contractOf(found)
  }
  return {
    async listOf(ownerId, selection, page) {
      const rows = await filteredPage<ContractRow>(runner, (k) => selected(k, k('contracts as c').where('c.owner_id', ownerId), selection), newestFirst, page)
      return mapPage(rows, contractOf)
    },
    async listAll(page) {
      return mapPage(await s.listAll<ContractRow>(runner, {}, page), contractOf)
    },
    get: (ownerId, id) => one(runner.first<ContractRow>(s.get, { ownerId, id })),
    getAny: (id) => one(runner.first<ContractRow>(s.getAny, { id })),
    async lock(ownerId, ids) {
      const found: ContractRow[] = []
      for (const chunk of chunksOf([...new Set(ids)].sort((a, b) => a - b))) {
        const { statement, binds } = s.lock(chunk)
        found.push(...(await runner.all<ContractRow>(statement, { ...binds, ownerId })))
      }
      return found.map(contractOf)
    },
    async listToRemind(days, now, endsBefore, limit) {
      const rows = await runner.all<ContractRow>(s.toRemind[days], { now: now.getTime(), endsBefore: endsBefore.getTime(), limit })
      return rows.map(contractOf)
    },
    async listBindingNew(ownerId, now) {
      return (await runner.all<ContractRow>(s.bindingNew, { ownerId, now: now.getTime() })).map(contractOf)
    },
  }
}

type ContractWrites = Omit<ContractStore, keyof ContractReads>

const contractWrites = (s: ContractStatements, runner: SqlRunner): ContractWrites => ({
  async insert(ownerId, terms, at) {
    const { insertId } = await runner.run(s.insert, { ...termBinds(terms), ownerId, at: at.getTime() })
    return insertId as ContractId
  },
  async replace(id, terms, at) {
    await runner.run(s.replace, { ...termBinds(terms), id, at: at.getTime() })
  },
  async setDocument(id, document, at) {
    const { ref = '', fileName = '', mediaType = '', size = 0 } = document ?? {}
    await runner.run(s.setDocument, { id, at: at.getTime(), ref, name: fileName, type: mediaType, size })
  },
  async revoke(id, at) {
    await runner.run(s.revoke, { id, at: at.getTime() })
  },
  async remove(id) {
    // Foreign keys delete bindings and history with the row.
    await runner.run(s.remove, { id })
  },
  async clearReminders(id) {
    await runner.run(s.clearReminders, { id })
  },
  async markReminded(id, days, at) {
    return (await runner.run(s.markReminded[days], { id, at: at.getTime() })).affected > 0
  },
})

/** ContractStore over the table contracts. Statements are composed once, then bound to a runner. */
export const makeSqlContractStore = (db: SqlDatabase): ((runner: SqlRunner) => ContractStore) => {
  const statements = contractStatements(db)
  return (runner) => ({ ...contractReads(statements, runner), ...contractWrites(statements, runner) })
}

interface EventRow {
  readonly id: number
  readonly contract_id: number
  readonly event: string
  readonly added_by: string
  readonly created_at: number
}

/** ContractEvents over the table contract_events. */
export const makeSqlContractEvents = (db: SqlDatabase): ((runner: SqlRunner) => ContractEvents) => {
  const list = pageQuery(
    db,
    (k, p: Params<'contractId'>) => k('contract_events').where('contract_id', p('contractId')),
    (_, rows, cut) => cut(rows.select('id', 'contract_id', 'event', 'added_by', 'created_at').orderBy('id')),
  )
  const insert = db.prepare((k, p: Params<'contractId' | 'event' | 'addedBy' | 'at'>) =>
    k('contract_events').insert({ contract_id: p('contractId'), event: p('event'), added_by: p('addedBy'), created_at: p('at') }),
  )
  return (runner) => ({
    async record(contractId, event, addedBy, at) {
      await runner.run(insert, { contractId, event, addedBy: addedBy.slice(0, 254), at: at.getTime() })
    },
    async listOf(contractId, page) {
      return mapPage(await list<EventRow>(runner, { contractId }, page), (row) => ({
        id: row.id,
        contractId: row.contract_id as ContractId,
        addedBy: row.added_by,
        event: row.event as ContractEventName,
        createdAt: new Date(row.created_at),
      }))
    },
  })
}

/** DocumentRemovals over the table contract_document_removals. */
export const makeSqlDocumentRemovals = (db: SqlDatabase): ((runner: SqlRunner) => DocumentRemovals) => {
  const insert = insertRows(db, 'contract_document_removals', (p: Params<'ref' | 'dueAt'>) => ({ ref: p('ref'), due_at: p('dueAt') }))
  const cancel = db.prepare((k, p: Params<'ref' | 'now'>) => k('contract_document_removals').where('ref', p('ref')).where('due_at', '>', p('now')).delete())
  const due = db.prepare((k, p: Params<'now' | 'after' | 'limit'>) =>
    k('contract_document_removals').select('ref').where('due_at', '<=', p('now')).where('ref', '>', p('after')).orderBy('ref').limit(p('limit')),
  )
  const forget = db.prepare((k, p: Params<'ref'>) => k('contract_document_removals').where('ref', p('ref')).delete())
  return (runner) => ({
    plan: (refs, dueAt) => insert(runner, refs.map((ref) => ({ ref, dueAt: dueAt.getTime() }))),
    async cancel(ref, now) {
      return (await runner.run(cancel, { ref, now: now.getTime() })).affected > 0
    },
    async listDue(now, after, limit) {
      return (await runner.all<{ readonly ref: string }>(due, { now: now.getTime(), after, limit })).map(({ ref }) => ref)
    },
    async forget(ref) {
      await runner.run(forget, { ref })
    },
  })
}
