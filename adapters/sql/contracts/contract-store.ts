import type { Knex } from 'knex'
import type {
  ContractEvents,
  ContractSelection,
  ContractStore,
  DocumentRemovals,
} from '../../../core/contracts/ports.ts'
import type { ContractEventName, ContractId, TermsVersion } from '../../../core/contracts/types.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import { filteredPage, pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { ContractRow } from './rows.ts'
import { contractColumns, contractOf } from './rows.ts'
import type { DatedColumn, DetailColumn, TermsRow } from './terms-in-force.ts'
import {
  activeAt,
  datedBinds,
  datedColumns,
  detailBinds,
  detailColumns,
  inForce,
  joinInForce,
  newestColumns,
  selectInForce,
  versionColumns,
  versionOf,
} from './terms-in-force.ts'

/** Joins contracts with their owners, and selects what `ContractRow` has. The terms in force are joined. */
const selectContracts = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .join('accounts as a', 'a.id', 'c.owner_id')
    .select(...contractColumns, ...selectInForce(k), 'a.name as owner_name')

/** Joins contracts with their owners and with the terms in force at an instant, and selects what `ContractRow` has. */
export const withOwner = (k: Knex, rows: Knex.QueryBuilder, now: Knex.Value): Knex.QueryBuilder =>
  selectContracts(k, joinInForce(rows, now))

const newest = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.orderBy([
    { column: 'c.starts_at', order: 'desc' },
    { column: 'c.id', order: 'desc' },
  ])

const newestFirst: Shown = (k, rows, cut) => cut(newest(selectContracts(k, rows)))

/** The ids of the page come from an index alone: otherwise MariaDB reads and sorts all contracts. */
const newestOfAll =
  (now: Knex.Value): Shown =>
  (k, rows, cut) =>
    withOwner(
      k,
      k.from(cut(newest(rows.select('c.id', 'c.starts_at'))).as('p')).join('contracts as c', 'c.id', 'p.id'),
      now,
    ).orderBy([
      { column: 'p.starts_at', order: 'desc' },
      { column: 'p.id', order: 'desc' },
    ])

const selected = (k: Knex, rows: Knex.QueryBuilder, selection: ContractSelection): Knex.QueryBuilder => {
  if (selection.activeAt !== undefined) activeAt(rows, selection.activeAt.getTime())
  if (selection.allowsOffline === true) rows.whereRaw(`${inForce('allows_offline')} = 1`)
  const { cluster } = selection
  if (cluster === undefined) return rows
  const bound = k('contract_clusters as b')
    .select(k.raw('1'))
    .whereRaw('b.contract_id = c.id')
    .where('b.cluster_uid', cluster.uid)
  return cluster.bound === 'with' ? rows.whereExists(bound) : rows.whereNotExists(bound)
}

type RemindBind = 'now' | 'endsBefore' | 'limit'

/** By an index on the end that is in force: of the newest version, or of the one before versions that are planned. */
const toRemind = (db: SqlDatabase, days: 45 | 10) => {
  const list = (end: 'c.ends_at' | 'v.ends_at') =>
    db.prepare((k, p: Params<RemindBind>) =>
      activeAt(withOwner(k, k('contracts as c'), p('now')), p('now'))
        .where(end, '<', p('endsBefore'))
        .where('c.terms_from', end === 'c.ends_at' ? '<=' : '>', p('now'))
        .where((each) =>
          each
            .whereNull(`c.reminded_${days}_at`)
            .orWhereNull('c.reminded_ends_at')
            .orWhereRaw(`c.reminded_ends_at <> ${inForce('ends_at')}`),
        )
        .orderBy([end, 'c.id'])
        .limit(p('limit')),
    )
  return [list('c.ends_at'), list('v.ends_at')] as const
}

const markReminded = (db: SqlDatabase, days: 45 | 10) =>
  db.prepare((k, p: Params<'id' | 'at'>) =>
    k('contracts')
      .where('id', p('id'))
      .whereNull(`reminded_${days}_at`)
      .update({ [`reminded_${days}_at`]: p('at') }),
  )

const reads = (db: SqlDatabase) => ({
  get: db.prepare((k, p: Params<'ownerId' | 'id' | 'now'>) =>
    withOwner(k, k('contracts as c'), p('now')).where('c.id', p('id')).where('c.owner_id', p('ownerId')),
  ),
  getAny: db.prepare((k, p: Params<'id' | 'now'>) =>
    withOwner(k, k('contracts as c'), p('now')).where('c.id', p('id')),
  ),
  lock: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      withOwner(k, k('contracts as c'), p('now'))
        .where('c.owner_id', p('ownerId'))
        .whereIn('c.id', listSlots(p, length))
        .orderBy('c.id')
        .forUpdate('c'),
    ),
  ),
  bindingNew: db.prepare((k, p: Params<'ownerId' | 'now'>) =>
    activeAt(withOwner(k, k('contracts as c'), p('now')), p('now'))
      .where('c.owner_id', p('ownerId'))
      .where('c.binds_new_clusters', 1)
      .orderBy('c.id')
      .limit(1000),
  ),
  earlierTerms: db.prepare((k, p: Params<'id'>) =>
    k('contract_terms as v')
      .where('v.contract_id', p('id'))
      .select(...versionColumns),
  ),
  newestTerms: db.prepare((k, p: Params<'id'>) =>
    k('contracts as c')
      .where('c.id', p('id'))
      .select(...newestColumns),
  ),
  isUsed: db.prepare((k, p: Params<'id'>) =>
    k('contract_cluster_intervals')
      .where('contract_id', p('id'))
      .select(k.raw('1 as used'))
      .union(k('licenses').where('contract_id', p('id')).select(k.raw('1 as used'))),
  ),
  toRemind: { 45: toRemind(db, 45), 10: toRemind(db, 10) },
})

const changed = (k: Knex, p: Params<'at'>): Record<string, Knex.Value | Knex.Raw> => ({
  updated_at: p('at'),
  version: k.raw('?? + 1', ['version']),
})

type NewestBind = DatedColumn | 'number' | 'from' | 'recordedAt' | 'recordedBy'
const newestTermsIn = (p: Params<NewestBind>): Record<string, Knex.Value> => ({
  ...Object.fromEntries(datedColumns.map((column) => [column, p(column)])),
  terms_number: p('number'),
  terms_from: p('from'),
  terms_recorded_at: p('recordedAt'),
  terms_recorded_by: p('recordedBy'),
})
const newestBinds = (version: TermsVersion) => ({
  ...datedBinds(version),
  number: version.number,
  from: version.from.getTime(),
  recordedAt: version.recordedAt.getTime(),
  recordedBy: version.recordedBy.slice(0, 254),
})

type EarlierBind = NewestBind | 'id' | 'to' | 'supersededAt'

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<NewestBind | DetailColumn | 'ownerId' | 'at'>) =>
    k('contracts').insert({
      ...newestTermsIn(p),
      ...Object.fromEntries(detailColumns.map((column) => [column, p(column)])),
      owner_id: p('ownerId'),
      created_at: p('at'),
      updated_at: p('at'),
      version: 1,
    }),
  ),
  setDetails: db.prepare((k, p: Params<DetailColumn | 'id' | 'at'>) =>
    k('contracts')
      .where('id', p('id'))
      .update({ ...Object.fromEntries(detailColumns.map((column) => [column, p(column)])), ...changed(k, p) }),
  ),
  setNewest: db.prepare((k, p: Params<NewestBind | 'id' | 'at'>) =>
    k('contracts')
      .where('id', p('id'))
      .update({ ...newestTermsIn(p), ...changed(k, p) }),
  ),
  removeEarlier: db.prepare((k, p: Params<'id'>) =>
    k('contract_terms').where('contract_id', p('id')).whereNull('superseded_at').delete(),
  ),
  addEarlier: insertRows(db, 'contract_terms', (p: Params<EarlierBind>) => ({
    contract_id: p('id'),
    number: p('number'),
    from_at: p('from'),
    to_at: p('to'),
    ...Object.fromEntries(datedColumns.map((column) => [column, p(column)])),
    recorded_at: p('recordedAt'),
    recorded_by: p('recordedBy'),
    superseded_at: p('supersededAt'),
  })),
  setDocument: db.prepare((k, p: Params<'id' | 'at' | 'ref' | 'name' | 'type' | 'size'>) =>
    k('contracts')
      .where('id', p('id'))
      .update({
        document_ref: p('ref'),
        document_name: p('name'),
        document_type: p('type'),
        document_size: p('size'),
        ...changed(k, p),
      }),
  ),
  revoke: db.prepare((k, p: Params<'id' | 'at'>) =>
    k('contracts')
      .where('id', p('id'))
      .whereNull('revoked_at')
      .update({ revoked_at: p('at'), ...changed(k, p) }),
  ),
  remove: db.prepare((k, p: Params<'id'>) => k('contracts').where('id', p('id')).delete()),
  remindOf: db.prepare((k, p: Params<'id' | 'end'>) =>
    k('contracts')
      .where('id', p('id'))
      .where((each) => each.whereNull('reminded_ends_at').orWhere('reminded_ends_at', '<>', p('end')))
      .update({ reminded_45_at: null, reminded_10_at: null, reminded_ends_at: p('end') }),
  ),
  markReminded: { 45: markReminded(db, 45), 10: markReminded(db, 10) },
})

/** Every statement on contracts, composed once. */
const contractStatements = (db: SqlDatabase) => ({ ...reads(db), ...writes(db) })
type ContractStatements = ReturnType<typeof contractStatements>

type ContractReads = Pick<
  ContractStore,
  'listOf' | 'listAll' | 'get' | 'getAny' | 'lock' | 'listTerms' | 'isUsed' | 'listToRemind' | 'listBindingNew'
>

const contractReads = (s: ContractStatements, runner: SqlRunner, clock: Clock): ContractReads => {
  const one = async (row: Promise<ContractRow | undefined>) => {
    const found = await row
    return found === undefined ? undefined : contractOf(found)
  }
  const present = (): number => clock.now().getTime()
  return {
    async listOf(ownerId, selection, page) {
      const now = selection.activeAt?.getTime() ?? present()
      const rows = await filteredPage<ContractRow>(
        runner,
        (k) => selected(k, joinInForce(k('contracts as c').where('c.owner_id', ownerId), now), selection),
        newestFirst,
        page,
      )
      return mapPage(rows, contractOf)
    },
    async listAll(page) {
      return mapPage(
        await filteredPage<ContractRow>(runner, (k) => k('contracts as c'), newestOfAll(present()), page),
        contractOf,
      )
    },
    get: (ownerId, id) => one(runner.first<ContractRow>(s.get, { ownerId, id, now: present() })),
    getAny: (id) => one(runner.first<ContractRow>(s.getAny, { id, now: present() })),
    async lock(ownerId, ids) {
      const found: ContractRow[] = []
      const now = present()
      for (const chunk of chunksOf([...new Set(ids)].sort((a, b) => a - b))) {
        const { statement, binds } = s.lock(chunk)
        found.push(...(await runner.all<ContractRow>(statement, { ...binds, ownerId, now })))
      }
      return found.map(contractOf)
    },
    async listTerms(id) {
      const rows = await runner.all<TermsRow>(s.earlierTerms, { id })
      const newest = await runner.first<TermsRow>(s.newestTerms, { id })
      return (newest === undefined ? rows : [...rows, newest]).map(versionOf).sort((a, b) => a.number - b.number)
    },
    async isUsed(id) {
      return (await runner.all(s.isUsed, { id })).length > 0
    },
    async listToRemind(days, now, endsBefore, limit) {
      const [newestTerms, earlierTerms] = s.toRemind[days]
      const binds = { now: now.getTime(), endsBefore: endsBefore.getTime(), limit }
      const rows = [
        ...(await runner.all<ContractRow>(newestTerms, binds)),
        ...(await runner.all<ContractRow>(earlierTerms, binds)),
      ]
      return rows
        .map(contractOf)
        .sort((a, b) => a.endsAt.getTime() - b.endsAt.getTime() || a.id - b.id)
        .slice(0, limit)
    },
    async listBindingNew(ownerId, now) {
      return (await runner.all<ContractRow>(s.bindingNew, { ownerId, now: now.getTime() })).map(contractOf)
    },
  }
}

type ContractWrites = Omit<ContractStore, keyof ContractReads>

const contractWrites = (
  s: ContractStatements,
  runner: SqlRunner,
  listTerms: ContractStore['listTerms'],
): ContractWrites => ({
  async insert(ownerId, terms, at, by = '') {
    const first: TermsVersion = {
      ...terms,
      number: 1,
      from: new Date(0),
      to: undefined,
      recordedAt: at,
      recordedBy: by,
      supersededAt: undefined,
    }
    const { insertId } = await runner.run(s.insert, {
      ...newestBinds(first),
      ...detailBinds(terms),
      ownerId,
      at: at.getTime(),
    })
    return insertId as ContractId
  },
  async setDetails(id, details, at) {
    await runner.run(s.setDetails, { ...detailBinds(details), id, at: at.getTime() })
  },
  async setTerms(id, timeline, at) {
    const newestOne = timeline.at(-1)
    if (newestOne === undefined) throw new Error('A contract has at least one version of its terms.')
    const kept = new Set(timeline.map(({ number }) => number))
    const superseded = (await listTerms(id))
      .filter(({ number, supersededAt }) => supersededAt === undefined && !kept.has(number))
      .map((each) => ({ ...each, supersededAt: at }))
    await runner.run(s.removeEarlier, { id })
    const earlier = [...timeline.slice(0, -1), ...superseded]
    await s.addEarlier(
      runner,
      earlier.map((each) => ({
        ...newestBinds(each),
        id,
        to: each.to?.getTime() ?? null,
        supersededAt: each.supersededAt?.getTime() ?? null,
      })),
    )
    await runner.run(s.setNewest, { ...newestBinds(newestOne), id, at: at.getTime() })
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
  async markReminded({ id, endsAt }, days, at) {
    await runner.run(s.remindOf, { id, end: endsAt.getTime() })
    return (await runner.run(s.markReminded[days], { id, at: at.getTime() })).affected > 0
  },
})

/** ContractStore over the tables contracts and contract_terms. Statements are composed once, then bound to a runner. */
export const makeSqlContractStore = (db: SqlDatabase, clock: Clock): ((runner: SqlRunner) => ContractStore) => {
  const statements = contractStatements(db)
  return (runner) => {
    const read = contractReads(statements, runner, clock)
    return { ...read, ...contractWrites(statements, runner, read.listTerms) }
  }
}

interface EventRow {
  readonly id: number
  readonly contract_id: number
  readonly event: string
  readonly added_by: string
  readonly created_at: number
  readonly terms_number: number | null
  readonly effective_from: number | null
}

/** ContractEvents over the table contract_events. */
export const makeSqlContractEvents = (db: SqlDatabase): ((runner: SqlRunner) => ContractEvents) => {
  const list = pageQuery(
    db,
    (k, p: Params<'contractId'>) => k('contract_events').where('contract_id', p('contractId')),
    (_, rows, cut) =>
      cut(
        rows
          .select('id', 'contract_id', 'event', 'added_by', 'created_at', 'terms_number', 'effective_from')
          .orderBy('id'),
      ),
  )
  const insert = db.prepare((k, p: Params<'contractId' | 'event' | 'addedBy' | 'at' | 'number' | 'from'>) =>
    k('contract_events').insert({
      contract_id: p('contractId'),
      event: p('event'),
      added_by: p('addedBy'),
      created_at: p('at'),
      terms_number: p('number'),
      effective_from: p('from'),
    }),
  )
  return (runner) => ({
    async record(contractId, event, addedBy, at, terms) {
      await runner.run(insert, {
        contractId,
        event,
        addedBy: addedBy.slice(0, 254),
        at: at.getTime(),
        number: terms?.number ?? null,
        from: terms?.from.getTime() ?? null,
      })
    },
    async listOf(contractId, page) {
      return mapPage(await list<EventRow>(runner, { contractId }, page), (row) => ({
        id: row.id,
        contractId: row.contract_id as ContractId,
        addedBy: row.added_by,
        event: row.event as ContractEventName,
        createdAt: new Date(row.created_at),
        terms:
          row.terms_number === null || row.effective_from === null
            ? undefined
            : { number: row.terms_number, from: new Date(row.effective_from) },
      }))
    },
  })
}

/** DocumentRemovals over the table contract_document_removals. */
export const makeSqlDocumentRemovals = (db: SqlDatabase): ((runner: SqlRunner) => DocumentRemovals) => {
  const insert = insertRows(db, 'contract_document_removals', (p: Params<'ref' | 'dueAt'>) => ({
    ref: p('ref'),
    due_at: p('dueAt'),
  }))
  const cancel = db.prepare((k, p: Params<'ref' | 'now'>) =>
    k('contract_document_removals').where('ref', p('ref')).where('due_at', '>', p('now')).delete(),
  )
  const due = db.prepare((k, p: Params<'now' | 'after' | 'limit'>) =>
    k('contract_document_removals')
      .select('ref')
      .where('due_at', '<=', p('now'))
      .where('ref', '>', p('after'))
      .orderBy('ref')
      .limit(p('limit')),
  )
  const forget = db.prepare((k, p: Params<'ref'>) => k('contract_document_removals').where('ref', p('ref')).delete())
  return (runner) => ({
    plan: (refs, dueAt) =>
      insert(
        runner,
        refs.map((ref) => ({ ref, dueAt: dueAt.getTime() })),
      ),
    async cancel(ref, now) {
      return (await runner.run(cancel, { ref, now: now.getTime() })).affected > 0
    },
    async listDue(now, after, limit) {
      return (await runner.all<{ readonly ref: string }>(due, { now: now.getTime(), after, limit })).map(
        ({ ref }) => ref,
      )
    },
    async forget(ref) {
      await runner.run(forget, { ref })
    },
  })
}
