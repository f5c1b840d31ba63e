import { isRight, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Mail } from '../kernel/mail.ts'
import type { Call } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { DueNotice, SecondFactorNotice } from './policy-ports.ts'
import type { OrganizationStores } from './ports.ts'

/** How long before the end of the grace a member is told once more. */
const nearDays = 3
const batch = 100

/**
 * Tells members without a second factor, by mail, that their organization demands one: when it is switched on or they
 * join, and once more three days before the grace ends. Answers how many mails it posted; run it until that is 0.
 * A mail is posted in the transaction that notes it, so that nobody is told twice, whoever runs this.
 */
export const makeTellSecondFactor =
  (deps: { readonly uow: UnitOfWork<OrganizationStores>; readonly clock: Clock; readonly baseUrl: () => string }) =>
  async (call: Call): Promise<number> => {
    const nearBefore = laterByDays(deps.clock.now(), nearDays)
    const told = await deps.uow.run<never, number>(call, async ({ policies, mail }) => {
      let posted = 0
      for (const due of await policies.dueNotices(nearBefore, batch)) {
        const notice: SecondFactorNotice = due.secondFactorFrom.getTime() < nearBefore.getTime() ? 'near' : 'comes'
        if (!(await policies.markTold(due.orgId, due.userId, notice))) continue
        await mail.post(noticeMail(due, deps.clock.now(), deps.baseUrl()))
        posted += 1
      }
      return right(posted)
    })
    return isRight(told) ? told.right : 0
  }

const noticeMail = (due: DueNotice, now: Date, baseUrl: string): Mail => {
  const isOn = due.secondFactorFrom.getTime() <= now.getTime()
  return {
    to: due.email,
    subject: `The organization ${due.orgName} asks for a second factor`,
    paragraphs: [
      `Your account ${due.login} has no second factor. The organization ${due.orgName} ${
        isOn ? 'lets in only members who have one.' : `lets in only members who have one from ${due.secondFactorFrom.toISOString()} on.`
      }`,
      'Enrol one in the security settings of your account: any app for one-time codes will do.',
    ],
    action: { label: 'Open the security settings', url: secret(`${baseUrl}/user/settings/security`) },
    accountId: due.userId,
  }
}
