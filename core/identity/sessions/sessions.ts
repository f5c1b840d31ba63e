import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SessionId, UserId } from '../../kernel/ids.ts'
import type { Call, SessionProof, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { userMissing } from '../types.ts'
import { auditOfUser } from '../audit.ts'
import type { IdentityChanges, IdentitySettings, IdentityStores, TokenDigest } from '../ports.ts'
import { isSameBytes, randomBase62 } from '../../kernel/secret.ts'
import type { RememberedId, SessionRecord } from '../types.ts'
import type { RememberedLogin } from './ports.ts'

/** The maximum number of sessions, and so of remembered logins, of a user. The oldest are removed first. */
const maxSessionsPerUser = 20
/** The minimum interval between updates of `last used` and `last seen`: they are marks, not a log. */
const markEverySeconds = 60
/** Tabs that load concurrently send one secret several times. For this many seconds, repeats do not count as theft. */
const rotationGraceSeconds = 30

export interface SessionTimes {
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

const earlier = (a: Date, b: Date): Date => (a.getTime() < b.getTime() ? a : b)

/**
 * Returns the lifetime of a session that starts now. A session of a remembered login ends no later than the login.
 *
 * @internal
 */
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
  const isFresh =
    login.rotatedAt !== undefined && now.getTime() - login.rotatedAt.getTime() <= rotationGraceSeconds * 1000
  if (isSameBytes(login.secretHash, presentedHash)) return isFresh ? 'further' : 'rotate'
  return isFresh && login.previousHash !== undefined && isSameBytes(login.previousHash, presentedHash)
    ? 'further'
    : 'stolen'
}

/** 43 base62 characters are slightly more than 256 bits. */
const sessionKeyLength = 43

/** Returns a new session key for a browser. A key from a request is never reused, which prevents session fixation. */
export const newSessionKey = (entropy: Entropy): string => randomBase62(entropy, sessionKeyLength)

export interface OpenSessionDeps {
  readonly digest: TokenDigest
  readonly settings: IdentitySettings
}

export interface OpenedWith {
  readonly userId: UserId
  readonly key: string
  /** The remembered login of the session. The session ends no later than the login. */
  readonly remembered: { readonly id: RememberedId; readonly expiresAt: Date } | undefined
  readonly proof: SessionProof | undefined
  readonly now: Date
}

/** Opens a session inside a transaction that has locked the user's row. The oldest sessions beyond the limit end. */
export const openSession = async (
  stores: Pick<IdentityStores, 'sessions'>,
  deps: OpenSessionDeps,
  call: Call,
  { userId, key, remembered, proof, now }: OpenedWith,
): Promise<SessionId> => {
  const id = await stores.sessions.insert({
    userId,
    hash: deps.digest.digest(key),
    rememberedId: remembered?.id,
    sourceIp: call.sourceIp,
    userAgent: call.userAgent ?? '',
    createdAt: now,
    proof,
    ...newSessionTimes(deps.settings, now, remembered?.expiresAt),
  })
  await stores.sessions.trim(userId, maxSessionsPerUser, now)
  return id
}

export const SessionMissing = defineFailure('SessionMissing', 'NotFound', 'The session does not exist.')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/**
 * Ends the session that the call came with, and its remembered login. A call with another credential changes nothing.
 */
export const makeSignOut =
  (deps: Deps) =>
  async (call: SignedInCall): Outcome<never, void> => {
    const { sessionId, userId, login } = call.principal
    if (sessionId === undefined) return right(undefined)
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await stores.sessions.remove(userId, sessionId)
      await stores.audit.record(auditOfUser({ id: userId, login }, 'user.signed_out', { session: sessionId }))
      return right(undefined)
    })
  }

/**
 * Ends all of the caller's sessions and remembered logins except the current one, and returns the remaining sessions.
 */
export const makeRevokeOtherSessions =
  (deps: Deps & { readonly clock: Clock }) =>
  async (call: SignedInCall<readonly SessionRecord[]>): Outcome<never, readonly SessionRecord[]> =>
    deps.unitOfWork.run<never, readonly SessionRecord[]>(call, async (stores) => {
      const { userId, login, sessionId } = call.principal
      await stores.users.lock(userId)
      const ended = await (sessionId === undefined
        ? stores.sessions.removeAll(userId, undefined)
        : stores.sessions.removeOthers(userId, sessionId))
      await stores.audit.record(auditOfUser({ id: userId, login }, 'session.others_revoked', { sessions_ended: ended }))
      return right(await stores.sessions.list(userId, deps.clock.now()))
    })

/** For a site admin: ends all sessions and remembered logins of a user. Access tokens remain. */
export const makeEndUserSessions =
  (deps: Deps & { readonly stores: Pick<IdentityStores, 'users'> }) =>
  async (call: SignedInCall, login: string): Outcome<Failure<'UserMissing'>, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    return deps.unitOfWork.run<Failure<'UserMissing'>, void>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      const ended = await stores.sessions.removeAll(user.id, undefined)
      await stores.audit.record(auditOfUser(user, 'user.sessions_ended', { sessions_ended: ended }))
      return right(undefined)
    })
  }

/** Ends one of the caller's sessions, with its remembered login, and returns the remaining sessions. */
export const makeRevokeSession =
  (deps: Deps & { readonly clock: Clock }) =>
  async (
    call: SignedInCall<readonly SessionRecord[]>,
    id: SessionId,
  ): Outcome<Failure<'SessionMissing'>, readonly SessionRecord[]> =>
    deps.unitOfWork.run<Failure<'SessionMissing'>, readonly SessionRecord[]>(call, async (stores) => {
      const { userId, login } = call.principal
      if (!(await stores.sessions.remove(userId, id))) return left(SessionMissing('The session does not exist.'))
      await stores.audit.record(auditOfUser({ id: userId, login }, 'session.revoked', { session: id }))
      return right(await stores.sessions.list(userId, deps.clock.now()))
    })

/** The number of days for which an ended session or remembered login is kept, to allow investigation. */
const keepOverSessionsDays = 7

export interface DropOverSessionsDeps {
  readonly stores: Pick<IdentityStores, 'sessions'>
  readonly clock: Clock
}

/** Removes remembered logins and sessions that ended at least a week ago, in batches. Returns the number removed. */
export const makeDropOverSessions =
  (deps: DropOverSessionsDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    const before = laterByDays(deps.clock.now(), -keepOverSessionsDays)
    let dropped = 0
    while (!signal.aborted) {
      const some = await deps.stores.sessions.purge(before)
      if (some === 0) break
      dropped += some
    }
    return dropped
  }
