import type { BusRights, SentSubject } from '../../bus/types.ts'
import type { AccountId } from '../../kernel/ids.ts'

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
