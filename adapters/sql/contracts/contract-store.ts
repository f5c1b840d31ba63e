import type { Knex } from 'knex'
import type {
  ContractEvents,
  ContractSelection,
  ContractStore,
  DocumentRemovals,
} from '../../../core/contracts/ports.ts'
import type { Contract, TermsVersion } from '../../../core/contracts/types.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Row } from '../kit/columns.ts'
import { columnsOf, cutTo, instant, int, long, pick, selectedAs, without } from '../kit/columns.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Shown } from '../kit/page-query.ts'
import { filteredRows, typedPage } from '../kit/page-query.ts'
import type { Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, fixedSlots, insertAllInto, insertInto, values } from '../kit/values.ts'
import { contractDocumentRemovals, contractEvents, contracts, contractTerms } from '../tables/contracts.ts'
import { contractOf, contractRow } from './rows.ts'
import {
  activeAt,
  datedFields,
  inForce,
  joinInForce,
  newestRow,
  newestVersionOf,
  versionRow,
} from './terms-in-force.ts'

/** Joins contracts `c` with their owners. */
const joinOwner = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'c.owner_id')

/** Joins contracts `c` with their owners and with the terms in force at an instant, for `contractRow`. */
export const withOwner = (rows: Knex.QueryBuilder, now: Slot<'integer'>): Knex.QueryBuilder =>
  joinOwner(joinInForce(rows, now))

const newest = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.orderBy([
    { column: 'c.starts_at', order: 'desc' },
    { column: 'c.id', order: 'desc' },
  ])

const newestFirst: Shown = (_, rows, cut) => cut(newest(joinOwner(rows)))

/** Returns an instant as a place of a parameter, for a query that is composed at run time. */
const instantSlot = (at: Date): Slot<'integer'> => fixedSlots({ at: instant() }, { at }).at

/** The ids of the page come from an index alone: otherwise MariaDB reads and sorts all contracts. */
const newestOfAll =
  (now: Date): Shown =>
  (k, rows, cut) =>
    withOwner(
      k.from(cut(newest(rows.select('c.id', 'c.starts_at'))).as('p')).join('contracts as c', 'c.id', 'p.id'),
      instantSlot(now),
    ).orderBy([
      { column: 'p.starts_at', order: 'desc' },
      { column: 'p.id', order: 'desc' },
    ])

const narrowed = (k: Knex, rows: Knex.QueryBuilder, selection: ContractSelection): Knex.QueryBuilder => {
  if (selection.activeAt !== undefined) activeAt(rows, instantSlot(selection.activeAt))
  if (selection.allowsOffline === true) rows.whereRaw(`${inForce('allowsOffline')} = 1`)
  const { cluster } = selection
  if (cluster === undefined) return rows
  const bound = k('contract_clusters as b')
    .select(k.raw('1'))
    .whereRaw('b.contract_id = c.id')
    .where('b.cluster_uid', cluster.uid)
  return cluster.bound === 'with' ? rows.whereExists(bound) : rows.whereNotExists(bound)
}

/** By an index on the end that is in force: of the newest version, or of the one before versions that are planned. */
const toRemind = (db: SqlDatabase, days: 45 | 10) => {
  const list = (end: 'c.ends_at' | 'v.ends_at') =>
    db.prepare({ now: instant(), endsBefore: instant(), limit: int() }, contractRow, (k, p) =>
      activeAt(withOwner(k('contracts as c'), p.now), p.now)
        .where(end, '<', p.endsBefore)
        .where('c.terms_from', end === 'c.ends_at' ? '<=' : '>', p.now)
        .where((each) =>
          each
            .whereNull(`c.reminded_${days}_at`)
            .orWhereNull('c.reminded_ends_at')
            .orWhereRaw(`c.reminded_ends_at <> ${inForce('endsAt')}`),
        )
        .orderBy([end, 'c.id'])
        .limit(p.limit),
    )
  return [list('c.ends_at'), list('v.ends_at')] as const
}

const markReminded = (db: SqlDatabase, days: 45 | 10) =>
  db.prepare({ id: contracts.id, at: instant() }, (k, p) =>
    k('contracts')
      .where('id', p.id)
      .whereNull(`reminded_${days}_at`)
      .update(values(contracts, days === 45 ? { remindedFirstAt: p.at } : { remindedLastAt: p.at })),
  )

const now = { now: instant() }

/** By an index on the end of the newest version. */
const ending = (k: Knex, at: Slot<'integer'>): Knex.QueryBuilder =>
  k('contracts').where('ends_at', '>', at).whereNull('revoked_at')

const reads = (db: SqlDatabase) => ({
  get: db.prepare({ ...pick(contracts, 'ownerId', 'id'), ...now }, contractRow, (k, p) =>
    withOwner(k('contracts as c'), p.now).where('c.id', p.id).where('c.owner_id', p.ownerId),
  ),
  getAny: db.prepare({ ...pick(contracts, 'id'), ...now }, contractRow, (k, p) =>
    withOwner(k('contracts as c'), p.now).where('c.id', p.id),
  ),
  lock: idList(db, contracts.id, { ...pick(contracts, 'ownerId'), ...now }, contractRow, (k, p, ids) =>
    withOwner(k('contracts as c'), p.now)
      .where('c.owner_id', p.ownerId)
      .whereIn('c.id', ids)
      .orderBy('c.id')
      .forUpdate('c'),
  ),
  bindingNew: db.prepare({ ...pick(contracts, 'ownerId'), ...now }, contractRow, (k, p) =>
    activeAt(withOwner(k('contracts as c'), p.now), p.now)
      .where('c.owner_id', p.ownerId)
      .where('c.binds_new_clusters', 1)
      .orderBy('c.id')
      .limit(1000),
  ),
  earlierTerms: db.prepare({ id: contractTerms.contractId }, versionRow, (k, p) =>
    k('contract_terms as v').where('v.contract_id', p.id),
  ),
  newestTerms: db.prepare(pick(contracts, 'id'), newestRow, (k, p) => k('contracts as c').where('c.id', p.id)),
  isUsed: db.prepare(pick(contracts, 'id'), { used: selectedAs(long()) }, (k, p) =>
    k('contract_cluster_intervals')
      .where('contract_id', p.id)
      .select(k.raw('1 as used'))
      .union(k('licenses').where('contract_id', p.id).select(k.raw('1 as used'))),
  ),
  nextEnd: db.prepare(now, pick(contracts, 'endsAt'), (k, p) => ending(k, p.now).orderBy('ends_at').limit(1)),
  countEnding: db.prepare({ ...now, endsBefore: instant() }, { count: selectedAs(long()) }, (k, p) =>
    ending(k, p.now).where('ends_at', '<', p.endsBefore).count({ count: '*' }),
  ),
  toRemind: { 45: toRemind(db, 45), 10: toRemind(db, 10) },
})

/** The newest version of the terms, in the row of its contract. */
const newestTerms = pick(contracts, ...datedFields, 'termsNumber', 'termsFrom', 'termsRecordedAt', 'termsRecordedBy')
const newestBinds = (version: TermsVersion) => ({
  ...version,
  termsNumber: version.number,
  termsFrom: version.from,
  termsRecordedAt: version.recordedAt,
  termsRecordedBy: cutTo(contracts.termsRecordedBy, version.recordedBy),
})

/** What a new contract does not have. */
const laterFields = [
  'documentRef',
  'documentName',
  'documentType',
  'documentSize',
  'revokedAt',
  'remindedFirstAt',
  'remindedLastAt',
  'remindedEndsAt',
] as const
/** The details. A new column of `contracts` belongs to them. */
const details = without(
  contracts,
  ...datedFields,
  ...laterFields,
  'id',
  'ownerId',
  'createdAt',
  'updatedAt',
  'version',
  'termsNumber',
  'termsFrom',
  'termsRecordedAt',
  'termsRecordedBy',
)
const document = pick(contracts, 'documentRef', 'documentName', 'documentType', 'documentSize')

/** Sets columns of a contract, when it was changed, and its next version. */
const changeOf = <C extends Partial<typeof contracts>>(db: SqlDatabase, columns: C) =>
  db.prepare({ ...columns, ...pick(contracts, 'id', 'updatedAt') }, (k, p) =>
    k('contracts')
      .where('id', p.id)
      .update({ ...assigned({ ...columns, ...pick(contracts, 'updatedAt') }, p), version: nextVersion(k) }),
  )

const nextVersion = (k: Knex): Knex.Raw => k.raw('?? + 1', ['version'])

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, contracts, {
    omitted: ['id', ...laterFields],
    fixed: { version: 1 },
  }),
  setDetails: changeOf(db, details),
  setNewest: changeOf(db, newestTerms),
  setDocument: changeOf(db, document),
  removeEarlier: db.prepare({ id: contractTerms.contractId }, (k, p) =>
    k('contract_terms').where('contract_id', p.id).whereNull('superseded_at').delete(),
  ),
  addEarlier: insertAllInto(db, contractTerms, { omitted: ['id'] }),
  revoke: db.prepare({ id: contracts.id, at: instant() }, (k, p) =>
    k('contracts')
      .where('id', p.id)
      .whereNull('revoked_at')
      .update(values(contracts, { revokedAt: p.at, updatedAt: p.at, version: nextVersion(k) })),
  ),
  remove: db.prepare(pick(contracts, 'id'), (k, p) => k('contracts').where('id', p.id).delete()),
  remindOf: db.prepare({ id: contracts.id, end: instant() }, (k, p) =>
    k('contracts')
      .where('id', p.id)
      .where((each) => each.whereNull('reminded_ends_at').orWhere('reminded_ends_at', '<>', p.end))
      .update(values(contracts, { remindedFirstAt: null, remindedLastAt: null, remindedEndsAt: p.end })),
  ),
  markReminded: { 45: markReminded(db, 45), 10: markReminded(db, 10) },
})

/** Every statement on contracts, composed once. */
const contractStatements = (db: SqlDatabase) => ({ ...reads(db), ...writes(db) })
type ContractStatements = ReturnType<typeof contractStatements>

type ContractReads = Pick<
  ContractStore,
  | 'listOf'
  | 'listAll'
  | 'get'
  | 'getAny'
  | 'lock'
  | 'listTerms'
  | 'isUsed'
  | 'listToRemind'
  | 'nextEnds'
  | 'listBindingNew'
>

const contractReads = (s: ContractStatements, runner: SqlRunner, clock: Clock): ContractReads => {
  const one = async (row: Promise<Row<typeof contractRow> | undefined>): Promise<Contract | undefined> => {
    const found = await row
    return found === undefined ? undefined : contractOf(found)
  }
  return {
    async listOf(ownerId, selection, page) {
      const at = instantSlot(selection.activeAt ?? clock.now())
      const rows = await filteredRows(
        runner,
        contractRow,
        (k) => narrowed(k, joinInForce(k('contracts as c').where('c.owner_id', ownerId), at), selection),
        newestFirst,
        page,
      )
      return mapPage(rows, contractOf)
    },
    async listAll(page) {
      const shown = newestOfAll(clock.now())
      return mapPage(await filteredRows(runner, contractRow, (k) => k('contracts as c'), shown, page), contractOf)
    },
    get: (ownerId, id) => one(runner.first(s.get, { ownerId, id, now: clock.now() })),
    getAny: (id) => one(runner.first(s.getAny, { id, now: clock.now() })),
    async lock(ownerId, ids) {
      const ascending = [...new Set(ids)].sort((a, b) => a - b)
      return (await rowsOfIds(runner, s.lock, ascending, { ownerId, now: clock.now() })).map(contractOf)
    },
    async listTerms(id) {
      const rows = await runner.all(s.earlierTerms, { id })
      const newestOne = await runner.first(s.newestTerms, { id })
      return (newestOne === undefined ? rows : [...rows, newestVersionOf(newestOne)]).sort(
        (a, b) => a.number - b.number,
      )
    },
    async isUsed(id) {
      return (await runner.all(s.isUsed, { id })).length > 0
    },
    async listToRemind(days, at, endsBefore, limit) {
      const [ofNewest, ofEarlier] = s.toRemind[days]
      const binds = { now: at, endsBefore, limit }
      return [...(await runner.all(ofNewest, binds)), ...(await runner.all(ofEarlier, binds))]
        .map(contractOf)
        .sort((a, b) => a.endsAt.getTime() - b.endsAt.getTime() || a.id - b.id)
        .slice(0, limit)
    },
    async nextEnds(at, endsBefore) {
      const first = await runner.first(s.nextEnd, { now: at })
      const ending = await runner.first(s.countEnding, { now: at, endsBefore })
      return { first: first?.endsAt, count: ending?.count ?? 0 }
    },
    async listBindingNew(ownerId, at) {
      return (await runner.all(s.bindingNew, { ownerId, now: at })).map(contractOf)
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
    const row = { ...terms, ...newestBinds(first), ownerId, createdAt: at, updatedAt: at }
    return (await runner.run(s.insert, row)).insertId as Contract['id']
  },
  async setDetails(id, changed, at) {
    await runner.run(s.setDetails, { ...changed, id, updatedAt: at })
  },
  async setTerms(id, timeline, at) {
    const newestOne = timeline.at(-1)
    if (newestOne === undefined) throw new Error('A contract has at least one version of its terms.')
    const kept = new Set(timeline.map(({ number }) => number))
    const superseded = (await listTerms(id))
      .filter(({ number, supersededAt }) => supersededAt === undefined && !kept.has(number))
      .map((each) => ({ ...each, supersededAt: at }))
    await runner.run(s.removeEarlier, { id })
    await s.addEarlier(
      runner,
      [...timeline.slice(0, -1), ...superseded].map((each) => ({
        ...each,
        contractId: id,
        recordedBy: cutTo(contractTerms.recordedBy, each.recordedBy),
      })),
    )
    await runner.run(s.setNewest, { ...newestBinds(newestOne), id, updatedAt: at })
  },
  async setDocument(id, stored, at) {
    const { ref = '', fileName = '', mediaType = '', size = 0 } = stored ?? {}
    await runner.run(s.setDocument, {
      id,
      updatedAt: at,
      documentRef: ref,
      documentName: fileName,
      documentType: mediaType,
      documentSize: size,
    })
  },
  async revoke(id, at) {
    await runner.run(s.revoke, { id, at })
  },
  async remove(id) {
    // Foreign keys delete bindings and history with the row.
    await runner.run(s.remove, { id })
  },
  async markReminded({ id, endsAt }, days, at) {
    await runner.run(s.remindOf, { id, end: endsAt })
    return (await runner.run(s.markReminded[days], { id, at })).affected > 0
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

/** ContractEvents over the table contract_events. */
export const makeSqlContractEvents = (db: SqlDatabase): ((runner: SqlRunner) => ContractEvents) => {
  const list = typedPage(
    db,
    pick(contractEvents, 'contractId'),
    columnsOf(contractEvents),
    (k, p) => k('contract_events').where('contract_id', p.contractId),
    (_, rows, cut) => cut(rows.orderBy('id')),
  )
  const insert = insertInto(db, contractEvents, { omitted: ['id'] })
  return (runner) => ({
    async record(contractId, event, addedBy, at, terms) {
      await runner.run(insert, {
        contractId,
        event,
        addedBy: cutTo(contractEvents.addedBy, addedBy),
        createdAt: at,
        termsNumber: terms?.number,
        effectiveFrom: terms?.from,
      })
    },
    async listOf(contractId, page) {
      return mapPage(
        await list(runner, { contractId }, page),
        ({ termsNumber: number, effectiveFrom: from, ...row }) => ({
          ...row,
          terms: number === undefined || from === undefined ? undefined : { number, from },
        }),
      )
    },
  })
}

/** DocumentRemovals over the table contract_document_removals. */
export const makeSqlDocumentRemovals = (db: SqlDatabase): ((runner: SqlRunner) => DocumentRemovals) => {
  const { ref } = contractDocumentRemovals
  const insert = insertAllInto(db, contractDocumentRemovals, { omitted: ['id'] })
  const cancel = db.prepare({ ref, now: instant() }, (k, p) =>
    k('contract_document_removals').where('ref', p.ref).where('due_at', '>', p.now).delete(),
  )
  const due = db.prepare({ now: instant(), after: ref, limit: int() }, { ref }, (k, p) =>
    k('contract_document_removals')
      .where('due_at', '<=', p.now)
      .where('ref', '>', p.after)
      .orderBy('ref')
      .limit(p.limit),
  )
  const forget = db.prepare({ ref }, (k, p) => k('contract_document_removals').where('ref', p.ref).delete())
  return (runner) => ({
    plan: (refs, dueAt) =>
      insert(
        runner,
        refs.map((each) => ({ ref: each, dueAt })),
      ),
    async cancel(each, at) {
      return (await runner.run(cancel, { ref: each, now: at })).affected > 0
    },
    async listDue(at, after, limit) {
      return (await runner.all(due, { now: at, after, limit })).map((row) => row.ref)
    },
    async forget(each) {
      await runner.run(forget, { ref: each })
    },
  })
}
