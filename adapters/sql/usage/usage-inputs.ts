import type { ReportedObject, UsageInputs } from '../../../core/usage/months/ports.ts'
import type { UsageKind, UsageKindId } from '../../../core/usage/types.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, int, pick, present } from '../kit/columns.ts'
import { idList, rowsOfIds } from '../kit/id-list.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { usageKinds, usageObjects } from '../tables/usage.ts'
import { makeIntervalTexts } from './interval-texts.ts'
import { makeOwnerFacts } from './owner-facts.ts'
import { kindRow, objectRow } from './rows.ts'

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

const reportedRow = { ...objectRow, kindId: aliased(usageObjects, 'o').kindId }
type ReportedRow = Row<typeof reportedRow>

const compose = (db: SqlDatabase) => ({
  kinds: idList(db, usageKinds.id, {}, { id: aliased(usageKinds, 'k').id, ...kindRow }, (k, _, ids) =>
    k('usage_kinds as k').whereIn('k.id', ids),
  ),
  objects: db.prepare(
    {
      ...pick(usageObjects, 'clusterId'),
      after: usageObjects.uid,
      start: present(usageObjects.deletedAt),
      limit: int(),
    },
    reportedRow,
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
  const factsOf = makeOwnerFacts(db)
  const intervalTexts = makeIntervalTexts(db, pages, isAlone)

  /** Completes the kinds that rows have. Of all kinds there may be many: each account reports its own. */
  const readKinds = async (kinds: Map<UsageKindId, UsageKind>, rows: readonly ReportedRow[]): Promise<void> => {
    const missing = new Set(rows.map(({ kindId }) => kindId).filter((id) => !kinds.has(id)))
    for (const { id, ...kind } of await rowsOfIds(db, s.kinds, [...missing], {})) kinds.set(id, kind)
  }

  return {
    factsOf: (ownerId, window) => factsOf(db, ownerId, window),
    async *objectsOf(clusterId, { month, from }) {
      const kinds = new Map<UsageKindId, UsageKind>()
      const place = { month, clusterId }
      const texts = await intervalTexts.scan(place, maxTextLength)
      for (let after = ''; ;) {
        const rows = await db.all(s.objects, { clusterId, after, start: from, limit: pages.objects })
        await readKinds(kinds, rows)
        const found =
          texts ??
          (await intervalTexts.lookUp(
            place,
            rows.map(({ id }) => id),
          ))
        const objects = rows.flatMap((row): readonly ReportedObject[] => {
          const intervals = found.get(row.id)
          const of = kinds.get(row.kindId)
          if (intervals === undefined || of === undefined) return []
          const { product, group, kind } = of
          return [{ object: { ...row, product, group, kind }, intervals }]
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
