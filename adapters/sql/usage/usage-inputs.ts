import { parseIntervals } from '../../../core/formats/usage-intervals.ts'
import type { CutInterval } from '../../../core/usage/usage-types.ts'
import type { ReportedObject, UsageInputs } from '../../../core/usage/months/ports.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { int, pick, present } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { usageObjects } from '../tables/usage.ts'
import { makeIntervalTexts } from './interval-texts.ts'
import { makeOwnerFacts } from './owner-facts.ts'
import { makeWithKinds, objectWithKindId } from './rows.ts'

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

const compose = (db: SqlDatabase) => ({
  objects: db.prepare(
    {
      ...pick(usageObjects, 'clusterId'),
      after: usageObjects.uid,
      start: present(usageObjects.deletedAt),
      limit: int(),
    },
    objectWithKindId,
    (k, p) =>
      k('usage_objects as o')
        .where('o.cluster_id', p.clusterId)
        .where('o.object_uid', '>', p.after)
        .where((each) => each.whereNull('o.deleted_at').orWhere('o.deleted_at', '>=', p.start))
        .orderBy('o.object_uid')
        .limit(p.limit),
  ),
})

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
  const s = compose(db)
  const withKinds = makeWithKinds(db)
  const factsOf = makeOwnerFacts(db)
  const intervalTexts = makeIntervalTexts(db, pages, isAlone)

  return {
    factsOf: (ownerId, window) => factsOf(db, ownerId, window),
    async *objectsOf(clusterId, { month, from }) {
      const place = { month, clusterId }
      const texts = await intervalTexts.scan(place, maxTextLength)
      for (let after = ''; ;) {
        const rows = await db.all(s.objects, { clusterId, after, start: from, limit: pages.objects })
        const found =
          texts ??
          (await intervalTexts.lookUp(
            place,
            rows.map(({ id }) => id),
          ))
        const objects = (await withKinds(db, rows)).flatMap((object): readonly ReportedObject[] => {
          const intervals = found.get(object.id)
          return intervals === undefined
            ? []
            : [{ object, intervals: parseIntervals(intervals) as readonly CutInterval[] }]
        })
        await pauseInLongTurn(0)
        if (objects.length > 0) yield objects
        const last = rows.at(-1)
        if (last === undefined || rows.length < pages.objects) return
        after = last.uid
      }
    },
  }
}
