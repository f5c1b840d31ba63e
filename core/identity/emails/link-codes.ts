import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { secret, randomBase62 } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { ThrottledCheckDeps } from '../credentials.ts'
import { makeThrottledCheck } from '../credentials.ts'
import type { Allowances } from '../attempt-ports.ts'
import type { IdentityChanges, IdentitySettings, IdentityStores, TokenDigest } from '../ports.ts'
import { emailConfirmedMail, postIfAddressed } from './account-mail.ts'
import type { LinkCode, LinkCodeKind } from './ports.ts'

/** The code is unknown, used, replaced or expired. All cases give the same answer. */
export const LinkCodeInvalid = defineFailure(
  'LinkCodeInvalid',
  'Unprocessable',
  'The code is wrong, used, replaced by a newer one, or expired.',
)
/** The limit of codes to the address is reached; the next one must wait. */
export const TooManyMails = defineFailure(
  'TooManyMails',
  'Backoff',
  'Too many mails were sent to this address; try again after `Retry-After` seconds.',
)

export const linkCodeInvalid = (): Failure<'LinkCodeInvalid'> =>
  LinkCodeInvalid('The code is wrong, was used, was replaced by a newer one, or has expired. Request a new one.')

/** 62^32 is more than 2^190. */
const codeLength = 32
const codeForm = /^[0-9A-Za-z]{32}$/

/** The lifetime of each kind of code, in minutes. */
export const linkCodeMinutes: Readonly<Record<LinkCodeKind, number>> = {
  'email-confirmation': 180,
  'password-reset': 30,
}

/** The maximum number of codes of all kinds sent to one address within an hour, regardless of who requests them. */
const mailsPerHour = 5
const hourSeconds = 3600
/** A row counts toward the limit for an hour; it is kept for a day to allow diagnosis. */
export const keepLinkCodesSeconds = 24 * hourSeconds

/**
 * Returns when the next code may be sent to an address; undefined if one may be sent now. `sent` holds the times within
 * the last hour, oldest first.
 *
 * @internal
 */
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
 * Creates a code for a user and an address, within the surrounding transaction, and closes the codes that it replaces:
 * an older confirmation of the same address, or any older reset of the user.
 */
export const makeIssueLinkCode =
  (deps: IssueLinkCodeDeps) =>
  async (
    stores: Pick<IdentityStores, 'linkCodes'>,
    kind: LinkCodeKind,
    { userId, emailKey }: LinkCode,
  ): Outcome<Failure<'TooManyMails'>, Secret> => {
    const now = deps.clock.now()
    const nextAt = nextMailAt(await stores.linkCodes.sentSince(emailKey, laterBySeconds(now, -hourSeconds)))
    if (nextAt !== undefined) {
      const retryAfterSeconds = Math.max(1, Math.ceil((nextAt.getTime() - now.getTime()) / 1000))
      return left(
        TooManyMails('Too many mails were sent to this address within the last hour; wait and try again.', {
          retryAfterSeconds,
        }),
      )
    }
    await stores.linkCodes.closeAll(userId, kind, kind === 'password-reset' ? undefined : emailKey, now)
    const code = randomBase62(deps.entropy, codeLength)
    const expiresAt = laterBySeconds(now, linkCodeMinutes[kind] * 60)
    await stores.linkCodes.insert({ userId, emailKey, kind, hash: deps.digest.digest(code), createdAt: now, expiresAt })
    return right(secret(code))
  }

/** Returns the digest of a text in the form of a code. Any other text is not looked up. */
export const linkCodeHash = (digest: TokenDigest, text: string): Either<Failure<'LinkCodeInvalid'>, Uint8Array> =>
  codeForm.test(text) ? right(digest.digest(text)) : left(linkCodeInvalid())

/** Returns `{base_url}/page?code=...`, as a console opens it. */
export const linkWithCode = (baseUrl: string, page: 'confirm-email' | 'reset-password', code: Secret): Secret =>
  secret(`${baseUrl}/${page}?code=${code.reveal()}`)

export interface PostConfirmationDeps extends IssueLinkCodeDeps {
  readonly settings: Pick<IdentitySettings, 'baseUrl'>
}

/** A user's claim to an address. */
export interface AddressClaim {
  readonly userId: UserId
  readonly login: string
  /** In its original spelling; compared without regard to case. */
  readonly email: string
}

/** Posts the mail that asks to confirm an address, within the surrounding transaction. */
export const makePostConfirmation = (deps: PostConfirmationDeps) => {
  const issue = makeIssueLinkCode(deps)
  return async (
    stores: IdentityChanges,
    { userId, login, email }: AddressClaim,
  ): Outcome<Failure<'TooManyMails'>, void> => {
    const code = await issue(stores, 'email-confirmation', { userId, emailKey: email.toLowerCase() })
    if (isLeft(code)) return code
    await stores.mail.post({
      to: email,
      subject: 'Confirm your e-mail address',
      paragraphs: [
        `This address was added to the account ${login}. Confirm that it is yours.`,
        `The link and the code are valid for ${linkCodeMinutes['email-confirmation'] / 60} hours, once. ` +
          `The code is: ${code.right.reveal()}`,
        'If this was not you, ignore this mail: without the confirmation the address cannot be used.',
      ],
      action: { label: 'Confirm the address', url: linkWithCode(deps.settings.baseUrl(), 'confirm-email', code.right) },
      accountId: userId,
    })
    return right(undefined)
  }
}

/**
 * Reports whether a user may have this many more mails sent to unconfirmed addresses. Without a limit, adding and
 * removing an address repeatedly would send mail to other people.
 */
export const mayPostConfirmations = async (
  allowances: Allowances,
  userId: UserId,
  count: number,
): Outcome<Failure<'TooManyMails'>, void> => {
  for (let n = 0; n < count; n++) {
    const retryAfterSeconds = await allowances.take('email-confirmation', String(userId))
    if (retryAfterSeconds !== undefined)
      return left(
        TooManyMails('You sent too many mails to new addresses today; wait and try again.', { retryAfterSeconds }),
      )
  }
  return right(undefined)
}

/**
 * Releases an address for a new owner. If another user added it and did not confirm it while the first code was valid,
 * it is removed from that user: naming an address must not be enough to keep it. Recorded in that account's log.
 */
export const removeExpiredEmailClaim = async (
  stores: Pick<IdentityChanges, 'audit' | 'emails' | 'users'>,
  key: string,
  now: Date,
): Promise<void> => {
  const before = laterBySeconds(now, -linkCodeMinutes['email-confirmation'] * 60)
  const claimantId = await stores.emails.releaseUnconfirmed(key, before)
  const claimant = claimantId === undefined ? undefined : await stores.users.byId(claimantId)
  if (claimant === undefined) return
  await stores.audit.record(auditOfUser(claimant, 'email.removed', { addresses: 1, by: 'lapse' }))
}

export interface ConfirmEmailDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly clock: Clock
}

type ConfirmFailure = Failure<'LinkCodeInvalid'> | Failure<'TooManyAttempts'>

/**
 * Confirms the address that a code was sent to, if it still belongs to that user. Does not sign in. If the account
 * waited for its primary address, it becomes active; for any other address the primary one is notified.
 */
export const makeConfirmEmail = (deps: ConfirmEmailDeps) => {
  const judge = makeThrottledCheck(deps)
  return async (call: Call, code: string): Outcome<ConfirmFailure, void> => {
    const attempt = { kind: 'reset-code', subject: code.slice(0, 64), sourceIp: call.sourceIp } as const
    const confirmed = await judge<Failure<'TooManyAttempts'>, Failure<'LinkCodeInvalid'>, true>(
      attempt,
      () => confirm(deps, call, code),
      linkCodeInvalid,
    )
    return isLeft(confirmed) ? confirmed : right(undefined)
  }
}

const confirm = async (deps: ConfirmEmailDeps, call: Call, code: string): Outcome<never, true | undefined> => {
  const hash = linkCodeHash(deps.digest, code)
  if (isLeft(hash)) return right(undefined)
  const outcome = await deps.unitOfWork.run<Failure<'LinkCodeInvalid'>, true>(call, async (stores) => {
    const now = deps.clock.now()
    const found = await stores.linkCodes.find('email-confirmation', hash.right, now)
    if (found === undefined) return left(linkCodeInvalid())
    const user = await stores.users.lock(found.userId)
    const isUsed = user !== undefined && (await stores.linkCodes.use('email-confirmation', hash.right, now))
    if (!isUsed || !(await stores.emails.verify(user.id, found.emailKey, now))) return left(linkCodeInvalid())
    const isPrimary = user.primaryEmail.toLowerCase() === found.emailKey
    const isAwaited = isPrimary && (await stores.accountLife.confirm(user.id))
    if (!isPrimary)
      await postIfAddressed(stores.mail, emailConfirmedMail(user, found.emailKey, { at: now, sourceIp: call.sourceIp }))
    await stores.audit.record(auditOfUser(user, 'email.confirmed', { activated: isAwaited }))
    return right(true)
  })
  return isLeft(outcome) ? right(undefined) : outcome
}
