import type { ObjectChange, ObjectChangeType } from '../../../core/usage/events/types.ts'
import type {
  NewObject,
  ObjectUid,
  StoredObject,
  UsageChangeStore,
  UsageObjectStore,
} from '../../../core/usage/events/ports.ts'
import type { UnixSeconds, UsageKindId, UsageObjectId } from '../../../core/usage/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { KindRow, ObjectRow } from './rows.ts'
import { kindColumns, kindOf, objectColumns, objectOf } from './rows.ts'
import { tupleList } from './tuple-list.ts'

interface StoredRow extends ObjectRow, KindRow {
  readonly kind_id: number
  readonly last_heard_day: number
  readonly sends_heartbeats: Num
}

const storedOf = (row: StoredRow): StoredObject => ({
  ...objectOf(row, kindOf(row)),
  kindId: row.kind_id as UsageKindId,
  lastHeardDay: row.last_heard_day,
  sendsHeartbeats: Number(row.sends_heartbeats) === 1,
})

type ObjectBind =
  | 'clusterId'
  | 'uid'
  | 'kindId'
  | 'namespace'
  | 'namespaceUid'
  | 'name'
  | 'createdAt'
  | 'deletedAt'
  | 'trialEndsAt'
  | 'lastHeardDay'
  | 'sendsHeartbeats'

const writtenColumns = (p: Params<ObjectBind>) => ({
  cluster_id: p('clusterId'),
  object_uid: p('uid'),
  kind_id: p('kindId'),
  namespace: p('namespace'),
  namespace_uid: p('namespaceUid'),
  name: p('name'),
  created_at: p('createdAt'),
  deleted_at: p('deletedAt'),
  trial_ends_at: p('trialEndsAt'),
  last_heard_day: p('lastHeardDay'),
  sends_heartbeats: p('sendsHeartbeats'),
})

const objectBinds = (object: Omit<StoredObject, 'id' | 'product' | 'group' | 'kind'>) => ({
  clusterId: object.clusterId,
  uid: object.uid,
  kindId: object.kindId,
  namespace: object.namespace,
  namespaceUid: object.namespaceUid,
  name: object.name,
  createdAt: object.createdAt,
  deletedAt: object.deletedAt ?? null,
  trialEndsAt: object.trialEndsAt ?? null,
  lastHeardDay: object.lastHeardDay,
  sendsHeartbeats: object.sendsHeartbeats,
})

interface IdRow {
  readonly id: number
  readonly cluster_id: number
  readonly object_uid: string
}

/** UsageObjectStore over the table usage_objects. */
export const makeSqlUsageObjectStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageObjectStore) => {
  const find = tupleList<StoredRow>(db, ['o.cluster_id', 'o.object_uid'], (k, within) =>
    within(k('usage_objects as o').join('usage_kinds as k', 'k.id', 'o.kind_id')).select(
      ...objectColumns,
      ...kindColumns,
      'o.kind_id',
      'o.last_heard_day',
      'o.sends_heartbeats',
    ),
  )
  const ids = tupleList<IdRow>(db, ['cluster_id', 'object_uid'], (k, within) =>
    within(k('usage_objects')).select('id', 'cluster_id', 'object_uid'),
  )
  const readIds = async (runner: SqlRunner, objects: readonly ObjectUid[]): Promise<readonly UsageObjectId[]> => {
    const rows = await ids(
      runner,
      objects.map(({ clusterId, uid }) => [clusterId, uid]),
    )
    const byUid = new Map(rows.map(({ id, cluster_id, object_uid }) => [`${cluster_id}/${object_uid}`, id]))
    return objects.map(({ clusterId, uid }) => {
      const id = byUid.get(`${clusterId}/${uid}`)
      if (id === undefined) throw new Error(`The object ${uid} was inserted and cannot be found.`)
      return id as UsageObjectId
    })
  }
  /**
   * Rows are numbered in the order in which they are inserted, with gaps that depend on the server and on others. There
   * are none if the first and the last number are as far apart as the rows.
   */
  const idsOf = async (runner: SqlRunner, objects: readonly ObjectUid[]): Promise<readonly UsageObjectId[]> => {
    const [first, last] = [objects[0], objects.at(-1)]
    if (first === undefined || last === undefined || objects.length < 4) return readIds(runner, objects)
    const [from = 0, to = 0] = await readIds(runner, [first, last])
    return to - from === objects.length - 1
      ? objects.map((_, index) => (from + index) as UsageObjectId)
      : readIds(runner, objects)
  }
  const insert = insertRows(db, 'usage_objects', writtenColumns)
  const update = insertRows(
    db,
    'usage_objects',
    (p: Params<ObjectBind | 'id'>) => ({ id: p('id'), ...writtenColumns(p) }),
    (rows) => rows.onConflict('id').merge(['deleted_at', 'trial_ends_at', 'last_heard_day', 'sends_heartbeats']),
  )
  const claimTrial = insertRows(
    db,
    'usage_trials',
    (p: Params<'objectId' | 'clusterId' | 'uid' | 'kindId' | 'namespace' | 'name' | 'createdAt'>) => ({
      object_id: p('objectId'),
      cluster_id: p('clusterId'),
      object_uid: p('uid'),
      kind_id: p('kindId'),
      namespace: p('namespace'),
      name: p('name'),
      created_at: p('createdAt'),
    }),
    (rows) => rows.onConflict('object_id').ignore(),
  )
  /** Keeps who was reported as a trial: a few objects, so that other reports cost no statement. */
  const claimTrials = (
    runner: SqlRunner,
    objects: readonly (NewObject & { readonly id: UsageObjectId })[],
  ): Promise<void> =>
    claimTrial(
      runner,
      objects
        .filter(({ trialEndsAt }) => trialEndsAt !== undefined)
        .map(({ id: objectId, clusterId, uid, kindId, namespace, name, createdAt }) => ({
          objectId,
          clusterId,
          uid,
          kindId,
          namespace,
          name,
          createdAt,
        })),
    )
  return (runner) => ({
    async find(uids) {
      return (
        await find(
          runner,
          uids.map(({ clusterId, uid }) => [clusterId, uid]),
        )
      ).map(storedOf)
    },
    async insert(objects) {
      try {
        await insert(runner, objects.map(objectBinds))
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
      await update(
        runner,
        objects.map((object) => ({ id: object.id, ...objectBinds(object) })),
      )
      await claimTrials(runner, objects)
    },
  })
}

interface ChangeRow {
  readonly object_id: number
  readonly generation: Num
  readonly type: string
  readonly at: Num
  readonly milli_cpu: Num
  readonly memory_mib: Num
  readonly replicas: number
  readonly details: string
  readonly is_trial: Num
}

const changeOf = (row: ChangeRow): ObjectChange & { readonly objectId: UsageObjectId } => ({
  objectId: row.object_id as UsageObjectId,
  type: row.type as ObjectChangeType,
  generation: Number(row.generation),
  at: Number(row.at) as UnixSeconds,
  milliCpu: Number(row.milli_cpu),
  memoryMib: Number(row.memory_mib),
  replicas: row.replicas,
  details: row.details,
  isTrial: Number(row.is_trial) === 1,
})

/** UsageChangeStore over the tables usage_changes and usage_conflicts. */
export const makeSqlUsageChangeStore = (db: SqlDatabase): ((runner: SqlRunner) => UsageChangeStore) => {
  const list = paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('usage_changes')
        .whereIn('object_id', listSlots(p, length))
        .select('object_id', 'generation', 'type', 'at', 'milli_cpu', 'memory_mib', 'replicas', 'details', 'is_trial'),
    ),
  )
  type ChangeBind =
    | 'objectId'
    | 'generation'
    | 'type'
    | 'at'
    | 'milliCpu'
    | 'memoryMib'
    | 'replicas'
    | 'details'
    | 'isTrial'
    | 'receivedAt'
  const insert = insertRows(db, 'usage_changes', (p: Params<ChangeBind>) => ({
    object_id: p('objectId'),
    generation: p('generation'),
    type: p('type'),
    at: p('at'),
    milli_cpu: p('milliCpu'),
    memory_mib: p('memoryMib'),
    replicas: p('replicas'),
    details: p('details'),
    is_trial: p('isTrial'),
    received_at: p('receivedAt'),
  }))
  const insertConflicts = insertRows(
    db,
    'usage_conflicts',
    (p: Params<'clusterId' | 'eventId' | 'event' | 'receivedAt'>) => ({
      cluster_id: p('clusterId'),
      event_id: p('eventId'),
      event: p('event'),
      received_at: p('receivedAt'),
    }),
  )
  return (runner) => ({
    async listOf(ids) {
      const rows: ChangeRow[] = []
      for (const chunk of chunksOf(ids)) {
        const { statement, binds } = list(chunk)
        // They may be more than a call can have arguments.
        for (const row of await runner.all<ChangeRow>(statement, binds)) rows.push(row)
      }
      return rows.map(changeOf)
    },
    async insert(changes, at) {
      await insert(
        runner,
        changes.map((change) => ({ ...change, receivedAt: at.getTime() })),
      )
    },
    async insertConflicts(conflicts, at) {
      await insertConflicts(
        runner,
        conflicts.map((conflict) => ({ ...conflict, receivedAt: at.getTime() })),
      )
    },
  })
}
