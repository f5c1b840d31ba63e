import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/entropy.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { Allowances } from '../authentication/ports.ts'
import type { IdentityChanges, IdentitySettings, IdentityStores, TokenDigest } from '../ports.ts'
import { randomBase62 } from '../tokens/token-format.ts'
import { auditedUser } from '../types.ts'
import type { LinkCode, LinkCodeKind } from './ports.ts'

/** Unknown, used, replaced or too old: the answer is the same. */
export const LinkCodeInvalid = defineFailure('LinkCodeInvalid', 'Unprocessable')
/** So many codes went to the address already that another one must wait. */
export const TooManyMails = defineFailure('TooManyMails', 'Backoff')

export const linkCodeInvalid = (): Failure<'LinkCodeInvalid'> =>
  LinkCodeInvalid('This code is wrong, or it was used, replaced by a newer one, or is too old. Ask for a new one.')

/** 62^32 is more than 2^190. */
const codeLength = 32
const codeForm = /^[0-9A-Za-z]{32}$/

/** How long a code is good for. */
export const linkCodeMinutes: Readonly<Record<LinkCodeKind, number>> = { 'email-confirmation': 180, 'password-reset': 30 }

/** So many codes of all kinds go to one address within an hour, whoever asks. */
export const mailsPerHour = 5
const hourSeconds = 3600
/** A row counts what was sent for an hour; a day leaves room to look into what went wrong. */
export const keepLinkCodesSeconds = 24 * hourSeconds

/** When the next code may go to an address; undefined when one may go now. `sent`: within the last hour, oldest first. */
export const nextMailAt = (sent: readonly Date[]): Date | undefined => {
  const oldestThatCounts = sent.at(-mailsPerHour)
  return oldestThatCounts === undefined ? undefined : laterBySeconds(oldestThatCounts, hourSeconds)
}

export interface IssueLinkCodeDeps {
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

/**
 * Makes a code for a user and an address, within the surrounding transaction, and closes what it replaces: an older
 * confirmation of the same address, or any older reset of the user.
 */
export const makeIssueLinkCode =
  (deps: IssueLinkCodeDeps) =>
  async (stores: Pick<IdentityStores, 'linkCodes'>, kind: LinkCodeKind, { userId, emailKey }: LinkCode): Outcome<Failure<'TooManyMails'>, Secret> => {
    const now = deps.clock.now()
    const nextAt = nextMailAt(await stores.linkCodes.sentSince(emailKey, laterBySeconds(now, -hourSeconds)))
    if (nextAt !== undefined) {
      const retryAfterSeconds = Math.max(1, Math.ceil((nextAt.getTime() - now.getTime()) / 1000))
      return left(TooManyMails('Enough mail went to this address within the last hour; wait before the next one.', { retryAfterSeconds }))
    }
    await stores.linkCodes.closeAll(userId, kind, kind === 'password-reset' ? undefined : emailKey, now)
    const code = randomBase62(deps.entropy, codeLength)
    const expiresAt = laterBySeconds(now, linkCodeMinutes[kind] * 60)
    await stores.linkCodes.insert({ userId, emailKey, kind, hash: deps.digest.digest(code), createdAt: now, expiresAt })
    return right(secret(code))
  }

/** The digest of what may be a code; what cannot be one is not looked up. */
export const linkCodeHash = (digest: TokenDigest, text: string): Either<Failure<'LinkCodeInvalid'>, Uint8Array> =>
  codeForm.test(text) ? right(digest.digest(text)) : left(linkCodeInvalid())

/** `{base_url}/page?code=...`, as a console opens it. */
export const linkWithCode = (baseUrl: string, page: 'confirm-email' | 'reset-password', code: Secret): Secret =>
  secret(`${baseUrl}/${page}?code=${code.reveal()}`)

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

/**
 * Makes room for whoever gives an address now: one that somebody added and did not confirm while its first code was good
 * is theirs no longer, so that nobody keeps the address of another by merely naming it. Recorded for that account.
 */
export const releaseLapsedClaim = async (stores: IdentityChanges, key: string, now: Date): Promise<void> => {
  const before = laterBySeconds(now, -linkCodeMinutes['email-confirmation'] * 60)
  const claimantId = await stores.emails.releaseUnconfirmed(key, before)
  const claimant = claimantId === undefined ? undefined : await stores.users.byId(claimantId)
  if (claimant === undefined) return
  await stores.audit.record({
    action: 'email.removed',
    ...auditedUser(claimant),
    changes: { addresses: 1, by: 'lapse' },
  })
}
