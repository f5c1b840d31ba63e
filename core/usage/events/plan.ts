import { dayOf, daySeconds, hourStart, monthBounds, monthOf, oneMonthAfter } from '../month.ts'
import type { UnixSeconds, UsageInterval } from '../types.ts'
import type { Horizon } from './intervals.ts'
import { deletionOf, intervalsOf } from './intervals.ts'
import type { CutInterval } from './ports.ts'
import type { ModeChanged, ObjectChange, ObjectIdentity, ObservedNamespace, UsageEvent } from './types.ts'

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
  /** The objects after the events, by UID: only those that differ. */
  readonly objects: ReadonlyMap<string, ObjectState>
  readonly modes: readonly Pick<ModeChanged, 'id' | 'at' | 'mode'>[]
  readonly namespaces: readonly ObservedNamespace[]
  /** The first seconds of the hours in which the cluster was heard, each once. */
  readonly heard: readonly UnixSeconds[]
}

const isSameObject = (a: ObjectIdentity, b: ObjectIdentity): boolean =>
  a.product === b.product && a.group === b.group && a.kind === b.kind && a.namespace === b.namespace &&
  a.namespaceUid === b.namespaceUid && a.name === b.name && a.createdAt === b.createdAt

const isSameChange = (a: ObjectChange, b: ObjectChange): boolean =>
  a.at === b.at && a.milliCpu === b.milliCpu && a.memoryMib === b.memoryMib && a.replicas === b.replicas && a.isTrial === b.isTrial && a.details === b.details

/** Reports whether an observation takes the place of another. Of two at the same second one does, in whatever order they arrive. */
const isNewer = (a: ObservedNamespace, b: ObservedNamespace): boolean => {
  if (a.observedAt !== b.observedAt) return a.observedAt > b.observedAt
  return contentOf(a) > contentOf(b)
}
const contentOf = ({ labels, annotations, name, createdAt }: ObservedNamespace): string => JSON.stringify([labels, annotations, name, createdAt])

/** Applies events to the state of a cluster. The result is the same for any order and any repetition of events that do not contradict each other. */
export const planEvents = (events: readonly UsageEvent[], state: ClusterState): ClusterPlan => {
  const objects = new Map<string, ObjectState>()
  const namespaces = new Map<string, ObservedNamespace>()
  const modes: Pick<ModeChanged, 'id' | 'at' | 'mode'>[] = []
  const heard = new Set<UnixSeconds>()

  const objectOf = (identity: ObjectIdentity): ObjectState | undefined => objects.get(identity.uid) ?? state.objects.get(identity.uid)
  const heardOf = (known: ObjectState | undefined, identity: ObjectIdentity, at: UnixSeconds, sendsHeartbeats: boolean, changes: readonly ObjectChange[]): void => {
    const lastHeardDay = Math.max(known?.lastHeardDay ?? 0, dayOf(at))
    const isOld = known !== undefined && known.lastHeardDay === lastHeardDay && (known.sendsHeartbeats || !sendsHeartbeats) && known.changes === changes
    if (!isOld) objects.set(identity.uid, { identity, lastHeardDay, sendsHeartbeats: sendsHeartbeats || known?.sendsHeartbeats === true, changes })
  }
  const judge = (event: UsageEvent): Verdict => {
    switch (event.kind) {
      case 'cluster-heard':
        return 'accepted'
      case 'mode': {
        const same = [...state.modes, ...modes].find(({ id, at }) => id === event.id && at === event.at)
        if (same !== undefined) return same.mode === event.mode ? 'repeated' : 'conflict'
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
        const known = objectOf(event.object)
        if (known !== undefined && !isSameObject(known.identity, event.object)) return 'conflict'
        const changes = known?.changes ?? []
        if (event.kind === 'object-heard') {
          heardOf(known, event.object, event.at, true, changes)
          return 'accepted'
        }
        const { change } = event
        const same = changes.find(({ generation, type }) => generation === change.generation && type === change.type)
        if (same !== undefined) return isSameChange(same, change) ? 'repeated' : 'conflict'
        heardOf(known, event.object, event.at, false, [...changes, change])
        return 'accepted'
      }
    }
  }
  const verdicts = events.map((event) => {
    const verdict = judge(event)
    if (verdict !== 'conflict') heard.add(hourStart(event.at))
    return verdict
  })
  return { verdicts, objects, modes, namespaces: [...namespaces.values()], heard: [...heard] }
}

/** Returns the deletion and the end of the trial of an object, as its changes say. */
export const endsOf = ({ identity, changes }: Pick<ObjectState, 'identity' | 'changes'>): { readonly deletedAt: UnixSeconds | undefined; readonly trialEndsAt: UnixSeconds | undefined } => ({
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
export const isForgotten = ({ sendsHeartbeats, lastHeardDay }: Pick<ObjectState, 'sendsHeartbeats' | 'lastHeardDay'>, month: UsageInterval['month']): boolean =>
  sendsHeartbeats && lastHeardDay < carriedFromDay(month)

const keyOf = ({ from, to, milliCpu, memoryMib, generation, replicas }: UsageInterval): string => [from, to, milliCpu, memoryMib, generation, replicas].join()
const inMonth = (intervals: readonly UsageInterval[], month: number): string => intervals.filter((each) => each.month === month).map(keyOf).join(';')

/** Compares the intervals of an object before and after new changes. The last month is always written, since it may not be there yet. */
export const changedIntervals = (before: ObjectState | undefined, after: ObjectState, horizon: Horizon): IntervalChange => {
  const { createdAt } = after.identity
  const now = intervalsOf(createdAt, after.changes, horizon)
  if (before === undefined) return { months: [], intervals: now }
  const wasForgotten = isForgotten(before, horizon.last)
  if (before.changes === after.changes && !wasForgotten) return { months: [], intervals: [] }
  const then = intervalsOf(createdAt, before.changes, horizon)
  const all = [...new Set([...then, ...now].map(({ month }) => month))].sort((a, b) => a - b)
  const months = wasForgotten ? all : all.filter((month) => month >= horizon.last || inMonth(then, month) !== inMonth(now, month))
  return { months, intervals: now.filter(({ month }) => months.includes(month)) }
}

/** Returns the months of instants. */
export const monthsOf = (instants: readonly UnixSeconds[]): readonly UsageInterval['month'][] => [...new Set(instants.map(monthOf))]

/** Returns the day on or after which an object must have been heard, so that none of its intervals is cut. */
export const silentBeforeDay = (clusterLastHeard: UnixSeconds): number => Math.floor(clusterLastHeard / daySeconds) - 1

/**
 * Returns where an interval of an object that sends heartbeats ends: at the end of the day on which the object was last heard, if its
 * cluster was heard 24 hours later or after that; otherwise where the interval ends.
 */
export const cutOf = ({ from, to, lastHeardDay }: Omit<CutInterval, 'cut'>, clusterLastHeard: UnixSeconds): UnixSeconds => {
  const silentFrom = (lastHeardDay + 1) * daySeconds
  if (clusterLastHeard < silentFrom + daySeconds) return to
  return Math.min(to, Math.max(from, silentFrom)) as UnixSeconds
}
