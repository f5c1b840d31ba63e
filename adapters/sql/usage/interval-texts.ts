import type { Knex } from 'knex'
import type { MonthKey, UsageClusterId } from '../../../core/usage/types.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, int, long, longText, pick, selectedAs } from '../kit/columns.ts'
import { longestList } from '../kit/fragments.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Slots, SqlDatabase } from '../kit/statement.ts'
import { usageIntervals } from '../tables/usage.ts'

/** Above all ids. */
const lastId = Number.MAX_SAFE_INTEGER

/** As `intervalText` writes them. */
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

const placeParams = pick(usageIntervals, 'month', 'clusterId')
const { objectId } = usageIntervals

const packedRow = (dialect: SqlDatabase['dialect']) => ({
  objectId: aliased(usageIntervals, 'i').objectId,
  packed: computed(longText(), packed(dialect)),
})
type PackedRow = Row<ReturnType<typeof packedRow>>

const ofPlace = (k: Knex, p: Slots<typeof placeParams>): Knex.QueryBuilder =>
  k('usage_intervals as i').where('i.month', p.month).where('i.cluster_id', p.clusterId)

const compose = (db: SqlDatabase, pageIntervals: number) => {
  const row = packedRow(db.dialect)
  return {
    // On MariaDB a limit of groups would not do: the server aggregates the whole rest of the cluster first.
    bound: db.prepare({ ...placeParams, after: long() }, { objectId }, (k, p) =>
      k('usage_intervals')
        .where('month', p.month)
        .where('cluster_id', p.clusterId)
        .where('object_id', '>', p.after)
        .orderBy(['object_id', 'from_at'])
        .limit(1)
        .offset(pageIntervals),
    ),
    scan: db.prepare({ ...placeParams, after: long(), to: long() }, row, (k, p) =>
      ofPlace(k, p).where('i.object_id', '>', p.after).where('i.object_id', '<=', p.to).groupBy('i.object_id'),
    ),
    scanObjects: db.prepare({ ...placeParams, after: long(), limit: int() }, row, (k, p) =>
      ofPlace(k, p).where('i.object_id', '>', p.after).groupBy('i.object_id').orderBy('i.object_id').limit(p.limit),
    ),
    lookUp: idList(db, objectId, placeParams, row, (k, p, ids) =>
      ofPlace(k, p).whereIn('i.object_id', ids).groupBy('i.object_id').orderBy('i.object_id'),
    ),
    plain: db.prepare(
      { ...placeParams, objectId },
      { text: computed(longText(), `concat_ws(',', ${fields.join(', ')})`) },
      (k, p) => ofPlace(k, p).where('i.object_id', p.objectId).orderBy('i.from_at'),
    ),
    longestText: db.prepare({}, { length: selectedAs(long()) }, (k) =>
      k.raw('select @@group_concat_max_len as length'),
    ),
  }
}

/** The month of a cluster. */
interface IntervalPlace {
  readonly month: MonthKey
  readonly clusterId: UsageClusterId
}

/** The intervals of objects, each object's as one text, which `parseIntervals` reads. */
interface IntervalTexts {
  /** Returns those of all objects of a cluster; undefined if the texts are longer than `maxLength` together. */
  scan(place: IntervalPlace, maxLength: number): Promise<ReadonlyMap<number, string> | undefined>
  /** Returns those of these objects, which must differ. */
  lookUp(place: IntervalPlace, ids: readonly PackedRow['objectId'][]): Promise<ReadonlyMap<number, string>>
}

/** How much is read at once: objects, and intervals apart from those of the last object. */
interface IntervalPages {
  readonly objects: number
  readonly intervals: number
}

type IntervalStatements = ReturnType<typeof compose>

/** Yields the pages of the intervals of a cluster whose last object is looked up first. */
async function* boundedPages(
  db: SqlDatabase,
  s: IntervalStatements,
  place: IntervalPlace,
): AsyncGenerator<readonly PackedRow[]> {
  /** Returns the last object of the page after an object; undefined if that is the last page. */
  const boundAfter = async (after: number): Promise<number | undefined> =>
    (await db.first(s.bound, { ...place, after }))?.objectId
  let after = 0
  for (let bound = await boundAfter(after); ;) {
    const to = bound ?? lastId
    const [rows, next] = await Promise.all([
      db.all(s.scan, { ...place, after, to }),
      bound === undefined ? undefined : boundAfter(to),
    ])
    yield rows
    if (bound === undefined) return
    after = to
    bound = next
  }
}

/** Yields the pages of the intervals of a cluster, each with the same number of objects. */
async function* pagesOfObjects(
  db: SqlDatabase,
  s: IntervalStatements,
  place: IntervalPlace,
  limit: number,
): AsyncGenerator<readonly PackedRow[]> {
  for (let after = 0; ;) {
    const rows = await db.all(s.scanObjects, { ...place, after, limit })
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    after = last.objectId
  }
}

/** IntervalTexts over the table usage_intervals. `isAlone`: on a thread that nothing else waits for. */
export const makeIntervalTexts = (db: SqlDatabase, pages: IntervalPages, isAlone: boolean): IntervalTexts => {
  const s = compose(db, pages.intervals)
  /** Where the server cuts a text off: 1 MiB on MariaDB, 1 KiB on MySQL unless it is configured. */
  let longest = db.dialect === 'sqlite' ? Number.POSITIVE_INFINITY : undefined
  const longestText = async (): Promise<number> => (longest ??= (await db.first(s.longestText, {}))?.length ?? 0)
  const plainText = async (place: IntervalPlace, row: PackedRow): Promise<string> =>
    (await db.all(s.plain, { ...place, objectId: row.objectId })).map(({ text }) => text).join(';')

  /** Adds the texts of rows. Returns their length. */
  const addTexts = async (
    texts: Map<number, string>,
    place: IntervalPlace,
    rows: readonly PackedRow[],
  ): Promise<number> => {
    const limit = await longestText()
    let length = 0
    for (const row of rows) {
      const text = row.packed.length >= limit ? await plainText(place, row) : row.packed
      texts.set(row.objectId, text)
      length += text.length
    }
    return length
  }

  return {
    async scan(place, maxLength) {
      const texts = new Map<number, string>()
      let length = 0
      // The order of the table is the fastest.
      const found =
        db.dialect === 'sqlite' && isAlone ? pagesOfObjects(db, s, place, pages.objects) : boundedPages(db, s, place)
      for await (const rows of found) {
        length += await addTexts(texts, place, rows)
        if (length > maxLength) return undefined
        await pauseInLongTurn(0)
      }
      return texts
    },
    async lookUp(place, ids) {
      const texts = new Map<number, string>()
      const ascending = ids.toSorted((a, b) => a - b)
      for (let from = 0; from < ascending.length; from += longestList) {
        const chunk = ascending.slice(from, from + longestList)
        await addTexts(texts, place, await rowsOfIds(db, s.lookUp, chunk, place))
        await pauseInLongTurn(0)
      }
      return texts
    },
  }
}
