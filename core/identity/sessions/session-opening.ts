import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import { auditOfUser } from '../audit.ts'
import type { SessionOpening } from '../access-ports.ts'
import { SignInProhibited } from '../access-ports.ts'
import type { IdentitySettings, TokenDigest } from '../ports.ts'
import type { UseOneTimeCode } from '../second-factor/ports.ts'
import type { BusPasses } from './ports.ts'
import { browserBinding } from '../passkeys/challenges.ts'
import { newSessionKey, openSession } from './sessions.ts'

export interface SessionOpeningDeps {
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
  readonly busPasses: BusPasses
  readonly useOneTimeCode: UseOneTimeCode
}

/** Returns a SessionOpening. See the port for its guarantees. */
export const makeSessionOpening = (deps: SessionOpeningDeps): SessionOpening => ({
  async openIn(stores, call, user, { proof, shown }) {
    if (!user.isActive || user.prohibitLogin)
      return left(
        SignInProhibited(
          'This account may not sign in: it is shut. The identity provider let you in, but an administrator of this ' +
            'service has to enable the account.',
        ),
      )
    const now = deps.clock.now()
    const key = newSessionKey(deps.entropy)
    const old = call.principal
    if (old?.sessionId !== undefined) await stores.sessions.remove(old.userId, old.sessionId)
    const sessionId = await openSession(stores, deps, call, {
      userId: user.id,
      key,
      remembered: undefined,
      proof,
      now,
    })
    await stores.users.markLoggedIn(user.id, now)
    await stores.audit.record(auditOfUser(user, 'user.signed_in', { session: sessionId, remember: false, ...shown }))
    return right({ sessionId, sessionKey: secret(key) })
  },
  async passFor(user) {
    return user.mustChangePassword
      ? undefined
      : deps.busPasses.passFor({ userId: user.id, login: user.login }, deps.settings.sessionSeconds)
  },
  useFactor: ({ passkey, browserKey, ...presented }) =>
    deps.useOneTimeCode({
      ...presented,
      passkey: passkey && { response: passkey, binding: browserBinding(browserKey) },
    }),
})
