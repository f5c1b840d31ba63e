import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import { randomBase62 } from './access-token.ts'
import type { LinkCode, LinkCodeKind } from './link-code-ports.ts'
import type { IdentityStores, TokenDigest } from './ports.ts'

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
