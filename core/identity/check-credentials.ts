import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Secret } from '../kernel/secret.ts'
import type { JudgeGuessDeps } from './judge-guess.ts'
import { makeJudgeGuess } from './judge-guess.ts'
import { maxPasswordLength } from './password-policy.ts'
import type { CredentialStore, PasswordHasher, PasswordRecord } from './ports.ts'
import { NotAuthenticated } from './ports.ts'

export interface CheckCredentialsDeps extends JudgeGuessDeps {
  readonly credentials: CredentialStore
  readonly hasher: PasswordHasher
}

export interface PresentedPassword {
  /** A name, or a verified address. */
  readonly login: string
  readonly password: Secret
  readonly sourceIp: string
}

const maxLoginLength = 254

/**
 * The one answer to an unknown name, a wrong password and a locked account: same bytes, so that it tells nobody which.
 * `userId`, where the account exists, is for that account's own log.
 */
export const badCredentials = (userId?: UserId): Failure<'NotAuthenticated'> =>
  NotAuthenticated(
    'The user name or the password is wrong, or there were too many failed attempts; in that case wait before the next one.',
    { about: { action: 'user.sign_in_refused', objectType: 'user', ...(userId === undefined ? {} : { tenantId: userId, objectId: userId }) } },
  )

/**
 * Checks a name (or verified address) and a password. An unknown name and a locked subject cost the same hash as a wrong
 * password, are counted alike and get the same answer. Says nothing about whether the account may sign in.
 */
export const makeCheckCredentials = (deps: CheckCredentialsDeps) => {
  const judgeGuess = makeJudgeGuess(deps)
  return async (presented: PresentedPassword): Outcome<Failure<'NotAuthenticated'> | Failure<'TooManyAttempts'>, PasswordRecord> => {
    const key = presented.login.toLowerCase()
    const isPlausible = key.length <= maxLoginLength && presented.password.reveal().length <= maxPasswordLength
    const record = isPlausible ? await deps.credentials.passwordByKey(key) : undefined
    const userId = record?.account.userId
    const verify = async () => deps.hasher.verify(record?.phc ?? (await deps.hasher.dummyPhc()), presented.password)
    return judgeGuess(
      { kind: 'password', subject: userId ?? key.slice(0, maxLoginLength), sourceIp: presented.sourceIp },
      async (): Promise<Either<Failure<'TooManyAttempts'>, PasswordRecord | undefined>> => {
        const matches = await verify()
        if (isLeft(matches)) return matches
        return right(matches.right ? record : undefined)
      },
      () => badCredentials(userId),
      verify,
    )
  }
}
