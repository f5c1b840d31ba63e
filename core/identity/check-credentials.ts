import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Secret } from '../kernel/secret.ts'
import { maxPasswordLength } from './password-policy.ts'
import type { CredentialStore, PasswordHasher, PasswordRecord } from './ports.ts'
import { NotAuthenticated } from './ports.ts'

export interface CheckCredentialsDeps {
  readonly credentials: CredentialStore
  readonly hasher: PasswordHasher
}

const maxLoginLength = 254

/** The one answer to an unknown name and a wrong password. */
export const badCredentials = (): Failure<'NotAuthenticated'> => NotAuthenticated('The user name or the password is wrong.')

/**
 * Checks a name (or verified address) and a password. An unknown name costs the same hash as a known one and gets the
 * same answer. Says nothing about whether the account may sign in.
 */
export const makeCheckCredentials =
  (deps: CheckCredentialsDeps) =>
  async (login: string, password: Secret): Outcome<Failure<'NotAuthenticated'> | Failure<'TooManyAttempts'>, PasswordRecord> => {
    const plausible = login.length <= maxLoginLength && password.reveal().length <= maxPasswordLength
    const record = plausible ? await deps.credentials.passwordByKey(login.toLowerCase()) : undefined
    const phc = record?.phc ?? (await deps.hasher.dummyPhc())
    const matches: Either<Failure<'TooManyAttempts'>, boolean> = await deps.hasher.verify(phc, password)
    if (isLeft(matches)) return matches
    return record !== undefined && matches.right ? right(record) : left(badCredentials())
  }
