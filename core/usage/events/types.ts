import type { FreeObject } from '../../kernel/json.ts'
import type { ClusterMode, ResourceAmount, UnixSeconds, UsageKind, UsageObject } from '../types.ts'
import type { BusRights, SentSubject } from '../../bus/types.ts'
import type { AccountId } from '../../kernel/ids.ts'

export const objectChangeTypes = ['object.created', 'object.resized', 'object.deleted'] as const
/** The changes of an object, each of which is stored once. */
export type ObjectChangeType = (typeof objectChangeTypes)[number]

export const eventTypes = [
  ...objectChangeTypes,
  'object.heartbeat',
  'cluster.mode-changed',
  'cluster.heartbeat',
  'namespace.observed',
] as const
export type UsageEventType = (typeof eventTypes)[number]

/** An event as its sender reports it. No field has been checked; which are required depends on the type. */
export interface ReportedEvent {
  readonly id: string
  readonly type: string
  readonly time: string
  readonly product?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly namespace?: string | undefined
  readonly namespaceUID?: string | undefined
  readonly name?: string | undefined
  readonly generation?: number | undefined
  readonly createdAt?: string | undefined
  readonly trial?: boolean | undefined
  readonly milliCPU?: number | undefined
  readonly memoryMiB?: number | undefined
  readonly replicas?: number | undefined
  readonly details?: FreeObject | undefined
  readonly mode?: string | undefined
  readonly labels?: FreeObject | undefined
  readonly annotations?: FreeObject | undefined
}

/** What an event says of the object itself. It is the same in all events of the object. */
export interface ObjectIdentity
  extends UsageKind, Pick<UsageObject, 'uid' | 'namespace' | 'namespaceUid' | 'name' | 'createdAt'> {}

/** A change of an object. The amounts and replicas of a deletion are 0. */
export interface ObjectChange extends ResourceAmount {
  readonly type: ObjectChangeType
  readonly generation: number
  readonly at: UnixSeconds
  readonly replicas: number
  /** The pods and volumes of the object, as the JSON text of `ObjectDetails`; empty if they were not reported. */
  readonly details: string
  /** Only of a creation: the object is a trial. */
  readonly isTrial: boolean
}

/** What the reports on databases show of an object. */
export interface ObjectDetails {
  readonly pods: readonly (ResourceAmount & { readonly count: number })[]
  readonly volumes: readonly { readonly name: string; readonly sizeMib: number; readonly createdAt: UnixSeconds }[]
}

interface EventBase {
  readonly id: string
  readonly at: UnixSeconds
}

export interface ObjectChanged extends EventBase {
  readonly kind: 'change'
  readonly object: ObjectIdentity
  readonly change: ObjectChange
}
export interface ObjectHeard extends EventBase {
  readonly kind: 'object-heard'
  readonly object: ObjectIdentity
}
export interface ClusterHeard extends EventBase {
  readonly kind: 'cluster-heard'
}
export interface ModeChanged extends EventBase {
  readonly kind: 'mode'
  readonly mode: ClusterMode
}
export interface NamespaceObserved extends EventBase {
  readonly kind: 'namespace'
  readonly namespace: ObservedNamespace
}

/** An event whose fields are valid. */
export type UsageEvent = ObjectChanged | ObjectHeard | ClusterHeard | ModeChanged | NamespaceObserved

/** What was last observed of a namespace. */
export interface ObservedNamespace {
  readonly uid: string
  readonly name: string
  readonly createdAt: UnixSeconds
  /** JSON objects of texts, with the keys in order. */
  readonly labels: string
  readonly annotations: string
  readonly observedAt: UnixSeconds
}

export const refusalReasons = ['invalid', 'too-early', 'too-late', 'conflict'] as const
/**
 * Why an event was refused. `invalid`: a field is missing or not valid. `too-early`: its time is more than 5 minutes
 * ahead. `too-late`: its time is more than 35 days ago. `conflict`: an event with another content was received before.
 */
export type RefusalReason = (typeof refusalReasons)[number]

export interface EventRefusal {
  readonly reason: RefusalReason
  readonly message: string
}

/** What became of an event. `repeated`: it, or an equal one, was received before. */
export type EventResult =
  | { readonly id: string; readonly result: 'accepted' | 'repeated' }
  | ({ readonly id: string; readonly result: 'refused' } & EventRefusal)

/** The subject on which a program reports usage in its own account. */
export const usageEvents: SentSubject = { purpose: 'usage', subject: 'usage.events' }

/** The same in the platform's account: `usage.events.<tenant>`. */
export const usageEventsOfAll = `${usageEvents.subject}.*`

/** Messages that cannot be recorded yet, in the platform's account: `usage.aside.<tenant>`. */
export const usageEventsAside = 'usage.aside.*'

/** What the intake needs in the platform's account: to receive what programs report, and to set messages aside. */
export const intakeRights: BusRights = {
  publish: ['$JS.API.>', '$JS.ACK.usage.>', '$JS.ACK.usage-aside.>', usageEventsAside],
  subscribe: ['_INBOX.>'],
}

/** Returns the account that sent a message with events; undefined if the subject is of something else. */
export const usageSender = (subject: string): AccountId | undefined => {
  const id = /^usage\.(?:events|aside)\.([1-9]\d{0,15})$/.exec(subject)?.[1]
  return id === undefined ? undefined : (Number(id) as AccountId)
}
