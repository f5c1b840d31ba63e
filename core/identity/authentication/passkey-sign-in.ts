import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { browserKeyOr } from '../../kernel/secret.ts'
import { localSignInOff, SignInProhibited } from '../access-ports.ts'
import type { Allowances } from '../attempt-ports.ts'
import type { OpenProvenDeps, SignedIn } from './sign-in.ts'
import { openProven, prohibited } from './sign-in.ts'
import type { CredentialStore, IdentityStores } from '../ports.ts'
import { TooManyAttempts } from '../ports.ts'
import { passkeyRefused } from '../passkeys/assertions.ts'
import type { ChallengeDeps } from '../passkeys/challenges.ts'
import { browserBinding, makeIssueChallenge } from '../passkeys/challenges.ts'
import type { AssertionResponse, UsePasskey } from '../passkey-ports.ts'

export interface OfferedSignIn {
  readonly options: FreeObject
  /** The value of the cookie that the challenge is bound to. */
  readonly browser: Secret
}

/** Returns the options for a sign-in with any passkey of this service. The challenge is bound to the browser. */
export const makeOfferPasskeySignIn = (deps: ChallengeDeps & { readonly allowances: Allowances }) => {
  const issueChallenge = makeIssueChallenge(deps)
  return async (
    call: Call,
    known: Secret | undefined,
  ): Outcome<Failure<'PasskeysUnavailable'> | Failure<'TooManyAttempts'>, OfferedSignIn> => {
    const retryAfterSeconds = await deps.allowances.take('passkey-challenge', call.sourceIp)
    if (retryAfterSeconds !== undefined)
      return left(
        TooManyAttempts('Too many sign-ins with a passkey were begun from this address; wait and try again.', {
          retryAfterSeconds,
        }),
      )
    const browser = browserKeyOr(deps.entropy, known)
    const options = await issueChallenge(browserBinding(browser), (party, challenge) =>
      deps.webAuthn.requestOptions(party, challenge, []),
    )
    return isLeft(options) ? options : right({ options: options.right, browser })
  }
}

export interface PasskeySignInDeps extends OpenProvenDeps {
  readonly stores: IdentityStores
  readonly credentials: CredentialStore
  readonly usePasskey: UsePasskey
}

export interface PasskeySignInInput {
  readonly response: AssertionResponse
  readonly browser: Secret | undefined
  readonly remember: boolean
}

export type PasskeySignInFailure =
  | Failure<'PasskeyRefused'>
  | Failure<'PasskeysUnavailable'>
  | Failure<'SignInProhibited'>
  | Failure<'TooManyAttempts'>

/** Opens a session by a passkey alone: the authenticator has verified its user, so no password or code is needed. */
export const makeSignInWithPasskey =
  (deps: PasskeySignInDeps) =>
  async (call: Call, { response, browser, remember }: PasskeySignInInput): Outcome<PasskeySignInFailure, SignedIn> => {
    const { sourceIp } = call
    const used = await deps.usePasskey({ response, binding: browserBinding(browser), userId: undefined, sourceIp })
    if (isLeft(used)) return used
    const { userId } = used.right
    const user = await deps.stores.users.byId(userId)
    const record = user && (await deps.credentials.passwordByKey(user.login.toLowerCase()))
    if (record?.account.userId !== userId) return left(passkeyRefused(userId))
    if (!record.account.isEnabled) return left(prohibited())
    if (record.isLocalSignInOff) return left(SignInProhibited(localSignInOff))
    const opened = await openProven(deps, call, record, { proof: 'passkey', remember, passkey: used.right })
    if (!isLeft(opened)) return opened
    return left(
      opened.left.tag === 'AccountChanged' ? passkeyRefused(userId) : (opened.left as Failure<'SignInProhibited'>),
    )
  }
