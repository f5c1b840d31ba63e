import type {
  NewObject,
  ObjectUid,
  StoredObject,
  UsageChangeStore,
  UsageObjectStore,
} from '../../../core/usage/events/ports.ts'
import type { UsageObjectId } from '../../../core/usage/types.ts'
import { columnsOf, pick, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { idList, rowsOfIds, tupleList } from '../kit/key-lists.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertAllInto } from '../kit/values.ts'
import { usageChanges, usageConflicts, usageObjects, usageTrials } from '../tables/usage.ts'
import { makeWithKinds } from './rows.ts'

const objectKey = pick(usageObjects, 'clusterId', 'uid')

/** Returns the function that finds the ids of objects that were just inserted, in one statement or two. */
const insertedIds = (
  db: SqlDatabase,
): ((runner: SqlRunner, objects: readonly ObjectUid[]) => Promise<readonly UsageObjectId[]>) => {
  const ids = tupleList(db, objectKey, pick(usageObjects, 'id', 'clusterId', 'uid'), (k, within) =>
    within(k('usage_objects')),
  )
  const readIds = async (runner: SqlRunner, objects: readonly ObjectUid[]): Promise<readonly UsageObjectId[]> => {
    const byUid = new Map((await ids(runner, objects)).map(({ id, clusterId, uid }) => [`${clusterId}/${uid}`, id]))
    return objects.map(({ clusterId, uid }) => {
      const id = byUid.get(`${clusterId}/${uid}`)
      if (id === undefined) throw new Error(`The object ${uid} was inserted and cannot be found.`)
      return id
    })
  }
  /**
   * Rows are numbered in the order in which they are inserted, with gaps that depend on the server and on others. There
   * are none if the first and the last number are as far apart as the rows.
   */
  return async (runner, objects) => {
    const [first, last] = [objects[0], objects.at(-1)]
    if (first === undefined || last === undefined || objects.length < 4) return readIds(runner, objects)
    const [from = 0, to = 0] = await readIds(runner, [first, last])
    return to - from === objects.length - 1
      ? objects.map((_, index) => (from + index) as UsageObjectId)
      : readIds(runner, objects)
  }
}

type IdentifiedObject = NewObject & { readonly id: UsageObjectId }

/**
 * Returns the function that keeps who was reported as a trial: a few objects, so that other reports cost no statement.
 */
const trialClaims = (db: SqlDatabase): ((runner: SqlRunner, objects: readonly IdentifiedObject[]) => Promise<void>) => {
  const claim = insertAllInto(db, usageTrials, {}, (rows) => rows.onConflict('object_id').ignore())
  return (runner, objects) =>
    claim(
      runner,
      objects
        .filter(({ trialEndsAt }) => trialEndsAt !== undefined)
        .map((object) => ({ ...object, objectId: object.id })),
    )
}

/** UsageObjectStore over the table usage_objects. */
export const makeSqlUsageObjectStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageObjectStore) => {
  const find = tupleList(db, objectKey, columnsOf(usageObjects), (k, within) => within(k('usage_objects')))
  const withKinds = makeWithKinds(db)
  const insert = insertAllInto(db, usageObjects, { omitted: ['id'] })
  const update = insertAllInto(db, usageObjects, {}, (rows) =>
    rows.onConflict('id').merge(['deleted_at', 'trial_ends_at', 'last_heard_day', 'sends_heartbeats']),
  )
  const idsOf = insertedIds(db)
  const claimTrials = trialClaims(db)
  return (runner) => ({
    find: async (uids): Promise<readonly StoredObject[]> => withKinds(runner, await find(runner, uids)),
    async insert(objects) {
      try {
        await insert(runner, objects)
      } catch (error) {
        if (isUniqueViolation(error, 'object_uid')) return undefined
        throw error
      }
      const inserted = await idsOf(runner, objects)
      await claimTrials(
        runner,
        objects.map((object, index) => ({ ...object, id: inserted[index] as UsageObjectId })),
      )
      return inserted
    },
    async update(objects) {
      await update(runner, objects)
      await claimTrials(runner, objects)
    },
  })
}

/** UsageChangeStore over the tables usage_changes and usage_conflicts. */
export const makeSqlUsageChangeStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageChangeStore) => {
  const list = idList(db, usageChanges.objectId, {}, without(usageChanges, 'receivedAt'), (k, _, ids) =>
    k('usage_changes').whereIn('object_id', ids),
  )
  const insert = insertAllInto(db, usageChanges)
  const insertConflicts = insertAllInto(db, usageConflicts, { omitted: ['id'] })
  return (runner) => ({
    listOf: (ids) => rowsOfIds(runner, list, ids, {}),
    async insert(changes, at) {
      await insert(
        runner,
        changes.map((change) => ({ ...change, receivedAt: at })),
      )
    },
    async insertConflicts(conflicts, at) {
      await insertConflicts(
        runner,
        conflicts.map((conflict) => ({ ...conflict, receivedAt: at })),
      )
    },
  })
}
