import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeImpersonate } from './impersonate.ts'
import { makeMarkUsed } from './mark-used.ts'
import type { Authenticator, Background, Credential } from './ports.ts'
import { makeProvePassword } from './prove-password.ts'
import { makeProvePasswordAgain } from './prove-password-again.ts'
import type { ProvePasswordDeps } from './prove-password.ts'
import { makeProveSession } from './prove-session.ts'
import type { ProveSessionDeps } from './prove-session.ts'
import { makeProveToken } from './prove-token.ts'
import type { ProveTokenDeps } from './prove-token.ts'
import type { SpendOneTimeCode } from './second-factor-ports.ts'
import { isSessionAlive } from './session-rules.ts'

export interface AuthenticateDeps extends ProveTokenDeps, ProveSessionDeps, ProvePasswordDeps {
  readonly background: Background
  readonly spendOneTimeCode: SpendOneTimeCode
}

/** Proves callers over a credential store; see the port for its promises. */
export const makeAuthenticator = (deps: AuthenticateDeps): Authenticator => {
  const mark = makeMarkUsed(deps.background)
  const proveToken = makeProveToken(deps, mark)
  const proveSession = makeProveSession(deps, mark)
  const provePassword = makeProvePassword(deps, mark)
  const impersonate = makeImpersonate(deps.credentials)

  const prove = (credential: Credential, sourceIp: string, loads: 'profile' | undefined) => {
    if (credential.kind === 'token') return proveToken(credential.token.reveal(), loads)
    if (credential.kind === 'session') return proveSession(credential.sessionKey.reveal())
    return provePassword(credential, sourceIp)
  }

  return {
    async authenticate(credential, sudo, sourceIp, loads) {
      const proven = await prove(credential, sourceIp, sudo === undefined ? loads : undefined)
      if (isLeft(proven) || sudo === undefined) return proven
      return impersonate(proven.right, sudo)
    },
    proveAgain: makeProvePasswordAgain(deps.credentials),
    async spendCode(proven, sourceIp) {
      const { unspentCode, ...rest } = proven
      if (unspentCode === undefined) return right(proven)
      const spent = await deps.spendOneTimeCode((proven.impersonator ?? proven).userId, unspentCode, sourceIp)
      return isLeft(spent) ? spent : right(rest)
    },
    async userOfSession(sessionKey) {
      const grant = await deps.credentials.sessionByHash(deps.digest.digest(sessionKey.reveal()))
      return grant !== undefined && grant.account.isEnabled && isSessionAlive(grant, deps.clock.now()) ? grant.account.userId : undefined
    },
  }
}
