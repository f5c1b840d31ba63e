import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { CheckCredentialsDeps } from './check-credentials.ts'
import { makeCheckCredentials } from './check-credentials.ts'
import type { UseOneTimeCode } from './second-factor-ports.ts'
import type { ProvenSecrets } from './still-proven.ts'

/** The caller is known, but did not prove the password (and code) in this very request. */
export const ProofRequired = defineFailure('ProofRequired', 'Forbidden')

export interface ProveAgainDeps extends CheckCredentialsDeps {
  readonly useOneTimeCode: UseOneTimeCode
}

export interface Proof {
  readonly password: Secret | undefined
  /** A code of the authenticator, or a recovery code. */
  readonly passCode: string | undefined
}

export type ProveAgainFailure = Failure<'ProofRequired'> | Failure<'TooManyAttempts'>

/** One answer to what is missing, wrong, used, or locked for now. */
const required = ({ principal }: SignedInCall<never>): Failure<'ProofRequired'> =>
  ProofRequired(
    'Prove in this request that it is you: HTTP Basic with the password and a one-time code, or the keys password and passCode in the body. After too many failed attempts wait before the next one.',
    { about: { tenantId: principal.userId, objectType: 'user', objectId: principal.userId, objectName: principal.login } },
  )

/**
 * Proves anew that the caller holds the account's password and, where one is enrolled, second factor: a session or token
 * alone may be stolen. Answers what was proven, for the change to compare inside its transaction; undefined for HTTP
 * Basic, which has proven both for this request already and whose principal says so.
 */
export const makeProveAgain = (deps: ProveAgainDeps) => {
  const checkCredentials = makeCheckCredentials(deps)
  return async (call: SignedInCall<never>, proof: Proof): Outcome<ProveAgainFailure, ProvenSecrets | undefined> => {
    const { principal, sourceIp } = call
    if (principal.impersonator !== undefined) return left(required(call))
    if (principal.method === 'password') return right(undefined)
    if (proof.password === undefined) return left(required(call))
    const checked = await checkCredentials({ login: principal.login, password: proof.password, sourceIp })
    if (isLeft(checked)) return left(checked.left.tag === 'TooManyAttempts' ? (checked.left as Failure<'TooManyAttempts'>) : required(call))
    // The name may have gone to somebody else since the caller was proven.
    if (checked.right.account.userId !== principal.userId) return left(required(call))
    const { phc, hasSecondFactor, secondFactorRef } = checked.right
    const proven = { phc: secret(phc), secondFactorRef }
    if (!hasSecondFactor) return right(proven)
    const used = await deps.useOneTimeCode({ userId: principal.userId, code: proof.passCode, sourceIp })
    if (isLeft(used)) return left(used.left.tag === 'TooManyAttempts' ? (used.left as Failure<'TooManyAttempts'>) : required(call))
    return right(proven)
  }
}
