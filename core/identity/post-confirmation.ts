import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Allowances } from './allowance-ports.ts'
import { linkCodeMinutes, linkWithCode, makeIssueLinkCode, TooManyMails } from './link-codes.ts'
import type { IssueLinkCodeDeps } from './link-codes.ts'
import type { IdentityChanges, IdentitySettings } from './ports.ts'

export interface PostConfirmationDeps extends IssueLinkCodeDeps {
  readonly settings: Pick<IdentitySettings, 'baseUrl'>
}

/** Who says to have an address. */
export interface AddressClaim {
  readonly userId: UserId
  readonly login: string
  /** As it was written; compared without regard to case. */
  readonly email: string
}

/** Posts the mail that asks whether an address is the user's, within the surrounding transaction. */
export const makePostConfirmation = (deps: PostConfirmationDeps) => {
  const issue = makeIssueLinkCode(deps)
  return async (stores: IdentityChanges, { userId, login, email }: AddressClaim): Outcome<Failure<'TooManyMails'>, void> => {
    const code = await issue(stores, 'email-confirmation', { userId, emailKey: email.toLowerCase() })
    if (isLeft(code)) return code
    await stores.mail.post({
      to: email,
      subject: 'Confirm your e-mail address',
      paragraphs: [
        `Somebody, hopefully you, gave this address for the account ${login}. Confirm that it is yours.`,
        `The link and the code are good for ${linkCodeMinutes['email-confirmation'] / 60} hours, once. The code is: ${code.right.reveal()}`,
        'If this was not you, ignore this mail: without the confirmation the address is good for nothing.',
      ],
      action: { label: 'Confirm the address', url: linkWithCode(deps.settings.baseUrl(), 'confirm-email', code.right) },
      accountId: userId,
    })
    return right(undefined)
  }
}

/** Whether a user may have this many more mails sent to addresses that nobody confirmed: an address that is added and removed again is a stranger's. */
export const mayPostConfirmations = async (allowances: Allowances, userId: UserId, count: number): Outcome<Failure<'TooManyMails'>, void> => {
  for (let n = 0; n < count; n++) {
    const retryAfterSeconds = await allowances.take('email-confirmation', String(userId))
    if (retryAfterSeconds !== undefined) return left(TooManyMails('You had enough mail sent to new addresses today; wait before the next one.', { retryAfterSeconds }))
  }
  return right(undefined)
}
