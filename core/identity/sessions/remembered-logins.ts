import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/entropy.ts'
import type { Failure } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import { fullScope } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { MailOccasion } from '../emails/account-mail.ts'
import { postIfAddressed, stolenLoginMail } from '../emails/account-mail.ts'
import type { IdentityChanges, IdentitySettings, IdentityStores, TokenDigest } from '../ports.ts'
import { NotAuthenticated } from '../ports.ts'
import { randomBase62 } from '../tokens/token-format.ts'
import type { User } from '../types.ts'
import { auditedUser } from '../types.ts'
import type { BusPasses, RememberedLogin, ResumedSession, SessionResumption } from './ports.ts'
import { judgeSecret } from './session-rules.ts'
import { newSessionKey, openSession } from './sessions.ts'

/** About 131 bits: finds the row, and stays. */
const seriesLength = 22
/** More than 256 bits: proves the browser, and changes. */
const secretLength = 43

const form = /^([0-9A-Za-z]{22})\.([0-9A-Za-z]{43})$/

/** What a remember cookie says. Both halves are secret. */
export interface RememberCookie {
  readonly series: string
  readonly secret: string
}

export const newSeries = (entropy: Entropy): string => randomBase62(entropy, seriesLength)
export const newRememberSecret = (entropy: Entropy): string => randomBase62(entropy, secretLength)

export const rememberCookieValue = (cookie: RememberCookie): Secret => secret(`${cookie.series}.${cookie.secret}`)

/** Undefined where the value is not of our making. */
export const parseRememberCookie = (value: Secret): RememberCookie | undefined => {
  const [, series, cookieSecret] = form.exec(value.reveal()) ?? []
  return series === undefined || cookieSecret === undefined ? undefined : { series, secret: cookieSecret }
}

/** Whether a text has the form of a remember cookie: nothing else is looked at. */
export const hasRememberCookieForm = (text: string): boolean => form.test(text)

export interface ResumeSessionDeps {
  readonly stores: Pick<IdentityStores, 'rememberedLogins'>
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
  readonly busPasses: BusPasses
}

type Resumed = Omit<ResumedSession, 'busPass'>

const over = (): Failure<'NotAuthenticated'> => NotAuthenticated('The session and the remembered login are over; sign in again.')

/** The session of a remembered login, over a store; see the port for its promises. */
export const makeSessionResumption = (deps: ResumeSessionDeps): SessionResumption => ({
  async resume(call, value) {
    const cookie = parseRememberCookie(value)
    const found = cookie === undefined ? undefined : await deps.stores.rememberedLogins.bySeries(deps.digest.digest(cookie.series))
    if (cookie === undefined || found === undefined) return left(over())
    const presented = deps.digest.digest(cookie.secret)
    const fresh = { key: newSessionKey(deps.entropy), cookie: { series: cookie.series, secret: newRememberSecret(deps.entropy) } }
    const resumed = await deps.unitOfWork.run<Failure<'NotAuthenticated'>, Resumed | 'stolen'>(call, async (stores) => {
      // The user first, as everyone does who ends sessions: what is read from here on is how it stands.
      const user = await stores.users.lock(found.userId)
      const login = await stores.rememberedLogins.lock(found.id)
      const now = deps.clock.now()
      if (user === undefined || login === undefined || !user.isActive || user.prohibitLogin || login.expiresAt.getTime() <= now.getTime()) return left(over())
      const verdict = judgeSecret(login, presented, now)
      if (verdict === 'stolen') return right(await endEverything(stores, user, { at: now, sourceIp: call.sourceIp }))
      const rotates = verdict === 'rotate' && (await stores.rememberedLogins.rotate(login.id, presented, deps.digest.digest(fresh.cookie.secret), now))
      const sessionId = await reopen(stores, deps, call, { login, key: fresh.key, now })
      const { id: userId, isAdmin: isSiteAdmin, mustChangePassword } = user
      const principal = { userId, login: user.login, isSiteAdmin, mustChangePassword, method: 'session', scopes: fullScope, sessionId } as const
      const validSeconds = Math.ceil((login.expiresAt.getTime() - now.getTime()) / 1000)
      return right({
        principal,
        sessionKey: secret(fresh.key),
        remembered: rotates ? { value: rememberCookieValue(fresh.cookie), validSeconds } : undefined,
      })
    })
    if (isLeft(resumed)) return resumed
    return resumed.right === 'stolen' ? left(over()) : right(await withBusPass(deps, resumed.right))
  },
})

const withBusPass = async (deps: ResumeSessionDeps, resumed: Resumed): Promise<ResumedSession> => {
  const { userId, login, mustChangePassword } = resumed.principal
  if (mustChangePassword === true) return { ...resumed, busPass: undefined }
  return { ...resumed, busPass: await deps.busPasses.passFor({ userId, login }, deps.settings.sessionSeconds) }
}

/** A new session in the place of those of this login that are over. */
const reopen = async (
  stores: IdentityChanges,
  deps: ResumeSessionDeps,
  call: Call,
  { login, key, now }: { readonly login: RememberedLogin; readonly key: string; readonly now: Date },
) => {
  await stores.sessions.removeOver(login.userId, login.id, now)
  const sessionId = await openSession(stores, deps, call, { userId: login.userId, key, remembered: login, now })
  await stores.rememberedLogins.markUsed(login.id, now, call.sourceIp, call.userAgent ?? '')
  await stores.audit.record({
    action: 'user.session_resumed',
    objectType: 'user',
    objectId: login.userId,
    tenantId: login.userId,
    changes: { session: sessionId },
  })
  return sessionId
}

/** Somebody has a copy of the cookie, and nobody knows who of the two is the user: both are out. */
const endEverything = async (stores: IdentityChanges, user: User, occasion: MailOccasion): Promise<'stolen'> => {
  const ended = await stores.sessions.removeAll(user.id, undefined)
  await stores.audit.record({
    action: 'user.remembered_login_stolen',
    ...auditedUser(user),
    changes: { sessions_ended: ended },
  })
  await postIfAddressed(stores.mail, stolenLoginMail(user, occasion))
  return 'stolen'
}
