import type { ContractId } from '../../contracts/types.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, Brand } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { MonthKey, UsageProduct } from '../../usage/types.ts'
import type { Measure } from '../types.ts'

/** No sink has this name. */
export const UsageSinkMissing = defineFailure('UsageSinkMissing', 'NotFound', 'The sink does not exist.')
/** A field of the sink is missing or not valid. */
export const UsageSinkInvalid = defineFailure(
  'UsageSinkInvalid',
  'Unprocessable',
  'A field of the sink is missing or not valid.',
)
/** The account has no customer at the billing engine. */
export const SinkCustomerMissing = defineFailure(
  'SinkCustomerMissing',
  'NotFound',
  'The account has no customer at the billing engine.',
)
/** The sink has no event with this id. */
export const SinkEventMissing = defineFailure('SinkEventMissing', 'NotFound', 'The event does not exist.')
/** The event waits to be sent, or was sent. */
export const SinkEventNotHeld = defineFailure(
  'SinkEventNotHeld',
  'Conflict',
  'Only an event that was refused, or whose fate is unknown, is resolved.',
)

export type SinkId = Brand<number, 'SinkId'>
export type SinkEventId = Brand<number, 'SinkEventId'>

export const sinkKinds = ['lago', 'openmeter', 'stripe'] as const
export type SinkKind = (typeof sinkKinds)[number]

/** A billing engine to which usage is sent. */
export interface Sink {
  readonly id: SinkId
  /** Unique, in lower case. */
  readonly name: string
  readonly kind: SinkKind
  /** Its origin, with a path if the engine is below one; without a slash at the end. */
  readonly address: string
  /** The first month that is sent. */
  readonly fromMonth: MonthKey
  readonly isEnabled: boolean
  /** What the sealed key is bound to. */
  readonly ref: string
  readonly sealedKey: Uint8Array
  /** When it is sent to next: the end of a wait, or of the lease of the process that sends. */
  readonly nextAttemptAt: Date
  /** Attempts that have failed since the last one that did not. */
  readonly failures: number
  /** Why the last attempt failed; empty if it did not. */
  readonly lastError: string
}

/**
 * `unmapped`: the account has no customer. `pending`: it is sent next. `refused`: the engine does not accept it.
 * `unknown`: it was sent, the answer was lost, and the engine no longer knows the ids of then.
 */
export const waitingStates = ['unmapped', 'pending', 'refused', 'unknown'] as const
export type SinkEventState = (typeof waitingStates)[number] | 'sent'

/** What identifies a quantity of a month. */
export interface QuantityKey {
  readonly contractId: ContractId
  readonly product: UsageProduct
  readonly measure: Measure
  readonly use: 'prod' | 'non-prod'
}

/** A quantity, or the difference that a new revision of the month makes to it. */
export interface NewSinkEvent extends QuantityKey {
  /** The same for the same difference, so that an engine detects what it has. At most 100 characters. */
  readonly ref: string
  readonly sinkId: SinkId
  readonly ownerId: AccountId
  readonly month: MonthKey
  readonly revision: number
  readonly thousandths: bigint
  /** To which time the engine counts it. */
  readonly datedAt: Date
  readonly state: SinkEventState
  readonly createdAt: Date
}

export interface SinkEvent extends NewSinkEvent {
  readonly id: SinkEventId
  /** The first time at which it was sent and may have arrived; undefined if it surely has not. */
  readonly attemptedAt: Date | undefined
  /** Why it is held; may be empty. */
  readonly reason: string
}

/** An event that is sent now. */
export interface DueEvent extends SinkEvent {
  readonly externalId: string
}

/** An event that is not sent yet. */
export interface WaitingEvent extends SinkEvent {
  /** Empty if the account is gone. */
  readonly accountName: string
}

export type SinkCounts = Readonly<Record<(typeof waitingStates)[number], number>> & {
  /** The age of the oldest pending event; 0 without one. */
  readonly oldestSeconds: number
}

/** Sinks, the customers of accounts there, and the outbox of events. Each statement stands alone but in a transaction. */
export interface SinkStore {
  /** Returns all sinks, by name. */
  list(): Promise<readonly Sink[]>
  find(name: string): Promise<Sink | undefined>
  /** Locks a sink until the transaction ends. Returns undefined if it does not exist. */
  lock(id: SinkId): Promise<Sink | undefined>
  /** Inserts a sink, or replaces the one with its name. It is due at once. */
  put(sink: Omit<Sink, 'id' | 'failures' | 'lastError'>): Promise<void>
  /** Takes a sink, or renews its lease. Returns false if another process was faster. */
  claim(sink: Pick<Sink, 'id' | 'nextAttemptAt'>, until: Date): Promise<boolean>
  /** Ends a lease that ends at `leasedUntil`; nothing if another process has the sink. */
  release(id: SinkId, leasedUntil: Date, next: Pick<Sink, 'nextAttemptAt' | 'failures' | 'lastError'>): Promise<void>

  customerOf(id: SinkId, ownerId: AccountId): Promise<string | undefined>
  /** Sets the customer of an account, and makes its events pending. */
  putCustomer(id: SinkId, ownerId: AccountId, externalId: string): Promise<void>

  /** Returns the newest revisions that are in the outbox, of months from `first` on. */
  collectedSince(
    id: SinkId,
    first: MonthKey,
  ): Promise<readonly { readonly ownerId: AccountId; readonly month: MonthKey; readonly revision: number }[]>
  setCollected(id: SinkId, ownerId: AccountId, month: MonthKey, revision: number): Promise<void>
  /** Returns what the outbox has of a month in any state, by quantity. */
  sumsOf(
    id: SinkId,
    ownerId: AccountId,
    month: MonthKey,
  ): Promise<readonly (QuantityKey & { readonly thousandths: bigint })[]>
  add(events: readonly NewSinkEvent[]): Promise<void>

  /** Returns pending events, the oldest first. */
  due(id: SinkId, limit: number): Promise<readonly DueEvent[]>
  /** Sets when events were sent; undefined if they surely did not arrive. */
  setAttempted(ids: readonly SinkEventId[], at: Date | undefined): Promise<void>
  setState(ids: readonly SinkEventId[], state: SinkEventState, reason: string): Promise<void>
  /** Returns a page of the events that are not sent, the oldest first. */
  waiting(id: SinkId, page: PageRequest): Promise<Page<WaitingEvent>>
  /** Returns an event and locks it until the transaction ends. */
  lockEvent(id: SinkId, eventId: SinkEventId): Promise<WaitingEvent | undefined>
  /** Counts the events that are not sent, by sink. */
  counts(): Promise<ReadonlyMap<SinkId, SinkCounts>>
}
export const SinkStorePort = portKey<SinkStore>('rating.SinkStore')

export interface SinkStores {
  readonly sinks: SinkStore
  readonly audit: AuditTrail
}
export type SinkUnitOfWork = UnitOfWork<SinkStores>
export const SinkUnitOfWorkPort = portKey<SinkUnitOfWork>('rating.SinkUnitOfWork')

/** An event as an engine gets it. */
export interface UsageRecord extends QuantityKey {
  readonly ref: string
  /** The customer or subscription at the engine. */
  readonly externalId: string
  /** The name of the meter: `dbProduct_cpu_prod`. */
  readonly meter: string
  /** With three decimals: `-1.250`. */
  readonly value: string
  readonly month: string
  readonly datedAt: Date
}

/** What became of a batch. An event that is in none of them surely did not arrive. */
export interface SendResult {
  readonly accepted: readonly string[]
  /** Why the engine will never accept it, by id. */
  readonly refused: ReadonlyMap<string, string>
  /** Why the rest is sent later; undefined if there is no rest. */
  readonly later:
    | {
        readonly reason: string
        /** How long the engine wants to be left alone; 0 if it did not say. */
        readonly retryAfterSeconds: number
        /** Those that may have arrived. */
        readonly unsure: readonly string[]
      }
    | undefined
}

/** A billing engine. An event that is sent again has the same id, and an engine counts it once. */
export interface UsageSink {
  /** The most events of a batch. */
  readonly batch: number
  /** For how long it surely knows the ids of events; undefined for ever. */
  readonly knowsIdsSeconds: number | undefined
  /** How old an event may be; undefined without a limit. */
  readonly oldestSeconds: number | undefined
  /** Sends a batch within 60 seconds. Never throws for what the engine or the network does. */
  send(
    to: { readonly address: string; readonly key: Secret },
    records: readonly UsageRecord[],
    signal: AbortSignal,
  ): Promise<SendResult>
}
export const UsageSinksPort = portKey<Readonly<Record<SinkKind, UsageSink>>>('rating.UsageSinks')
