import type { IdentitySettings } from '../ports.ts'
import type { RememberedLogin } from './ports.ts'
import { laterBySeconds } from '../../kernel/clock.ts'

/** How many sessions, and so remembered logins, a user may have at once; the oldest go first. */
export const maxSessionsPerUser = 20
/** `last used` and `last seen` move at most so often: a mark, not a log. */
const markEverySeconds = 60
/** Tabs that load at once send one secret several times: for so long the others are no thieves. */
export const rotationGraceSeconds = 30

export interface SessionTimes {
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

const earlier = (a: Date, b: Date): Date => (a.getTime() < b.getTime() ? a : b)

/** How long a session lasts that begins now; one of a remembered login, at most until that is over. */
export const newSessionTimes = (settings: IdentitySettings, now: Date, atMostUntil?: Date): SessionTimes => {
  const whole = laterBySeconds(now, settings.sessionSeconds)
  const expiresAt = atMostUntil === undefined ? whole : earlier(whole, atMostUntil)
  return { expiresAt, idleExpiresAt: renewedIdleExpiry(settings, { expiresAt }, now) }
}

/** Until when a session that is used now stays alive without further use. */
export const renewedIdleExpiry = (settings: IdentitySettings, session: { readonly expiresAt: Date }, now: Date): Date =>
  earlier(session.expiresAt, laterBySeconds(now, settings.sessionIdleSeconds))

export const isSessionAlive = (session: SessionTimes, now: Date): boolean =>
  now.getTime() < session.idleExpiresAt.getTime() && now.getTime() < session.expiresAt.getTime()

/** Whether a mark is old enough to be moved. */
export const isMarkDue = (last: Date | undefined, now: Date): boolean =>
  last === undefined || now.getTime() - last.getTime() >= markEverySeconds * 1000

/**
 * What a presented secret says about its remembered login: it is the one that counts and changes now (`rotate`); it
 * counts, or counted a moment ago, so that it opens a further session without another change (`further`); or somebody
 * else has used it before (`stolen`).
 */
export type SecretVerdict = 'rotate' | 'further' | 'stolen'

/**
 * A secret changes at most once in the grace time: a second change would make thieves of all who come with the first
 * secret a moment late.
 */
export const judgeSecret = (login: RememberedLogin, presentedHash: Uint8Array, now: Date): SecretVerdict => {
  const isFresh = login.rotatedAt !== undefined && now.getTime() - login.rotatedAt.getTime() <= rotationGraceSeconds * 1000
  if (isSameHash(login.secretHash, presentedHash)) return isFresh ? 'further' : 'rotate'
  return isFresh && login.previousHash !== undefined && isSameHash(login.previousHash, presentedHash) ? 'further' : 'stolen'
}

/** Of digests: how long this takes tells nothing that would help to find a secret. */
const isSameHash = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])
