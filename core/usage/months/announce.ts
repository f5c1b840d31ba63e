import type { Contract } from '../../contracts/types.ts'
import type { MailOutbox } from '../../mail/ports.ts'
import { monthText } from '../month.ts'
import type { MonthKey, UsageMonth } from '../types.ts'
import type { FinalMonthOutbox } from '../final-months/ports.ts'

/** What it takes to tell people of a month, in the transaction that publishes it. */
export interface AnnounceStores {
  readonly mail: MailOutbox
  readonly events: Pick<FinalMonthOutbox, 'add'>
  /** Returns the contracts of the account that are in force at some time of the month. */
  readonly contractsIn: (
    ownerId: UsageMonth['ownerId'],
    month: MonthKey,
  ) => Promise<readonly Pick<Contract, 'ownerName' | 'emails'>[]>
}

/**
 * Adds an event for the message bus, and mails the finance teams, and those of the vendor who get alerts, of the
 * contracts that were in force in the month: one mail to each address.
 */
export const announceFinal = async ({ mail, events, contractsIn }: AnnounceStores, made: UsageMonth): Promise<void> => {
  const { ownerId, month, revision } = made
  await events.add(made)
  const contracts = await contractsIn(ownerId, month)
  const ownerName = contracts[0]?.ownerName ?? ''
  const name = ownerName.replace(/\p{Cc}/gu, ' ')
  for (const to of new Set(contracts.flatMap(({ emails }) => [...emails.financeTeam, ...emails.usageAlertAdmin]))) {
    await mail.post({
      to,
      subject: `The usage of ${name} in ${monthText(month)} is final`,
      paragraphs: [
        `Revision ${revision} of the usage report of ${name} for ${monthText(month)} (UTC) is final: its ` +
          'figures do not change any more, unless the month is reopened. The report can be downloaded.',
      ],
      accountId: ownerId,
    })
  }
}
