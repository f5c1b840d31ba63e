import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReportedObject, UsageInputs } from '../../../core/usage/months/ports.ts'
import type { MonthKey, UnixSeconds, UsageClusterId, UsageKind, UsageObjectId } from '../../../core/usage/types.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import type { Num, Params, SqlDatabase } from '../kit/statement.ts'
import { makeFactsOf } from './usage-facts.ts'

/** The length of the intervals of a cluster that are kept in memory at most. Those of a larger cluster are looked up for each page of objects. */
const mostText = 32 * 1024 * 1024
/** Objects that are read, and passed on, at once. */
const objectPage = 250
/** The intervals that a page of them has, apart from those of its last object. SQLite works on this thread: a page takes about a millisecond. */
const pageIntervals = { sqlite: 1000, mysql: 5000 } as const
/** Above all ids. */
const lastId = Number.MAX_SAFE_INTEGER

interface KindRow extends UsageKind {
  readonly id: Num
}
interface ObjectRow {
  readonly id: Num
  readonly object_uid: string
  readonly kind_id: Num
  readonly namespace: string
  readonly namespace_uid: string
  readonly name: string
  readonly created_at: Num
  readonly deleted_at: Num | null
  readonly trial_ends_at: Num | null
}
interface PackedRow {
  readonly object_id: Num
  readonly packed: string
}

const fields = ['from_at', 'to_at', 'cut_at', 'milli_cpu', 'memory_mib', 'generation', 'replicas'] as const

/** All intervals of an object as one text: a row for each of them would take several times as long to fetch. */
const packed = (dialect: SqlDatabase['dialect']): string =>
  dialect === 'sqlite' ? `group_concat(${fields.map((field) => `i.${field}`).join(" || ',' || ")}, ';')` : `group_concat(${fields.map((field) => `i.${field}`).join(", ',', ")} separator ';')`

const compose = (db: SqlDatabase) => {
  const columns = `i.object_id, ${packed(db.dialect)} as packed`
  return {
    kinds: db.prepare((k) => k('usage_kinds').select('id', 'product', 'api_group as group', 'kind').orderBy('id')),
    objects: db.prepare((k, p: Params<'clusterId' | 'after' | 'start' | 'limit'>) =>
      k('usage_objects').where('cluster_id', p('clusterId')).where('object_uid', '>', p('after')).where((each) => each.whereNull('deleted_at').orWhere('deleted_at', '>=', p('start')))
        .select('id', 'object_uid', 'kind_id', 'namespace', 'namespace_uid', 'name', 'created_at', 'deleted_at', 'trial_ends_at').orderBy('object_uid').limit(p('limit')),
    ),
    // A limit of groups would not do: the server aggregates the whole rest of the cluster first.
    bound: db.prepare((k, p: Params<'month' | 'clusterId' | 'after'>) =>
      k('usage_intervals').where('month', p('month')).where('cluster_id', p('clusterId')).where('object_id', '>', p('after'))
        .select('object_id').orderBy(['object_id', 'from_at']).limit(1).offset(pageIntervals[db.dialect]),
    ),
    scan: db.prepare((k, p: Params<'month' | 'clusterId' | 'after' | 'to'>) =>
      k('usage_intervals as i').where('i.month', p('month')).where('i.cluster_id', p('clusterId')).where('i.object_id', '>', p('after')).where('i.object_id', '<=', p('to'))
        .select(k.raw(columns)).groupBy('i.object_id'),
    ),
    lookUp: paddedList((length) =>
      db.prepare((k, p: Params<string>) =>
        k('usage_intervals as i').where('i.month', p('month')).where('i.cluster_id', p('clusterId')).whereIn('i.object_id', listSlots(p, length))
          .select(k.raw(columns)).groupBy('i.object_id').orderBy('i.object_id'),
      ),
    ),
    plain: db.prepare((k, p: Params<'month' | 'clusterId' | 'objectId'>) =>
      k('usage_intervals as i').where({ 'i.month': p('month'), 'i.cluster_id': p('clusterId'), 'i.object_id': p('objectId') }).select(fields.map((field) => `i.${field}`)).orderBy('i.from_at'),
    ),
    longestText: db.prepare((k) => k.raw('select @@group_concat_max_len as length')),
  }
}

/** UsageInputs over the tables of events. Pages are read outside of a transaction, so that no lock is held. */
export const makeSqlUsageInputs = (db: SqlDatabase, maxTextLength = mostText): UsageInputs => {
  const s = compose(db)
  const factsOf = makeFactsOf(db)
  /** Where the server cuts a text off: 1 MiB on MariaDB, 1 KiB on MySQL unless it is configured. */
  let longest: Promise<number> | undefined
  const longestText = (): Promise<number> =>
    (longest ??= db.dialect === 'sqlite' ? Promise.resolve(Number.POSITIVE_INFINITY) : db.first<{ readonly length: Num }>(s.longestText, {}).then((row) => Number(row?.length ?? 0)))
  const breathe = async (): Promise<void> => {
    if (db.dialect === 'sqlite') await nextTurn()
  }
  const plainText = async (place: Place, objectId: number): Promise<string> => {
    const rows = await db.all<Record<(typeof fields)[number], Num>>(s.plain, { ...place, objectId })
    return rows.map((row) => fields.map((field) => row[field]).join(',')).join(';')
  }
  const checked = async (place: Place, rows: readonly PackedRow[]): Promise<readonly (readonly [number, string])[]> => {
    const limit = await longestText()
    const texts: (readonly [number, string])[] = []
    for (const { object_id: id, packed: text } of rows) texts.push([Number(id), text.length >= limit ? await plainText(place, Number(id)) : text])
    return texts
  }

  /** Returns the intervals of all objects of a cluster in the order of the table, which is the fastest; undefined if they are too many. */
  const scan = async (place: Place): Promise<ReadonlyMap<number, string> | undefined> => {
    const texts = new Map<number, string>()
    /** Returns the last object of the page after an object; undefined if that is the last page. */
    const boundAfter = async (after: number): Promise<number | undefined> => {
      const row = await db.first<{ readonly object_id: Num }>(s.bound, { ...place, after })
      return row === undefined ? undefined : Number(row.object_id)
    }
    let length = 0
    let after = 0
    let bound = await boundAfter(after)
    for (;;) {
      const to = bound ?? lastId
      const [rows, next] = await Promise.all([db.all<PackedRow>(s.scan, { ...place, after, to }), bound === undefined ? undefined : boundAfter(to)])
      for (const [id, text] of await checked(place, rows)) {
        texts.set(id, text)
        length += text.length
      }
      if (length > maxTextLength) return undefined
      if (bound === undefined) return texts
      await breathe()
      after = to
      bound = next
    }
  }

  const lookUp = async (place: Place, ids: readonly number[]): Promise<ReadonlyMap<number, string>> => {
    const texts = new Map<number, string>()
    for (const chunk of chunksOf(ids.toSorted((a, b) => a - b))) {
      const { statement, binds } = s.lookUp(chunk)
      for (const [id, text] of await checked(place, await db.all<PackedRow>(statement, { ...binds, ...place }))) texts.set(id, text)
      await breathe()
    }
    return texts
  }

  return {
    factsOf: (ownerId, window) => factsOf(db, ownerId, window),
    async *objectsOf(clusterId, { month, from }) {
      const kinds = new Map((await db.all<KindRow>(s.kinds, {})).map((row) => [Number(row.id), row]))
      const place = { month, clusterId }
      const texts = await scan(place)
      for (let after = ''; ;) {
        const rows = await db.all<ObjectRow>(s.objects, { clusterId, after, start: from, limit: objectPage })
        const found = texts ?? (await lookUp(place, rows.map(({ id }) => Number(id))))
        const objects = rows.flatMap((row): readonly ReportedObject[] => {
          const intervals = found.get(Number(row.id))
          const kind = kinds.get(Number(row.kind_id))
          return intervals === undefined || kind === undefined ? [] : [{ object: objectOf(row, clusterId, kind), intervals }]
        })
        await breathe()
        if (objects.length > 0) yield objects
        const last = rows.at(-1)
        if (last === undefined || rows.length < objectPage) return
        after = last.object_uid
      }
    },
  }
}

/** The binds of every read of intervals. */
type Place = { readonly month: MonthKey; readonly clusterId: UsageClusterId }

const second = (at: Num | null): UnixSeconds | undefined => (at === null ? undefined : (Number(at) as UnixSeconds))

const objectOf = (row: ObjectRow, clusterId: UsageClusterId, { product, group, kind }: UsageKind): ReportedObject['object'] => ({
  id: Number(row.id) as UsageObjectId,
  clusterId,
  uid: row.object_uid,
  product,
  group,
  kind,
  namespace: row.namespace,
  namespaceUid: row.namespace_uid,
  name: row.name,
  createdAt: Number(row.created_at) as UnixSeconds,
  deletedAt: second(row.deleted_at),
  trialEndsAt: second(row.trial_ends_at),
})
