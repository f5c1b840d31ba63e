import { getOrMake } from '../../kernel/cache.ts'
import { dayOf, daySeconds, hourStart, monthBounds, monthOf, oneMonthAfter } from '../month.ts'
import type { UnixSeconds, UsageInterval } from '../types.ts'
import type { Horizon } from './intervals.ts'
import { deletionOf, intervalsOf } from './intervals.ts'
import type { CutInterval } from './ports.ts'
import type { ModeChanged, ObjectChange, ObjectIdentity, ObservedNamespace, UsageEvent } from './types.ts'
import { toWireJson } from '../../kernel/json.ts'

/** What is known of an object before and while events are applied. */
export interface ObjectState {
  readonly identity: ObjectIdentity
  readonly lastHeardDay: number
  readonly sendsHeartbeats: boolean
  readonly changes: readonly ObjectChange[]
}

/** What the database has of a cluster, as far as events refer to it. */
export interface ClusterState {
  readonly objects: ReadonlyMap<string, ObjectState>
  readonly modes: readonly Pick<ModeChanged, 'id' | 'at' | 'mode'>[]
  readonly namespaces: ReadonlyMap<string, ObservedNamespace>
}

export type Verdict = 'accepted' | 'repeated' | 'conflict'

/** What events change in a cluster. */
export interface ClusterPlan {
  /** One for each event, in order. */
  readonly verdicts: readonly Verdict[]
  /** The objects after the events, by UID: only those that differ. New changes are behind those of before. */
  readonly objects: ReadonlyMap<string, ObjectState>
  readonly modes: readonly Pick<ModeChanged, 'id' | 'at' | 'mode'>[]
  readonly namespaces: readonly ObservedNamespace[]
  /** The first seconds of the hours in which the cluster was heard, each once. */
  readonly heard: readonly UnixSeconds[]
}

const isSameObject = (a: ObjectIdentity, b: ObjectIdentity): boolean =>
  a.product === b.product &&
  a.group === b.group &&
  a.kind === b.kind &&
  a.namespace === b.namespace &&
  a.namespaceUid === b.namespaceUid &&
  a.name === b.name &&
  a.createdAt === b.createdAt

const isSameChange = (a: ObjectChange, b: ObjectChange): boolean =>
  a.at === b.at &&
  a.milliCpu === b.milliCpu &&
  a.memoryMib === b.memoryMib &&
  a.replicas === b.replicas &&
  a.isTrial === b.isTrial &&
  a.details === b.details

/**
 * Reports whether an observation takes the place of another. Of two at the same second one does, in whatever order they
 * arrive.
 */
const isNewer = (a: ObservedNamespace, b: ObservedNamespace): boolean => {
  if (a.observedAt !== b.observedAt) return a.observedAt > b.observedAt
  return contentOf(a) > contentOf(b)
}
const contentOf = ({ labels, annotations, name, createdAt }: ObservedNamespace): string =>
  toWireJson([labels, annotations, name, createdAt])

const keyOfMode = ({ id, at }: Pick<ModeChanged, 'id' | 'at'>): string => `${at} ${id}`
const keyOfChange = ({ generation, type }: ObjectChange): string => `${generation} ${type}`

/** An object while events are applied. A change costs the same however many the object has. */
class ObjectDraft {
  readonly identity: ObjectIdentity
  readonly #before: ObjectState | undefined
  readonly #added: ObjectChange[] = []
  /** Made for the first change that is compared with others: most objects are new, and have one. */
  #byKey: Map<string, ObjectChange> | undefined
  #lastHeardDay: number
  #sendsHeartbeats: boolean

  constructor(reported: ObjectIdentity, before: ObjectState | undefined) {
    this.identity = before?.identity ?? reported
    this.#before = before
    this.#lastHeardDay = before?.lastHeardDay ?? 0
    this.#sendsHeartbeats = before?.sendsHeartbeats ?? false
  }

  hear(at: UnixSeconds, sendsHeartbeats: boolean): void {
    this.#lastHeardDay = Math.max(this.#lastHeardDay, dayOf(at))
    if (sendsHeartbeats) this.#sendsHeartbeats = true
  }

  /** Returns the change of the same generation and type. */
  find(change: ObjectChange): ObjectChange | undefined {
    const before = this.#before?.changes ?? []
    if (before.length + this.#added.length === 0) return undefined
    this.#byKey ??= new Map([...before, ...this.#added].map((each) => [keyOfChange(each), each]))
    return this.#byKey.get(keyOfChange(change))
  }

  add(change: ObjectChange): void {
    this.#added.push(change)
    this.#byKey?.set(keyOfChange(change), change)
  }

  /** Returns the object after the events, with its new changes behind the others; undefined if it is as it was. */
  result(): ObjectState | undefined {
    const before = this.#before
    const changes = this.#added.length === 0 ? (before?.changes ?? []) : [...(before?.changes ?? []), ...this.#added]
    const isOld =
      before?.lastHeardDay === this.#lastHeardDay &&
      before.sendsHeartbeats === this.#sendsHeartbeats &&
      before.changes === changes
    return isOld
      ? undefined
      : { identity: this.identity, lastHeardDay: this.#lastHeardDay, sendsHeartbeats: this.#sendsHeartbeats, changes }
  }
}

/**
 * Applies events to the state of a cluster. The result is the same for any order and any repetition of events that do
 * not contradict each other.
 */
export const planEvents = (events: readonly UsageEvent[], state: ClusterState): ClusterPlan => {
  const objects = new Map<string, ObjectDraft>()
  const namespaces = new Map<string, ObservedNamespace>()
  const knownModes = new Map(state.modes.map((known) => [keyOfMode(known), known.mode]))
  const modes: Pick<ModeChanged, 'id' | 'at' | 'mode'>[] = []
  const heard = new Set<UnixSeconds>()

  const objectOf = (identity: ObjectIdentity): ObjectDraft =>
    getOrMake(objects, identity.uid, () => new ObjectDraft(identity, state.objects.get(identity.uid)))
  const judge = (event: UsageEvent): Verdict => {
    switch (event.kind) {
      case 'cluster-heard':
        return 'accepted'
      case 'mode': {
        const key = keyOfMode(event)
        const same = knownModes.get(key)
        if (same !== undefined) return same === event.mode ? 'repeated' : 'conflict'
        knownModes.set(key, event.mode)
        modes.push({ id: event.id, at: event.at, mode: event.mode })
        return 'accepted'
      }
      case 'namespace': {
        const known = namespaces.get(event.namespace.uid) ?? state.namespaces.get(event.namespace.uid)
        if (known !== undefined && !isNewer(event.namespace, known)) return 'repeated'
        namespaces.set(event.namespace.uid, event.namespace)
        return 'accepted'
      }
      case 'object-heard':
      case 'change': {
        const object = objectOf(event.object)
        if (!isSameObject(object.identity, event.object)) return 'conflict'
        if (event.kind === 'object-heard') {
          object.hear(event.at, true)
          return 'accepted'
        }
        const same = object.find(event.change)
        if (same !== undefined) return isSameChange(same, event.change) ? 'repeated' : 'conflict'
        object.hear(event.at, false)
        object.add(event.change)
        return 'accepted'
      }
    }
  }
  const verdicts = events.map((event) => {
    const verdict = judge(event)
    if (verdict !== 'conflict') heard.add(hourStart(event.at))
    return verdict
  })
  const changed = [...objects].flatMap(([uid, object]): readonly (readonly [string, ObjectState])[] => {
    const after = object.result()
    return after === undefined ? [] : [[uid, after]]
  })
  return { verdicts, objects: new Map(changed), modes, namespaces: [...namespaces.values()], heard: [...heard] }
}

/** Returns the deletion and the end of the trial of an object, as its changes say. */
export const endsOf = ({
  identity,
  changes,
}: Pick<ObjectState, 'identity' | 'changes'>): {
  readonly deletedAt: UnixSeconds | undefined
  readonly trialEndsAt: UnixSeconds | undefined
} => ({
  deletedAt: deletionOf(changes),
  trialEndsAt: changes.some(({ isTrial }) => isTrial) ? oneMonthAfter(identity.createdAt) : undefined,
})

/** The intervals of an object in the months in which they must be written again. */
export interface IntervalChange {
  readonly months: readonly UsageInterval['month'][]
  readonly intervals: readonly UsageInterval[]
}

/** Intervals of an object that sends heartbeats are continued for this long without any. */
const carriedDays = 35

/** Returns the day on or after which an object must have been heard, so that its intervals are continued in a month. */
export const carriedFromDay = (month: UsageInterval['month']): number => dayOf(monthBounds(month).from) - carriedDays

/** Reports whether the intervals of an object may not have been continued in a month. */
export const isForgotten = (
  { sendsHeartbeats, lastHeardDay }: Pick<ObjectState, 'sendsHeartbeats' | 'lastHeardDay'>,
  month: UsageInterval['month'],
): boolean => sendsHeartbeats && lastHeardDay < carriedFromDay(month)

const keyOf = ({ from, to, milliCpu, memoryMib, generation, replicas }: UsageInterval): string =>
  [from, to, milliCpu, memoryMib, generation, replicas].join()
const inMonth = (intervals: readonly UsageInterval[], month: number): string =>
  intervals
    .filter((each) => each.month === month)
    .map(keyOf)
    .join(';')

/**
 * Compares the intervals of an object before and after new changes. The last month is always written, since it may not
 * be there yet.
 */
export const changedIntervals = (
  before: ObjectState | undefined,
  after: ObjectState,
  horizon: Horizon,
): IntervalChange => {
  const { createdAt } = after.identity
  const now = intervalsOf(createdAt, after.changes, horizon)
  if (before === undefined) return { months: [], intervals: now }
  const wasForgotten = isForgotten(before, horizon.last)
  if (before.changes === after.changes && !wasForgotten) return { months: [], intervals: [] }
  const then = intervalsOf(createdAt, before.changes, horizon)
  const all = [...new Set([...then, ...now].map(({ month }) => month))].sort((a, b) => a - b)
  const months = wasForgotten
    ? all
    : all.filter((month) => month >= horizon.last || inMonth(then, month) !== inMonth(now, month))
  return { months, intervals: now.filter(({ month }) => months.includes(month)) }
}

/** Returns the months of instants. */
export const monthsOf = (instants: readonly UnixSeconds[]): readonly UsageInterval['month'][] => [
  ...new Set(instants.map(monthOf)),
]

/** Returns the day on or after which an object must have been heard, so that none of its intervals is cut. */
export const silentBeforeDay = (clusterLastHeard: UnixSeconds): number => Math.floor(clusterLastHeard / daySeconds) - 1

/**
 * Returns where an interval of an object that sends heartbeats ends: at the end of the day on which the object was last
 * heard, if its cluster was heard 24 hours later or after that; otherwise where the interval ends.
 */
export const cutOf = (
  { from, to, lastHeardDay }: Omit<CutInterval, 'cut'>,
  clusterLastHeard: UnixSeconds,
): UnixSeconds => {
  const silentFrom = (lastHeardDay + 1) * daySeconds
  if (clusterLastHeard < silentFrom + daySeconds) return to
  return Math.min(to, Math.max(from, silentFrom)) as UnixSeconds
}
