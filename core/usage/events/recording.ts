import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { getOrMake } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import type { UsageClusterId, UsageKind, UsageKindId, UsageObjectId } from '../types.ts'
import type { Horizon } from './intervals.ts'
import { horizonAt } from './intervals.ts'
import type { ClusterPlan, ObjectState, Verdict } from './plan.ts'
import { changedIntervals, endsOf, isForgotten, monthsOf, planEvents } from './plan.ts'
import type {
  EventConflict,
  NewObject,
  ObjectMonth,
  ObjectUid,
  StoredInterval,
  StoredObject,
  UsageEventStores,
  UsageEventUnitOfWork,
  UsageKindStore,
} from './ports.ts'
import type { RecentlyHeard } from './recently-heard.ts'
import { heardHours, hoursOf, includesHours, unionOfHours } from './presence.ts'
import type { ObjectChange, ObjectIdentity, UsageEvent } from './types.ts'
import { toWireJson } from '../../kernel/json.ts'

/** Valid events of one cluster. */
export interface ClusterEvents {
  readonly clusterId: UsageClusterId
  readonly events: readonly UsageEvent[]
}

type Verdicts = readonly (readonly Verdict[])[]

/** Records events of clusters in one transaction. Returns the verdicts of each, in order. Throws `Unavailable`. */
export type RecordEvents = (call: Call<Verdicts>, batches: readonly ClusterEvents[]) => Promise<Verdicts>

export interface RecordingDeps {
  readonly clock: Clock
  readonly kinds: UsageKindStore
  readonly unitOfWork: UsageEventUnitOfWork
  readonly recent: RecentlyHeard
}

/** The ids of kinds, by product, API group and kind. */
type KindIds = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, UsageKindId>>>
const kindIdOf = (ids: KindIds, { product, group, kind }: UsageKind): UsageKindId | undefined =>
  ids.get(product)?.get(group)?.get(kind)

/** Rolls the transaction back: an object that was taken for a new one exists. */
const ObjectExists = defineFailure('UsageObjectExists', 'Conflict', 'The object was already reported with other facts.')

/**
 * The rows of all clusters are locked in the order of ids, before anything else is read, so that concurrent batches do
 * not block each other in turn. What was heard is noted in memory after the commit: repeating it costs no statement.
 *
 * Objects whose creation is reported are taken for new ones and are not looked up. If one of them exists, its key
 * refuses the insert, and all is done again with what the database has. A cluster of which creations come again is
 * looked up first until they are new ones.
 */
export const makeRecordEvents =
  ({ clock, kinds, unitOfWork, recent }: RecordingDeps): RecordEvents =>
  async (call, batches) => {
    const merged = mergedByCluster(batches)
    const work = { kindIds: await kindIdsOf(kinds, merged), at: clock.now(), horizon: horizonAt(clock.now()), recent }
    let planned: readonly Planned[] = []
    const attempt = (isTakenForNew: (clusterId: UsageClusterId) => boolean) =>
      unitOfWork.run<ReturnType<typeof ObjectExists>, Verdicts>(call, async (stores) => {
        await stores.clusters.lock(merged.map(({ clusterId }) => clusterId))
        planned = await planAll(stores, await findAll(stores, merged, isTakenForNew, work.horizon))
        if (!(await writeObjects(stores, planned, work))) return left(ObjectExists('An object exists already.'))
        await writeFacts(stores, planned, work)
        return right(verdictsOf(batches, planned))
      })
    let done = await attempt(recent.reportsNewObjects)
    if (isLeft(done)) done = await attempt(() => false)
    if (isLeft(done))
      throw new Error('unreachable: an object was inserted under the lock of its cluster by another transaction')
    for (const { clusterId, plan, found } of planned) {
      recent.note(clusterId, plan.heard, plan.objects)
      if (found.created !== 'not looked up') recent.noteCreations(clusterId, found.created === 'new')
    }
    return done.right
  }

const mergedByCluster = (batches: readonly ClusterEvents[]): readonly ClusterEvents[] => {
  const byCluster = Map.groupBy(batches, ({ clusterId }) => clusterId)
  return [...byCluster]
    .map(([clusterId, own]) => ({ clusterId, events: own.flatMap(({ events }) => events) }))
    .sort((a, b) => a.clusterId - b.clusterId)
}

const kindIdsOf = async (kinds: UsageKindStore, batches: readonly ClusterEvents[]): Promise<KindIds> => {
  const ids = new Map<string, Map<string, Map<string, UsageKindId>>>()
  for (const { events } of batches) {
    for (const event of events) {
      if ((event.kind !== 'change' && event.kind !== 'object-heard') || kindIdOf(ids, event.object) !== undefined)
        continue
      const { product, group, kind } = event.object
      const ofProduct = getOrMake(ids, product, () => new Map())
      getOrMake(ofProduct, group, () => new Map()).set(kind, await kinds.ensure(event.object))
    }
  }
  return ids
}

/** Returns the verdicts to the batches as they were given. */
const verdictsOf = (batches: readonly ClusterEvents[], planned: readonly Planned[]): Verdicts => {
  const next = new Map(planned.map(({ clusterId, plan }) => [clusterId, { plan, at: 0 }]))
  return batches.map(({ clusterId, events }) => {
    const place = next.get(clusterId)
    if (place === undefined) return []
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

/** What the database has of the objects of a cluster, by UID, as far as it was looked up. */
interface Found {
  readonly rows: ReadonlyMap<string, StoredObject>
  readonly states: ReadonlyMap<string, ObjectState>
  /** Of the objects whose creation is reported: `new` if none of them exists. */
  readonly created: 'not looked up' | 'new' | 'exists'
}
interface FoundEvents extends ClusterEvents {
  readonly found: Found
}
interface Planned extends FoundEvents {
  readonly plan: ClusterPlan
}

/** The objects of events by UID, and what of it is reported. */
interface Reported {
  isChanged: boolean
  isCreated: boolean
}

const reportedObjects = (events: readonly UsageEvent[]): ReadonlyMap<string, Reported> => {
  const objects = new Map<string, Reported>()
  for (const event of events) {
    if (event.kind !== 'change' && event.kind !== 'object-heard') continue
    const { uid } = event.object
    const known = getOrMake(objects, uid, () => ({ isChanged: false, isCreated: false }))
    if (event.kind !== 'change') continue
    known.isChanged = true
    if (event.change.type === 'object.created') known.isCreated = true
  }
  return objects
}

const findAll = async (
  { objects, changes }: UsageEventStores,
  batches: readonly ClusterEvents[],
  isTakenForNew: (clusterId: UsageClusterId) => boolean,
  { last }: Horizon,
): Promise<readonly FoundEvents[]> => {
  const wanted: ObjectUid[] = []
  const reported = batches.map(({ clusterId, events }) => {
    const [all, looksNew] = [reportedObjects(events), isTakenForNew(clusterId)]
    for (const [uid, { isCreated }] of all) if (!isCreated || !looksNew) wanted.push({ clusterId, uid })
    return { all, looksNew }
  })
  const rows = Map.groupBy(wanted.length === 0 ? [] : await objects.find(wanted), ({ clusterId }) => clusterId)
  const withChanges = batches.flatMap(({ clusterId }, index) =>
    (rows.get(clusterId) ?? [])
      .filter((row) => reported[index]?.all.get(row.uid)?.isChanged === true || isForgotten(row, last))
      .map(({ id }) => id),
  )
  const known = Map.groupBy(
    withChanges.length === 0 ? [] : await changes.listOf(withChanges),
    ({ objectId }) => objectId,
  )
  return batches.map((batch, index) => ({
    ...batch,
    found: foundOf(rows.get(batch.clusterId) ?? [], known, reported[index]),
  }))
}

const foundOf = (
  rows: readonly StoredObject[],
  changes: ReadonlyMap<UsageObjectId, readonly ObjectChange[]>,
  reported: { readonly all: ReadonlyMap<string, Reported>; readonly looksNew: boolean } | undefined,
): Found => {
  const creations =
    reported === undefined || reported.looksNew ? [] : [...reported.all].filter(([, { isCreated }]) => isCreated)
  const byUid = new Map(rows.map((row) => [row.uid, row]))
  return {
    rows: byUid,
    states: new Map(
      rows.map((row) => [
        row.uid,
        {
          identity: row,
          lastHeardDay: row.lastHeardDay,
          sendsHeartbeats: row.sendsHeartbeats,
          changes: changes.get(row.id) ?? [],
        },
      ]),
    ),
    created: creations.length === 0 ? 'not looked up' : creations.some(([uid]) => byUid.has(uid)) ? 'exists' : 'new',
  }
}

const planAll = async ({ facts }: UsageEventStores, batches: readonly FoundEvents[]): Promise<readonly Planned[]> => {
  const planned: Planned[] = []
  for (const batch of batches) {
    const { clusterId, events, found } = batch
    const modes = events.flatMap((event) => (event.kind === 'mode' ? [event] : []))
    const namespaces = events.flatMap((event) => (event.kind === 'namespace' ? [event.namespace.uid] : []))
    const plan = planEvents(events, {
      objects: found.states,
      modes: modes.length === 0 ? [] : await facts.findModes(clusterId, modes),
      namespaces: new Map(
        namespaces.length === 0
          ? []
          : (await facts.namespaces(clusterId, [...new Set(namespaces)])).map((each) => [each.uid, each]),
      ),
    })
    planned.push({ ...batch, plan })
  }
  return planned
}

/** Returns false if an object that was taken for a new one exists. */
const writeObjects = async (
  stores: UsageEventStores,
  planned: readonly Planned[],
  { kindIds, at, horizon }: Work,
): Promise<boolean> => {
  const fresh: (readonly [NewObject, ObjectState])[] = []
  const existing: (readonly [StoredObject, ObjectState, ObjectState | undefined])[] = []
  for (const { clusterId, plan, found } of planned) {
    for (const [uid, state] of plan.objects) {
      const row = found.rows.get(uid)
      if (row === undefined) fresh.push([newObject(clusterId, kindOf(kindIds, state.identity), state), state])
      else existing.push([row, state, found.states.get(uid)])
    }
  }
  // In the order of their key, so that those that are next to each other are written one after the other.
  fresh.sort(([a], [b]) => a.clusterId - b.clusterId || (a.uid < b.uid ? -1 : 1))
  const ids = await stores.objects.insert(fresh.map(([object]) => object))
  if (ids === undefined) return false
  const added: (ObjectChange & { readonly objectId: UsageObjectId })[] = []
  const written: StoredInterval[] = []
  const removed: ObjectMonth[] = []
  const updated: StoredObject[] = []
  for (const [index, [{ clusterId, kindId }, state]] of fresh.entries()) {
    const objectId = ids[index] as UsageObjectId
    for (const change of state.changes) added.push({ ...change, objectId })
    for (const interval of changedIntervals(undefined, state, horizon).intervals)
      written.push({ ...interval, clusterId, objectId, kindId })
  }
  for (const [row, state, before] of existing) {
    const { id: objectId, clusterId, kindId } = row
    const { deletedAt, trialEndsAt } = before?.changes === state.changes ? row : endsOf(state)
    const { lastHeardDay, sendsHeartbeats } = state
    if (
      lastHeardDay !== row.lastHeardDay ||
      sendsHeartbeats !== row.sendsHeartbeats ||
      deletedAt !== row.deletedAt ||
      trialEndsAt !== row.trialEndsAt
    ) {
      updated.push({ ...row, lastHeardDay, sendsHeartbeats, deletedAt, trialEndsAt })
    }
    for (const change of state.changes.slice(before?.changes.length ?? 0)) added.push({ ...change, objectId })
    const change = changedIntervals(before, state, horizon)
    for (const month of change.months) removed.push({ clusterId, objectId, month })
    for (const interval of change.intervals) written.push({ ...interval, clusterId, objectId, kindId })
  }
  await stores.objects.update(updated)
  await stores.changes.insert(added, at)
  await stores.intervals.remove(removed)
  await stores.intervals.insert(written)
  return true
}

const newObject = (clusterId: UsageClusterId, kindId: UsageKindId, state: ObjectState): NewObject => {
  const { uid, namespace, namespaceUid, name, createdAt } = state.identity
  const { deletedAt, trialEndsAt } = endsOf(state)
  return {
    clusterId,
    uid,
    kindId,
    namespace,
    namespaceUid,
    name,
    createdAt,
    lastHeardDay: state.lastHeardDay,
    sendsHeartbeats: state.sendsHeartbeats,
    deletedAt,
    trialEndsAt,
  }
}

const kindOf = (ids: KindIds, identity: ObjectIdentity): UsageKindId => {
  const id = kindIdOf(ids, identity)
  if (id === undefined) throw new Error(`The kind ${identity.kind} has no row.`)
  return id
}

const writeFacts = async (
  stores: UsageEventStores,
  planned: readonly Planned[],
  { at, recent }: Work,
): Promise<void> => {
  const conflicts = planned.flatMap(({ clusterId, events, plan }) =>
    events.flatMap((event, index): EventConflict[] =>
      plan.verdicts[index] === 'conflict' ? [{ clusterId, eventId: event.id, event: toWireJson(event) }] : [],
    ),
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
  const stored = await facts.hoursOf(
    planned.map(({ clusterId }) => clusterId),
    months,
  )
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
