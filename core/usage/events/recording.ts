import { right, isLeft } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Call } from '../../kernel/principal.ts'
import type { UsageClusterId, UsageKind, UsageKindId, UsageObjectId } from '../types.ts'
import type { Horizon } from './intervals.ts'
import { horizonAt } from './intervals.ts'
import type { ClusterPlan, ObjectState, Verdict } from './plan.ts'
import { changedIntervals, endsOf, isForgotten, monthsOf, planEvents } from './plan.ts'
import type { EventConflict, ObjectMonth, ObjectUid, StoredInterval, StoredObject, UsageEventStores, UsageEventUnitOfWork, UsageKindStore } from './ports.ts'
import type { RecentlyHeard } from './recently-heard.ts'
import { heardHours, hoursOf, includesHours, unionOfHours } from './presence.ts'
import type { ObjectChange, ObjectIdentity, UsageEvent } from './types.ts'

/** Valid events of one cluster. */
export interface ClusterEvents {
  readonly clusterId: UsageClusterId
  readonly events: readonly UsageEvent[]
}

/** Records events of clusters in one transaction. Returns the verdicts of each, in order. Throws `Unavailable`. */
export type RecordEvents = (call: Call<readonly (readonly Verdict[])[]>, batches: readonly ClusterEvents[]) => Promise<readonly (readonly Verdict[])[]>

export interface RecordingDeps {
  readonly clock: Clock
  readonly kinds: UsageKindStore
  readonly unitOfWork: UsageEventUnitOfWork
  readonly recent: RecentlyHeard
}

type KindIds = ReadonlyMap<string, UsageKindId>
const kindKey = ({ product, group, kind }: UsageKind): string => `${product}/${group}/${kind}`

const objectsOf = (events: readonly UsageEvent[]): readonly ObjectIdentity[] =>
  events.flatMap((event) => (event.kind === 'change' || event.kind === 'object-heard' ? [event.object] : []))

/**
 * The rows of all clusters are locked in the order of ids, before anything else is read, so that concurrent batches do not block each
 * other in turn. What was heard is noted in memory after the commit: repeating it costs no statement.
 */
export const makeRecordEvents =
  ({ clock, kinds, unitOfWork, recent }: RecordingDeps): RecordEvents =>
  async (call, batches) => {
    const merged = mergedByCluster(batches)
    const kindIds = new Map<string, UsageKindId>()
    for (const { events } of merged) {
      for (const object of objectsOf(events)) if (!kindIds.has(kindKey(object))) kindIds.set(kindKey(object), await kinds.ensure(object))
    }
    const work = { kindIds, at: clock.now(), horizon: horizonAt(clock.now()), recent }
    let plans: readonly ClusterPlan[] = []
    const done = await unitOfWork.run<never, readonly (readonly Verdict[])[]>(call, async (stores) => {
      plans = await recordAll(stores, merged, work)
      return right(verdictsOf(batches, merged, plans))
    })
    if (isLeft(done)) throw new Error('unreachable: recording refuses nothing as a whole')
    for (const [index, { clusterId }] of merged.entries()) {
      const plan = plans[index]
      if (plan !== undefined) recent.note(clusterId, plan.heard, plan.objects)
    }
    return done.right
  }

const mergedByCluster = (batches: readonly ClusterEvents[]): readonly ClusterEvents[] => {
  const byCluster = new Map<UsageClusterId, UsageEvent[]>()
  for (const { clusterId, events } of batches) {
    const known = byCluster.get(clusterId)
    if (known === undefined) byCluster.set(clusterId, [...events])
    else known.push(...events)
  }
  return [...byCluster].map(([clusterId, events]) => ({ clusterId, events })).sort((a, b) => a.clusterId - b.clusterId)
}

/** Returns the verdicts to the batches as they were given. */
const verdictsOf = (batches: readonly ClusterEvents[], merged: readonly ClusterEvents[], plans: readonly ClusterPlan[]): readonly (readonly Verdict[])[] => {
  const next = new Map(merged.map(({ clusterId }, index) => [clusterId, { plan: plans[index], at: 0 }]))
  return batches.map(({ clusterId, events }) => {
    const place = next.get(clusterId)
    if (place?.plan === undefined) return []
    const from = place.at
    place.at += events.length
    return place.plan.verdicts.slice(from, place.at)
  })
}

interface Work {
  readonly kindIds: KindIds
  readonly at: Date
  readonly horizon: Horizon
  readonly recent: RecentlyHeard
}

interface Found {
  readonly rows: ReadonlyMap<string, StoredObject>
  readonly states: ReadonlyMap<string, ObjectState>
}

const uidKey = ({ clusterId, uid }: ObjectUid): string => `${clusterId}/${uid}`

const findObjects = async ({ objects, changes }: UsageEventStores, batches: readonly ClusterEvents[], { last }: Horizon): Promise<Found> => {
  const wanted = new Map<string, { readonly uid: ObjectUid; readonly isChanged: boolean }>()
  for (const { clusterId, events } of batches) {
    for (const event of events) {
      if (event.kind !== 'change' && event.kind !== 'object-heard') continue
      const uid = { clusterId, uid: event.object.uid }
      wanted.set(uidKey(uid), { uid, isChanged: event.kind === 'change' || wanted.get(uidKey(uid))?.isChanged === true })
    }
  }
  const rows = new Map((await objects.find([...wanted.values()].map(({ uid }) => uid))).map((row) => [uidKey(row), row]))
  const withChanges = [...wanted].flatMap(([key, { isChanged }]) => {
    const row = rows.get(key)
    return row !== undefined && (isChanged || isForgotten(row, last)) ? [row.id] : []
  })
  const byObject = new Map<UsageObjectId, ObjectChange[]>()
  for (const change of await changes.listOf(withChanges)) byObject.set(change.objectId, [...(byObject.get(change.objectId) ?? []), change])
  const states = new Map([...rows].map(([key, row]) => [key, { identity: row, lastHeardDay: row.lastHeardDay, sendsHeartbeats: row.sendsHeartbeats, changes: byObject.get(row.id) ?? [] }]))
  return { rows, states }
}

const planCluster = async ({ facts }: UsageEventStores, { clusterId, events }: ClusterEvents, { states }: Found): Promise<ClusterPlan> => {
  const modes = events.flatMap((event) => (event.kind === 'mode' ? [event.at] : []))
  const namespaces = events.flatMap((event) => (event.kind === 'namespace' ? [event.namespace.uid] : []))
  const objects = objectsOf(events).flatMap(({ uid }) => {
    const state = states.get(uidKey({ clusterId, uid }))
    return state === undefined ? [] : [[uid, state] as const]
  })
  return planEvents(events, {
    objects: new Map(objects),
    modes: modes.length === 0 ? [] : await facts.modesAt(clusterId, [...new Set(modes)]),
    namespaces: new Map(namespaces.length === 0 ? [] : (await facts.namespaces(clusterId, [...new Set(namespaces)])).map((each) => [each.uid, each])),
  })
}

const recordAll = async (stores: UsageEventStores, batches: readonly ClusterEvents[], work: Work): Promise<readonly ClusterPlan[]> => {
  await stores.clusters.lock(batches.map(({ clusterId }) => clusterId))
  const found = await findObjects(stores, batches, work.horizon)
  const plans: ClusterPlan[] = []
  for (const batch of batches) plans.push(await planCluster(stores, batch, found))
  const planned = batches.flatMap((batch, index) => {
    const plan = plans[index]
    return plan === undefined ? [] : [{ ...batch, plan }]
  })
  await writeObjects(stores, planned, found, work)
  await writeFacts(stores, planned, work)
  return plans
}

interface Planned extends ClusterEvents {
  readonly plan: ClusterPlan
}

/** The numbers of the rows of an object. */
interface ObjectIds {
  readonly objectId: UsageObjectId
  readonly clusterId: UsageClusterId
  readonly kindId: UsageKindId
}

const writeObjects = async (stores: UsageEventStores, planned: readonly Planned[], { rows, states }: Found, { kindIds, at, horizon }: Work): Promise<void> => {
  const touched = planned.flatMap(({ clusterId, plan }) => [...plan.objects.values()].map((state) => ({ key: uidKey({ clusterId, uid: state.identity.uid }), clusterId, state })))
  const fresh = touched.filter(({ key }) => !rows.has(key)).map(({ key, clusterId, state }) => ({ key, clusterId, state, kindId: kindOf(kindIds, state.identity) }))
  const inserted = await stores.objects.insert(
    fresh.map(({ clusterId, kindId, state }) => {
      const { uid, namespace, namespaceUid, name, createdAt } = state.identity
      return { clusterId, uid, kindId, namespace, namespaceUid, name, createdAt, lastHeardDay: state.lastHeardDay, sendsHeartbeats: state.sendsHeartbeats, ...endsOf(state) }
    }),
  )
  const ids = new Map<string, ObjectIds>([...rows].map(([key, { id, clusterId, kindId }]) => [key, { objectId: id, clusterId, kindId }]))
  for (const [index, { key, clusterId, kindId }] of fresh.entries()) ids.set(key, { objectId: inserted[index] as UsageObjectId, clusterId, kindId })
  const updated: StoredObject[] = []
  const added: (ObjectChange & { readonly objectId: UsageObjectId })[] = []
  const written: StoredInterval[] = []
  const removed: ObjectMonth[] = []
  for (const { key, state } of touched) {
    const [place, row, before] = [ids.get(key), rows.get(key), states.get(key)]
    if (place === undefined) throw new Error(`The object ${key} has no row.`)
    const { objectId, clusterId, kindId } = place
    const wasChanged = before === undefined || before.changes !== state.changes
    if (row !== undefined) updated.push({ ...row, lastHeardDay: state.lastHeardDay, sendsHeartbeats: state.sendsHeartbeats, ...(wasChanged ? endsOf(state) : {}) })
    if (wasChanged) for (const change of state.changes) if (before?.changes.includes(change) !== true) added.push({ ...change, objectId })
    const change = changedIntervals(before, state, horizon)
    for (const month of change.months) removed.push({ clusterId, objectId, month })
    for (const interval of change.intervals) written.push({ ...interval, clusterId, objectId, kindId })
  }
  await stores.objects.update(updated)
  await stores.changes.insert(added, at)
  await stores.intervals.remove(removed)
  await stores.intervals.insert(written)
}

const kindOf = (kindIds: KindIds, identity: ObjectIdentity): UsageKindId => {
  const id = kindIds.get(kindKey(identity))
  if (id === undefined) throw new Error(`The kind ${kindKey(identity)} has no row.`)
  return id
}

const writeFacts = async (stores: UsageEventStores, planned: readonly Planned[], { at, recent }: Work): Promise<void> => {
  const conflicts = planned.flatMap(({ clusterId, events, plan }) =>
    events.flatMap((event, index): EventConflict[] => (plan.verdicts[index] === 'conflict' ? [{ clusterId, eventId: event.id, event: JSON.stringify(event) }] : [])),
  )
  await stores.changes.insertConflicts(conflicts, at)
  for (const { clusterId, plan } of planned) {
    if (plan.modes.length > 0) await stores.facts.insertModes(clusterId, plan.modes)
    if (plan.namespaces.length > 0) await stores.facts.putNamespaces(clusterId, plan.namespaces)
  }
  const unheard = planned.filter(({ clusterId, plan }) => !recent.includes(clusterId, plan.heard))
  if (unheard.length > 0) await writeHours(stores, unheard)
}

const writeHours = async ({ clusters, facts }: UsageEventStores, planned: readonly Planned[]): Promise<void> => {
  const months = monthsOf(planned.flatMap(({ plan }) => plan.heard))
  const stored = await facts.hoursOf(planned.map(({ clusterId }) => clusterId), months)
  for (const { clusterId, plan } of planned) {
    for (const [month, heard] of hoursOf(plan.heard)) {
      const known = stored.find((each) => each.clusterId === clusterId && each.month === month)?.hours
      if (known !== undefined && includesHours(known, heard)) continue
      await facts.putHours(clusterId, month, known === undefined ? heard : unionOfHours(known, heard))
      const hours = heardHours(month, heard)
      const [first, last] = [hours[0], hours.at(-1)]
      if (first !== undefined && last !== undefined) await clusters.extend(clusterId, first, last)
    }
  }
}
