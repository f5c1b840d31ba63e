import { isRight, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Mail } from '../kernel/mail.ts'
import type { Call } from '../kernel/principal.ts'
import type { ContractUnitOfWork } from './ports.ts'
import type { Contract, ContractEmails } from './types.ts'

/** How many days before the end a contract's people are reminded, the last reminder first: it makes the earlier one unnecessary. */
const reminderDays = [10, 45] as const
type ReminderDays = (typeof reminderDays)[number]
const batch = 100

/** Returns who is reminded: those who decide about a contract or, if it names none, those who pay for it or use it. */
const recipientsOf = ({ contactPerson, signingAuthority, financeTeam, licenseUsers }: ContractEmails): readonly string[] => {
  const deciders = [...contactPerson, ...signingAuthority]
  return [...new Set(deciders.length > 0 ? deciders : [...financeTeam, ...licenseUsers])]
}

/** A contract that is shorter than the period of a reminder needs none: its end was near from the beginning. */
const isShorterThan = ({ startsAt, endsAt }: Contract, days: ReminderDays): boolean => laterByDays(startsAt, days).getTime() > endsAt.getTime()

const mailTo = (to: string, { name, product, ownerId, ownerName, endsAt }: Contract, days: ReminderDays): Mail => ({
  to,
  subject: `The contract "${name.replace(/\p{Cc}/gu, ' ')}" ends within ${days} days`,
  paragraphs: [
    `The contract "${name}" of ${ownerName} for the product ${product} ends at ${endsAt.toISOString()}. Licenses of its clusters are not valid after that.`,
    'To go on using the product, extend the contract in time and issue the licenses again.',
  ],
  accountId: ownerId,
})

/**
 * Reminds the people of contracts by mail that these end, 45 and 10 days before. Returns the number of contracts that were
 * due; run it until that is 0. The mails are posted in the transaction that records the reminder, so that none is sent twice,
 * even by concurrent runs.
 */
export const makeRemindOfEnds =
  ({ unitOfWork, clock }: { readonly unitOfWork: ContractUnitOfWork; readonly clock: Clock }) =>
  async (call: Call): Promise<number> => {
    const reminded = await unitOfWork.run<never, number>(call, async ({ contracts, mail }) => {
      const now = clock.now()
      let due = 0
      for (const days of reminderDays) {
        for (const contract of await contracts.listToRemind(days, now, laterByDays(now, days), batch)) {
          due += 1
          if (!(await contracts.markReminded(contract.id, days, now))) continue
          if (days === 10) await contracts.markReminded(contract.id, 45, now)
          if (isShorterThan(contract, days)) continue
          for (const to of recipientsOf(contract.emails)) await mail.post(mailTo(to, contract, days))
        }
      }
      return right(due)
    })
    return isRight(reminded) ? reminded.right : 0
  }
