import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UseOneTimeCode } from './second-factor-ports.ts'
import { makeSignInBy } from './sign-in.ts'
import type { SignedIn, SignInDeps, SignInFailure, SignInInput } from './sign-in.ts'

export interface SignInWithCodeInput extends SignInInput {
  /** A code of the authenticator, or a recovery code. */
  readonly code: string | undefined
}

/**
 * Signs in with password and, where a second factor is enrolled, a code that nobody has used. The code is not looked at
 * before the password was right, nor where there is no second factor.
 */
export const makeSignInWithCode = (deps: SignInDeps & { readonly useOneTimeCode: UseOneTimeCode }) => {
  const signIn = makeSignInBy(deps)
  return (call: Call, input: SignInWithCodeInput): Outcome<SignInFailure | Failure<'OneTimeCodeRequired'>, SignedIn> => {
    // A second attempt of one sign-in must not ask for a second code: the first is used up.
    let provenFor: UserId | undefined
    return signIn<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>>(call, input, async ({ account: { userId }, hasSecondFactor }) => {
      if (!hasSecondFactor || provenFor === userId) return right(undefined)
      const used = await deps.useOneTimeCode({ userId, code: input.code, sourceIp: call.sourceIp })
      if (!isLeft(used)) provenFor = userId
      return used
    })
  }
}
