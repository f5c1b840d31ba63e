import { randomUUID } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSqlUnitOfWork, unaudited } from '../../../adapters/sql/engine/unit-of-work.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import {
  makeSqlClusterFactStore,
  makeSqlUsageClusterStore,
  makeSqlUsageKindStore,
} from '../../../adapters/sql/usage/cluster-store.ts'
import {
  makeSqlUsageIntervalStore,
  makeSqlUsageRetention,
  makeSqlUsageUpkeepStore,
} from '../../../adapters/sql/usage/interval-store.ts'
import { makeSqlUsageChangeStore, makeSqlUsageObjectStore } from '../../../adapters/sql/usage/object-store.ts'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { makeRecentlyHeard } from '../../../core/usage/events/recently-heard.ts'
import { makeRecordEvents } from '../../../core/usage/events/recording.ts'
import { makeEventReports, newEventCounters } from '../../../core/usage/events/reports.ts'
import type { EventResult, ReportedEvent } from '../../../core/usage/events/types.ts'
import { systemEntropy } from '../../../adapters/system/system-entropy.ts'
import { makeCarryIntervals, makeCutSilentObjects, makeExpireUsage } from '../../../core/usage/events/upkeep.ts'

export const owner = 11 as AccountId
export const otherOwner = 12 as AccountId
export const clusterUid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
export const secondCluster = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c12'

/** A clock that a test sets. */
export interface SetClock extends Clock {
  set(at: string): void
}
export const setClock = (at: string): SetClock => {
  let now = new Date(at)
  return { now: () => now, set: (later) => void (now = new Date(later)) }
}

/** What a process records events with. A second one over the same database is a restart, or another instance. */
export const recorderOn = (db: SqlDatabase, clock: Clock) => {
  const clusters = makeSqlUsageClusterStore(db)
  const [objects, changes, intervals, facts, upkeep] = [
    makeSqlUsageObjectStore(db),
    makeSqlUsageChangeStore(db),
    makeSqlUsageIntervalStore(db),
    makeSqlClusterFactStore(db),
    makeSqlUsageUpkeepStore(db),
  ]
  const unitOfWork = makeSqlUnitOfWork(
    db,
    (tx) => ({
      clusters: clusters(tx),
      objects: objects(tx),
      changes: changes(tx),
      intervals: intervals(tx),
      facts: facts(tx),
    }),
    unaudited,
  )
  const recent = makeRecentlyHeard(lruCaches)
  const recordEvents = makeRecordEvents({ clock, kinds: makeSqlUsageKindStore(db), unitOfWork, recent })
  const counters = newEventCounters()
  const ownCall = makeOwnCall(systemEntropy)
  const reports = makeEventReports({
    clusters: clusters(db),
    clock,
    caches: lruCaches,
    ownCall,
    recent,
    recordEvents,
    counters,
    transactions: db.dialect === 'mysql' ? 3 : 1,
  })
  const upkeepDeps = {
    clock,
    clusters: clusters(db),
    unitOfWork: makeSqlUnitOfWork(db, (tx) => ({ clusters: clusters(tx), upkeep: upkeep(tx) }), unaudited),
  }
  const call = () => ownCall('test')
  return {
    reports,
    recordEvents,
    counters,
    clusters: clusters(db),
    carry: () => makeCarryIntervals(upkeepDeps)(call()),
    cut: (month: Parameters<ReturnType<typeof makeCutSilentObjects>>[1]) =>
      makeCutSilentObjects(upkeepDeps)(call(), month),
    expire: () => makeExpireUsage({ clock, retention: makeSqlUsageRetention(db) })(new AbortController().signal),
    /** Records events, and returns what became of each: `accepted`, `repeated`, or the reason of the refusal. */
    async send(events: readonly ReportedEvent[], uid = clusterUid, ownerId = owner): Promise<readonly string[]> {
      const results = await reports.record({ ownerId, clusterUid: uid, events })
      if (isLeft(results)) throw new Error(results.left.message)
      return results.right.map(wordOf)
    },
  }
}
export type Recorder = ReturnType<typeof recorderOn>

const wordOf = (result: EventResult): string => (result.result === 'refused' ? result.reason : result.result)

/** Two accounts that know two clusters each. */
export const addOwners = async (db: SqlDatabase): Promise<void> => {
  await db.query((k) =>
    k('accounts').insert(
      [owner, otherOwner].map((id) => ({
        id,
        kind: 'organization',
        name: `account${id}`,
        lower_name: `account${id}`,
        created_at: 0,
      })),
    ),
  )
  for (const owner_id of [owner, otherOwner]) {
    for (const uid of [clusterUid, secondCluster]) {
      const row = {
        owner_id,
        name: uid.slice(-4),
        display_name: '',
        uid,
        provider: 'generic',
        endpoint: 'https://192.0.2.1',
        phase: 'Active',
        ref: randomUUID(),
        created_at: 0,
      }
      await db.query((k) => k('clusters').insert(row))
    }
  }
}

/** An object, as its events describe it. */
export const newObject = (changes: Partial<ReportedEvent> = {}) => {
  const uid = changes.uid ?? randomUUID()
  const identity = {
    uid,
    product: 'dbProduct',
    group: 'databases.example.com',
    kind: 'Postgres',
    namespace: 'shop',
    namespaceUID: '5d0e4d9a-7c40-4c55-9d3e-0b1f6a2b9c01',
    name: `db-${uid.slice(0, 8)}`,
    createdAt: '2026-11-01T00:00:00Z',
    ...changes,
  }
  const event = (type: string, time: string, more: Partial<ReportedEvent> = {}): ReportedEvent => ({
    ...identity,
    id: randomUUID(),
    type,
    time,
    ...more,
  })
  return {
    uid,
    created: (time: string, milliCPU = 1000, more: Partial<ReportedEvent> = {}) =>
      event('object.created', time, { generation: 1, milliCPU, memoryMiB: 1024, ...more }),
    resized: (time: string, generation: number, milliCPU: number) =>
      event('object.resized', time, { generation, milliCPU, memoryMiB: 2048 }),
    deleted: (time: string, generation = 99) => event('object.deleted', time, { generation }),
    heard: (time: string) => event('object.heartbeat', time),
  }
}

export const clusterHeard = (time: string): ReportedEvent => ({ id: randomUUID(), type: 'cluster.heartbeat', time })
export const modeChanged = (time: string, mode: string, id = randomUUID()): ReportedEvent => ({
  id,
  type: 'cluster.mode-changed',
  time,
  mode,
})

const tables: Readonly<Record<string, readonly string[]>> = {
  usage_clusters: ['owner_id', 'cluster_uid', 'first_heard', 'last_heard'],
  usage_objects: [
    'object_uid',
    'namespace',
    'name',
    'created_at',
    'deleted_at',
    'trial_ends_at',
    'last_heard_day',
    'sends_heartbeats',
  ],
  usage_changes: [
    'object_uid',
    'generation',
    'type',
    'at',
    'milli_cpu',
    'memory_mib',
    'replicas',
    'details',
    'is_trial',
  ],
  usage_intervals: [
    'object_uid',
    'month',
    'from_at',
    'to_at',
    'cut_at',
    'milli_cpu',
    'memory_mib',
    'generation',
    'replicas',
  ],
  usage_modes: ['cluster_id', 'at', 'event_id', 'mode'],
  usage_presence: ['cluster_id', 'month', 'hours'],
  usage_namespaces: ['cluster_id', 'namespace_uid', 'namespace', 'labels', 'annotations', 'observed_at'],
}

/** All rows that follow from events, without the numbers of rows. */
export const tablesOf = async (db: SqlDatabase): Promise<Readonly<Record<string, readonly string[]>>> => {
  const found: Record<string, readonly string[]> = {}
  for (const [table, columns] of Object.entries(tables)) {
    const withObject = table === 'usage_changes' || table === 'usage_intervals'
    const rows = await db.query<Record<string, unknown>>((k) => {
      const query = k(`${table} as t`).select(
        columns.map((column) => (column === 'object_uid' && withObject ? 'o.object_uid' : `t.${column}`)),
      )
      return withObject ? query.join('usage_objects as o', 'o.id', 't.object_id') : query
    })
    found[table] = rows.map((row) => columns.map((column) => textOf(row[column])).join(' ')).sort()
  }
  return found
}

const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
