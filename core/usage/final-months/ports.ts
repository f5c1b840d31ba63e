import type { BusRights } from '../../bus/types.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { UsageMonth } from '../types.ts'

/** Subjects in the platform's account of the months of usage that have become final: `usage.months.<tenant>`. */
export const finalMonthsOfAll = 'usage.months.*'

/** What telling them needs in the platform's account. */
export const finalMonthRights: BusRights = { publish: ['$JS.API.>', finalMonthsOfAll], subscribe: ['_INBOX.>'] }

/** A month that has become final, whose message is not published yet. */
export interface FinalMonthEvent extends Pick<UsageMonth, 'ownerId' | 'month' | 'revision' | 'generatedAt'> {
  /** Of the row, ascending by the time at which months became final. */
  readonly id: number
  /** The login of the account; empty if the account is gone. */
  readonly accountName: string
}

/** The events that are not published yet. They are added in the transaction that publishes the month. */
export interface FinalMonthOutbox {
  add(month: Pick<UsageMonth, 'ownerId' | 'month' | 'revision' | 'generatedAt'>): Promise<void>
  /** Returns the oldest events. */
  oldest(limit: number): Promise<readonly FinalMonthEvent[]>
  remove(event: Pick<FinalMonthEvent, 'id' | 'ownerId'>): Promise<void>
}
export const FinalMonthOutboxPort = portKey<FinalMonthOutbox>('usage.FinalMonthOutbox')

export interface FinalMonthMessage {
  readonly subject: string
  /** The same each time that the event is published. */
  readonly id: string
  readonly body: string
}

/** Carries the events to their readers. */
export interface FinalMonthBus {
  /**
   * Resolves after the bus has stored all messages. Rejects if it has not stored one of them: some may be stored then.
   */
  publish(messages: readonly FinalMonthMessage[]): Promise<void>
}
export const FinalMonthBusPort = portKey<FinalMonthBus>('usage.FinalMonthBus')
