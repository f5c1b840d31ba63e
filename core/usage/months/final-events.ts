import { finalMonthsOfAll } from '../../bus/rights.ts'
import { toWireJson } from '../../kernel/json.ts'
import { token } from '../../kernel/token.ts'
import { monthText } from '../month.ts'
import type { UsageMonth } from '../types.ts'

/** A month that has become final, of which the bus was not told yet. */
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
  remove(id: number): Promise<void>
}
export const FinalMonthOutboxToken = token<FinalMonthOutbox>('usage.FinalMonthOutbox')

export interface FinalMonthMessage {
  readonly subject: string
  /** The same each time that the event is published. */
  readonly id: string
  readonly body: string
}

/** Carries the events to their readers. */
export interface FinalMonthBus {
  /** Resolves after the bus has stored all messages. Rejects if it has not stored one of them: some may be stored then. */
  publish(messages: readonly FinalMonthMessage[]): Promise<void>
}
export const FinalMonthBusToken = token<FinalMonthBus>('usage.FinalMonthBus')

const batch = 100

const messageOf = ({ ownerId, accountName, month, revision, generatedAt }: FinalMonthEvent): FinalMonthMessage => ({
  subject: finalMonthsOfAll.replace('*', String(ownerId)),
  id: `usage-month.${ownerId}.${monthText(month)}.${revision}`,
  body: toWireJson({ type: 'usage-month.final', account: accountName, accountID: ownerId, month: monthText(month), revision, status: 'final', generatedAt: generatedAt.toISOString() }),
})

/**
 * Publishes the events of months that have become final, each at least once: an event is removed after the bus has stored it. An event
 * that is published again, by this run or that of another instance, has the same id.
 */
export const makePublishFinalMonths =
  ({ outbox, bus }: { readonly outbox: FinalMonthOutbox; readonly bus: FinalMonthBus }) =>
  async (signal: AbortSignal): Promise<void> => {
    for (let events = await outbox.oldest(batch); events.length > 0; events = await outbox.oldest(batch)) {
      signal.throwIfAborted()
      await bus.publish(events.map(messageOf))
      for (const { id } of events) await outbox.remove(id)
    }
  }
