import { toWireJson } from '../../kernel/json.ts'
import { monthText } from '../month.ts'
import type { FinalMonthBus, FinalMonthEvent, FinalMonthMessage, FinalMonthOutbox } from './ports.ts'
import { finalMonthsOfAll } from './ports.ts'

const batch = 100

const messageOf = ({ ownerId, accountName, month, revision, generatedAt }: FinalMonthEvent): FinalMonthMessage => ({
  subject: finalMonthsOfAll.replace('*', String(ownerId)),
  id: `usage-month.${ownerId}.${monthText(month)}.${revision}`,
  body: toWireJson({
    type: 'usage-month.final',
    account: accountName,
    accountID: ownerId,
    month: monthText(month),
    revision,
    status: 'final',
    generatedAt: generatedAt.toISOString(),
  }),
})

/**
 * Publishes the events of months that have become final, each at least once: an event is removed after the bus has
 * stored it. An event that is published again, by this run or that of another instance, has the same id.
 */
export const makePublishFinalMonths =
  ({ outbox, bus }: { readonly outbox: FinalMonthOutbox; readonly bus: FinalMonthBus }) =>
  async (signal: AbortSignal): Promise<void> => {
    for (let events = await outbox.oldest(batch); events.length > 0; events = await outbox.oldest(batch)) {
      signal.throwIfAborted()
      await bus.publish(events.map(messageOf))
      for (const event of events) await outbox.remove(event)
    }
  }
