import type { IdentitySettings } from '../ports.ts'
import type { RememberedLogin } from './ports.ts'
import { laterBySeconds } from '../../kernel/clock.ts'

/** The maximum number of sessions, and so of remembered logins, of a user. The oldest are removed first. */
export const maxSessionsPerUser = 20
/** The minimum interval between updates of `last used` and `last seen`: they are marks, not a log. */
const markEverySeconds = 60
/** Tabs that load concurrently send one secret several times. For this many seconds, repeats do not count as theft. */
export const rotationGraceSeconds = 30

export interface SessionTimes {
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

const earlier = (a: Date, b: Date): Date => (a.getTime() < b.getTime() ? a : b)

/** Returns the lifetime of a session that starts now. A session of a remembered login ends no later than the login. */
export const newSessionTimes = (settings: IdentitySettings, now: Date, atMostUntil?: Date): SessionTimes => {
  const whole = laterBySeconds(now, settings.sessionSeconds)
  const expiresAt = atMostUntil === undefined ? whole : earlier(whole, atMostUntil)
  return { expiresAt, idleExpiresAt: renewedIdleExpiry(settings, { expiresAt }, now) }
}

/** Returns the idle expiry of a session that is used now. */
export const renewedIdleExpiry = (settings: IdentitySettings, session: { readonly expiresAt: Date }, now: Date): Date =>
  earlier(session.expiresAt, laterBySeconds(now, settings.sessionIdleSeconds))

export const isSessionAlive = (session: SessionTimes, now: Date): boolean =>
  now.getTime() < session.idleExpiresAt.getTime() && now.getTime() < session.expiresAt.getTime()

/** Reports whether a mark is old enough to be updated. */
export const isMarkDue = (last: Date | undefined, now: Date): boolean =>
  last === undefined || now.getTime() - last.getTime() >= markEverySeconds * 1000

/**
 * What a presented secret means for its remembered login. It is current and is rotated now (`rotate`); it is current,
 * or was a moment ago, and opens another session without rotation (`further`); or it was used before by someone else
 * (`stolen`).
 */
export type SecretVerdict = 'rotate' | 'further' | 'stolen'

/**
 * Judges a presented secret. A secret is rotated at most once within the grace time: a second rotation would report
 * theft for requests that arrive with the first secret a moment late.
 */
export const checkRememberSecret = (login: RememberedLogin, presentedHash: Uint8Array, now: Date): SecretVerdict => {
  const isFresh = login.rotatedAt !== undefined && now.getTime() - login.rotatedAt.getTime() <= rotationGraceSeconds * 1000
  if (isSameHash(login.secretHash, presentedHash)) return isFresh ? 'further' : 'rotate'
  return isFresh && login.previousHash !== undefined && isSameHash(login.previousHash, presentedHash) ? 'further' : 'stolen'
}

/** Compares digests. Its running time reveals nothing that would help to find a secret. */
const isSameHash = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])
