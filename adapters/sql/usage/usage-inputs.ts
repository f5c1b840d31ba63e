import { distribution } from '../../../core/clusters/hub-types.ts'
import type { ContractId } from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { textAt } from '../../../core/kernel/json.ts'
import type {
  ClusterFacts,
  OwnerFacts,
  ReadWindow,
  ReportedObject,
  UsageInputs,
} from '../../../core/usage/months/ports.ts'
import type {
  BilledContract,
  ClusterMode,
  MonthKey,
  TrialClaim,
  UnixSeconds,
  UsageClusterId,
  UsageKind,
  UsageObjectId,
} from '../../../core/usage/types.ts'
import type { TermsRow } from '../contracts/terms-in-force.ts'
import { newestColumns, versionColumns, versionOf } from '../contracts/terms-in-force.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { KindRow, NamespaceRow, ObjectRow } from './rows.ts'
import { kindColumns, kindOf, objectColumns, objectOf } from './rows.ts'

/**
 * The length of the intervals of a cluster that are kept in memory at most. Those of a larger cluster are looked up for
 * each page of objects.
 */
const mostText = 32 * 1024 * 1024
export interface UsageInputsOptions {
  readonly maxTextLength?: number
  /** On a thread that nothing else waits for. Pages are larger then. */
  readonly isAlone?: boolean
}
/** Above all ids. */
const lastId = Number.MAX_SAFE_INTEGER

interface PackedRow {
  readonly object_id: Num
  readonly packed: string
}

/** As `parseIntervals` reads them: short texts take less time to transfer and to parse. */
const fields = [
  'i.from_at',
  'i.to_at - i.from_at',
  'i.to_at - i.cut_at',
  'i.milli_cpu',
  'i.memory_mib',
  'i.generation',
  'i.replicas',
] as const

/** All intervals of an object as one text: a row for each of them would take several times as long to fetch. */
const packed = (dialect: SqlDatabase['dialect']): string =>
  dialect === 'sqlite'
    ? `group_concat(concat_ws(',', ${fields.join(', ')}), ';')`
    : `group_concat(${fields.join(", ',', ")} separator ';')`

const compose = (db: SqlDatabase, pages: { readonly objects: number; readonly intervals: number }) => {
  const columns = `i.object_id, ${packed(db.dialect)} as packed`
  return {
    kinds: paddedList((length) =>
      db.prepare((k, p: Params<string>) =>
        k('usage_kinds as k')
          .whereIn('k.id', listSlots(p, length))
          .select('k.id', ...kindColumns),
      ),
    ),
    objects: db.prepare((k, p: Params<'clusterId' | 'after' | 'start' | 'limit'>) =>
      k('usage_objects as o')
        .where('o.cluster_id', p('clusterId'))
        .where('o.object_uid', '>', p('after'))
        .where((each) => each.whereNull('o.deleted_at').orWhere('o.deleted_at', '>=', p('start')))
        .select(...objectColumns, 'o.kind_id')
        .orderBy('o.object_uid')
        .limit(p('limit')),
    ),
    // On MariaDB a limit of groups would not do: the server aggregates the whole rest of the cluster first.
    bound: db.prepare((k, p: Params<'month' | 'clusterId' | 'after'>) =>
      k('usage_intervals')
        .where('month', p('month'))
        .where('cluster_id', p('clusterId'))
        .where('object_id', '>', p('after'))
        .select('object_id')
        .orderBy(['object_id', 'from_at'])
        .limit(1)
        .offset(pages.intervals),
    ),
    scan: db.prepare((k, p: Params<'month' | 'clusterId' | 'after' | 'to'>) =>
      k('usage_intervals as i')
        .where('i.month', p('month'))
        .where('i.cluster_id', p('clusterId'))
        .where('i.object_id', '>', p('after'))
        .where('i.object_id', '<=', p('to'))
        .select(k.raw(columns))
        .groupBy('i.object_id'),
    ),
    scanObjects: db.prepare((k, p: Params<'month' | 'clusterId' | 'after' | 'limit'>) =>
      k('usage_intervals as i')
        .where('i.month', p('month'))
        .where('i.cluster_id', p('clusterId'))
        .where('i.object_id', '>', p('after'))
        .select(k.raw(columns))
        .groupBy('i.object_id')
        .orderBy('i.object_id')
        .limit(p('limit')),
    ),
    lookUp: paddedList((length) =>
      db.prepare((k, p: Params<string>) =>
        k('usage_intervals as i')
          .where('i.month', p('month'))
          .where('i.cluster_id', p('clusterId'))
          .whereIn('i.object_id', listSlots(p, length))
          .select(k.raw(columns))
          .groupBy('i.object_id')
          .orderBy('i.object_id'),
      ),
    ),
    plain: db.prepare((k, p: Params<'month' | 'clusterId' | 'objectId'>) =>
      k('usage_intervals as i')
        .where({ 'i.month': p('month'), 'i.cluster_id': p('clusterId'), 'i.object_id': p('objectId') })
        .select(k.raw(`concat_ws(',', ${fields.join(', ')}) as text`))
        .orderBy('i.from_at'),
    ),
    longestText: db.prepare((k) => k.raw('select @@group_concat_max_len as length')),
  }
}

/** UsageInputs over the tables of events. Pages are read outside of a transaction, so that no lock is held. */
export const makeSqlUsageInputs = (
  db: SqlDatabase,
  { maxTextLength = mostText, isAlone = false }: UsageInputsOptions = {},
): UsageInputs => {
  // Objects that are read, and passed on, at once, and the intervals of a page, apart from those of its last object.
  // SQLite works on this thread: a page takes about a millisecond, and the event loop turns after each.
  const pages = isAlone
    ? { objects: 1000, intervals: 20_000 }
    : { objects: 250, intervals: db.dialect === 'sqlite' ? 1000 : 5000 }
  const s = compose(db, pages)
  const factsOf = makeFactsOf(db)
  /** Where the server cuts a text off: 1 MiB on MariaDB, 1 KiB on MySQL unless it is configured. */
  let longest = db.dialect === 'sqlite' ? Number.POSITIVE_INFINITY : undefined
  const longestText = async (): Promise<number> =>
    (longest ??= Number((await db.first<{ readonly length: Num }>(s.longestText, {}))?.length ?? 0))
  const plainText = async (place: Place, objectId: number): Promise<string> => {
    const rows = await db.all<{ readonly text: string }>(s.plain, { ...place, objectId })
    return rows.map(({ text }) => text).join(';')
  }
  const checked = async (place: Place, rows: readonly PackedRow[]): Promise<readonly (readonly [number, string])[]> => {
    const limit = await longestText()
    const texts: (readonly [number, string])[] = []
    for (const { object_id: id, packed: text } of rows)
      texts.push([Number(id), text.length >= limit ? await plainText(place, Number(id)) : text])
    return texts
  }

  /** Yields the intervals of the objects of a cluster in the order of the table, which is the fastest. */
  async function* pagesOf(place: Place): AsyncGenerator<readonly PackedRow[]> {
    if (db.dialect === 'sqlite' && isAlone) {
      for (let after = 0; ;) {
        const rows = await db.all<PackedRow>(s.scanObjects, { ...place, after, limit: pages.objects })
        yield rows
        const last = rows.at(-1)
        if (last === undefined || rows.length < pages.objects) return
        after = Number(last.object_id)
      }
    }
    /** Returns the last object of the page after an object; undefined if that is the last page. */
    const boundAfter = async (after: number): Promise<number | undefined> => {
      const row = await db.first<{ readonly object_id: Num }>(s.bound, { ...place, after })
      return row === undefined ? undefined : Number(row.object_id)
    }
    let after = 0
    for (let bound = await boundAfter(after); ;) {
      const to = bound ?? lastId
      const [rows, next] = await Promise.all([
        db.all<PackedRow>(s.scan, { ...place, after, to }),
        bound === undefined ? undefined : boundAfter(to),
      ])
      yield rows
      if (bound === undefined) return
      after = to
      bound = next
    }
  }

  /** Returns the intervals of all objects of a cluster; undefined if they are too many. */
  const scan = async (place: Place): Promise<ReadonlyMap<number, string> | undefined> => {
    const texts = new Map<number, string>()
    let length = 0
    for await (const rows of pagesOf(place)) {
      for (const [id, text] of await checked(place, rows)) {
        texts.set(id, text)
        length += text.length
      }
      if (length > maxTextLength) return undefined
      await pauseInLongTurn(0)
    }
    return texts
  }

  const lookUp = async (place: Place, ids: readonly number[]): Promise<ReadonlyMap<number, string>> => {
    const texts = new Map<number, string>()
    for (const chunk of chunksOf(ids.toSorted((a, b) => a - b))) {
      const { statement, binds } = s.lookUp(chunk)
      for (const [id, text] of await checked(place, await db.all<PackedRow>(statement, { ...binds, ...place })))
        texts.set(id, text)
      await pauseInLongTurn(0)
    }
    return texts
  }

  /** Completes the kinds that rows have. Of all kinds there may be many: each account reports its own. */
  const readKinds = async (
    kinds: Map<number, UsageKind>,
    rows: readonly { readonly kind_id: Num }[],
  ): Promise<void> => {
    const missing = new Set(rows.map(({ kind_id: id }) => Number(id)).filter((id) => !kinds.has(id)))
    for (const chunk of chunksOf([...missing])) {
      const { statement, binds } = s.kinds(chunk)
      for (const row of await db.all<KindRow & { readonly id: Num }>(statement, binds))
        kinds.set(Number(row.id), kindOf(row))
    }
  }

  return {
    factsOf: (ownerId, window) => factsOf(db, ownerId, window),
    async *objectsOf(clusterId, { month, from }) {
      const kinds = new Map<number, UsageKind>()
      const place = { month, clusterId }
      const texts = await scan(place)
      for (let after = ''; ;) {
        const rows = await db.all<ObjectRow & { readonly kind_id: Num }>(s.objects, {
          clusterId,
          after,
          start: from,
          limit: pages.objects,
        })
        await readKinds(kinds, rows)
        const found =
          texts ??
          (await lookUp(
            place,
            rows.map(({ id }) => Number(id)),
          ))
        const objects = rows.flatMap((row): readonly ReportedObject[] => {
          const intervals = found.get(Number(row.id))
          const kind = kinds.get(Number(row.kind_id))
          return intervals === undefined || kind === undefined ? [] : [{ object: objectOf(row, kind), intervals }]
        })
        await pauseInLongTurn(0)
        if (objects.length > 0) yield objects
        const last = rows.at(-1)
        if (last === undefined || rows.length < pages.objects) return
        after = last.object_uid
      }
    },
  }
}

/** The binds of every read of intervals. */
type Place = { readonly month: MonthKey; readonly clusterId: UsageClusterId }

interface NamedRow {
  readonly uid: string
  readonly display_name: string
}
interface PresenceRow {
  readonly cluster_id: Num
  readonly month: number
  readonly hours: Uint8Array
}
interface ModeRow {
  readonly cluster_id: Num
  readonly at: Num
  readonly event_id: string
  readonly mode: ClusterMode
}
interface ClientNamespaceRow extends Pick<NamespaceRow, 'namespace_uid' | 'namespace' | 'labels'> {
  readonly cluster_id: Num
}
interface OutageRow {
  readonly cluster_uid: string
  readonly from_at: Num
  readonly to_at: Num
}
interface BindingRow {
  readonly contract_id: Num
  readonly cluster_uid: string
  readonly bound_from: Num
  readonly bound_to: Num | null
}

interface NewestRow extends Omit<TermsRow, 'to_at' | 'superseded_at'> {
  readonly name: string
  readonly revoked_at: Num | null
}
interface TrialRow extends KindRow {
  readonly object_id: Num
  readonly cluster_id: Num
  readonly object_uid: string
  readonly namespace: string
  readonly name: string
  readonly created_at: Num
}

const billedContractOf = (row: NewestRow, earlier: readonly TermsRow[]): BilledContract => ({
  id: Number(row.contract_id) as ContractId,
  name: row.name,
  revokedAt: row.revoked_at === null ? undefined : new Date(Number(row.revoked_at)),
  timeline: [...earlier.map(versionOf), versionOf(row)],
})

const trialOf = (row: TrialRow): TrialClaim => ({
  ...kindOf(row),
  objectId: Number(row.object_id) as UsageObjectId,
  clusterId: Number(row.cluster_id) as UsageClusterId,
  uid: row.object_uid,
  namespace: row.namespace,
  name: row.name,
  createdAt: Number(row.created_at) as UnixSeconds,
})

const composeFacts = (db: SqlDatabase) => ({
  clusters: db.prepare((k, p: Params<'ownerId'>) =>
    k('usage_clusters')
      .where('owner_id', p('ownerId'))
      .select('id', 'cluster_uid', 'display_name')
      .orderBy('cluster_uid'),
  ),
  bound: db.prepare((k, p: Params<'ownerId'>) =>
    k('contract_clusters').where('owner_id', p('ownerId')).select('cluster_uid as uid', 'display_name').orderBy('id'),
  ),
  recorded: db.prepare((k, p: Params<'ownerId'>) =>
    k('clusters').where('owner_id', p('ownerId')).select('uid', 'display_name').orderBy('id'),
  ),
  presence: db.prepare((k, p: Params<'ownerId' | 'first' | 'last'>) =>
    k('usage_clusters as c')
      .join('usage_presence as e', 'e.cluster_id', 'c.id')
      .where('c.owner_id', p('ownerId'))
      .whereBetween('e.month', [p('first'), p('last')])
      .select('e.cluster_id', 'e.month', 'e.hours')
      .orderBy(['e.cluster_id', 'e.month']),
  ),
  modes: db.prepare((k, p: Params<'ownerId' | 'end'>) =>
    k('usage_clusters as c')
      .join('usage_modes as m', 'm.cluster_id', 'c.id')
      .where('c.owner_id', p('ownerId'))
      .where('m.at', '<', p('end'))
      .select('m.cluster_id', 'm.at', 'm.event_id', 'm.mode')
      .orderBy(['m.cluster_id', 'm.at', 'm.event_id']),
  ),
  // As labels are stored: JSON without spaces.
  clientNamespaces: db.prepare((k, p: Params<'ownerId' | 'label'>) =>
    k('usage_clusters as c')
      .join('usage_namespaces as n', 'n.cluster_id', 'c.id')
      .where('c.owner_id', p('ownerId'))
      .where('n.labels', 'like', p('label'))
      .select('n.cluster_id', 'n.namespace_uid', 'n.namespace', 'n.labels')
      .orderBy(['n.cluster_id', 'n.namespace_uid']),
  ),
  outages: db.prepare((k, p: Params<'ownerId' | 'from'>) =>
    k('usage_outages')
      .where('to_at', '>', p('from'))
      .where((each) => each.whereNull('owner_id').orWhere('owner_id', p('ownerId')))
      .select('cluster_uid', 'from_at', 'to_at')
      .orderBy('id'),
  ),
  bindings: db.prepare((k, p: Params<'ownerId' | 'endMs'>) =>
    k('contracts as c')
      .join('contract_cluster_intervals as i', 'i.contract_id', 'c.id')
      .where('c.owner_id', p('ownerId'))
      .where('i.bound_from', '<', p('endMs'))
      .select('i.contract_id', 'i.cluster_uid', 'i.bound_from', 'i.bound_to')
      .orderBy('i.id'),
  ),
  contracts: db.prepare((k, p: Params<'ownerId'>) =>
    k('contracts as c')
      .where('c.owner_id', p('ownerId'))
      .select(...newestColumns, 'c.name', 'c.revoked_at')
      .orderBy('c.id'),
  ),
  earlierTerms: db.prepare((k, p: Params<'ownerId'>) =>
    k('contracts as c')
      .join('contract_terms as v', 'v.contract_id', 'c.id')
      .where('c.owner_id', p('ownerId'))
      .whereNull('v.superseded_at')
      .select(...versionColumns)
      .orderBy(['c.id', 'v.from_at']),
  ),
  trialClaims: db.prepare((k, p: Params<'ownerId' | 'end'>) =>
    k('usage_clusters as c')
      .join('usage_trials as t', 't.cluster_id', 'c.id')
      .join('usage_kinds as k', 'k.id', 't.kind_id')
      .where('c.owner_id', p('ownerId'))
      .where('t.created_at', '<', p('end'))
      .select('t.object_id', 't.cluster_id', 't.object_uid', 't.namespace', 't.name', 't.created_at', ...kindColumns),
  ),
})

/**
 * Returns the function that reads what divides the time of the clusters of an owner: eleven statements, however many
 * clusters there are.
 */
const makeFactsOf = (
  db: SqlDatabase,
): ((runner: SqlRunner, ownerId: AccountId, window: ReadWindow) => Promise<OwnerFacts>) => {
  const s = composeFacts(db)
  return async (runner, ownerId, { firstPresence, lastPresence, to, outagesFrom }) => {
    const binds = { ownerId, first: firstPresence, last: lastPresence, end: to, endMs: to * 1000, from: outagesFrom }
    const names = new Map<string, string>()
    for (const { uid, display_name: name } of await runner.all<NamedRow>(s.bound, binds)) names.set(uid, name)
    for (const { uid, display_name: name } of await runner.all<NamedRow>(s.recorded, binds)) names.set(uid, name)
    const presence = Map.groupBy(await runner.all<PresenceRow>(s.presence, binds), (row) => Number(row.cluster_id))
    const modes = Map.groupBy(await runner.all<ModeRow>(s.modes, binds), (row) => Number(row.cluster_id))
    const namespaces = Map.groupBy(
      await runner.all<ClientNamespaceRow>(s.clientNamespaces, {
        ownerId,
        label: `%"${distribution.clientOrgLabel}":%`,
      }),
      (row) => Number(row.cluster_id),
    )
    const outages = await runner.all<OutageRow>(s.outages, binds)
    const bindings = Map.groupBy(await runner.all<BindingRow>(s.bindings, binds), (row) => row.cluster_uid)
    const earlier = Map.groupBy(await runner.all<TermsRow>(s.earlierTerms, binds), (row) => Number(row.contract_id))
    const contracts = (await runner.all<NewestRow>(s.contracts, binds)).map((row) =>
      billedContractOf(row, earlier.get(Number(row.contract_id)) ?? []),
    )
    const trialClaims = (await runner.all<TrialRow>(s.trialClaims, binds)).map(trialOf)
    const clusters = (
      await runner.all<{ readonly id: Num; readonly cluster_uid: string; readonly display_name: string }>(
        s.clusters,
        binds,
      )
    ).map(({ id, cluster_uid: uid, display_name: kept }): ClusterFacts => ({
      id: Number(id) as UsageClusterId,
      uid,
      displayName: names.get(uid) ?? (kept === '' ? uid : kept),
      presence: (presence.get(Number(id)) ?? []).map((row) => ({ month: row.month as MonthKey, bits: row.hours })),
      outages: outages.filter((row) => row.cluster_uid === '' || row.cluster_uid === uid).map(spanOf),
      modeChanges: (modes.get(Number(id)) ?? []).map(modeOf),
      bindings: (bindings.get(uid) ?? []).map(bindingOf),
      clientNamespaces: (namespaces.get(Number(id)) ?? [])
        .filter(isOfClient)
        .map(({ namespace_uid: namespaceUid, namespace: clientOrg }) => ({ namespaceUid, clientOrg })),
    }))
    return { clusters, contracts, trialClaims }
  }
}

/** A namespace that is being deleted remains one of the client organization. */
const isOfClient = ({ labels }: ClientNamespaceRow): boolean =>
  ['true', 'terminating'].includes(textAt(JSON.parse(labels), distribution.clientOrgLabel))

const spanOf = ({ from_at: from, to_at: to }: OutageRow): ClusterFacts['outages'][number] => ({
  from: Number(from) as UnixSeconds,
  to: Number(to) as UnixSeconds,
})

const modeOf = ({ at, event_id: eventId, mode }: ModeRow): ClusterFacts['modeChanges'][number] => ({
  at: Number(at) as UnixSeconds,
  eventId,
  mode,
})

const bindingOf = (row: BindingRow): ClusterFacts['bindings'][number] => ({
  contractId: Number(row.contract_id),
  clusterUid: row.cluster_uid,
  boundFrom: new Date(Number(row.bound_from)),
  boundTo: row.bound_to === null ? undefined : new Date(Number(row.bound_to)),
})
