import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, FailureType, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { UnspentCode } from '../../kernel/principal.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { Attempt } from '../attempt-ports.ts'
import type { ThrottledCheckDeps } from '../credentials.ts'
import { callAsUser, makeThrottledCheck } from '../credentials.ts'
import { postIfAddressed, recoveryCodeUsedMail } from '../emails/account-mail.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from '../ports.ts'
import { OneTimeCodeRequired } from '../ports.ts'
import type { UsePasskey } from '../passkey-ports.ts'
import type { SealedSeeds } from './codes.ts'
import { recoveryCodeKey } from './codes.ts'
import type {
  CheckOneTimeCode,
  OneTimePasswords,
  PresentedCode,
  SecondFactorRecord,
  SecondFactorStore,
  SpendOneTimeCode,
  UseOneTimeCode,
} from './ports.ts'

export interface UseRecoveryCodeDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly clock: Clock
}

/** Returns true once for each code. */
export type UseRecoveryCode = (presented: PresentedCode & { readonly code: string }) => Promise<boolean>

const CodeNotTaken: FailureType<'CodeNotTaken'> = defineFailure(
  'CodeNotTaken',
  'Unprocessable',
  'The code is wrong or used.',
)

/** Uses up a recovery code. In the same transaction, notifies the user that one was used and how many are left. */
export const makeUseRecoveryCode =
  (deps: UseRecoveryCodeDeps): UseRecoveryCode =>
  async ({ userId, code, sourceIp }) => {
    const key = recoveryCodeKey(code)
    const user = isLeft(key) ? undefined : await deps.stores.users.byId(userId)
    if (isLeft(key) || user === undefined) return false
    const now = deps.clock.now()
    const used = await deps.unitOfWork.run<Failure<'CodeNotTaken'>, void>(
      callAsUser(user, 'identity.useRecoveryCode', sourceIp),
      async (stores) => {
        if (!(await stores.secondFactors.useRecoveryCode(userId, deps.digest.digest(key.right), now)))
          return left(CodeNotTaken('The code is wrong.'))
        const codesLeft = await stores.secondFactors.countRecoveryCodes(userId)
        await stores.audit.record(
          auditOfUser(user, 'second_factor.recovery_code_used', { recovery_codes_left: codesLeft }),
        )
        await postIfAddressed(stores.mail, recoveryCodeUsedMail(user, { at: now, sourceIp }, codesLeft))
        return right(undefined)
      },
    )
    return !isLeft(used)
  }

export interface CheckCodeDeps extends ThrottledCheckDeps {
  readonly seeds: SealedSeeds
  readonly oneTimePasswords: OneTimePasswords
  readonly clock: Clock
}
export interface UseOneTimeCodeDeps extends CheckCodeDeps {
  readonly secondFactors: SecondFactorStore
  readonly useRecoveryCode: UseRecoveryCode
  readonly usePasskey: UsePasskey
  readonly digest: TokenDigest
}

export type UseOneTimeCodeFailure = Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>

const required = (userId: UserId): Failure<'OneTimeCodeRequired'> =>
  OneTimeCodeRequired(
    'This account has a second factor: send a current, unused code, in the header X-OTP where the password ' +
      'travels in HTTP Basic. A program gets an access token, which needs no code, by one request: POST ' +
      '/users/{username}/tokens with HTTP Basic and X-OTP. After too many failed attempts wait before the next one.',
    { about: { tenantId: userId, objectType: 'user', objectId: userId } },
  )

const attemptOf = (userId: UserId, sourceIp: string): Attempt => ({ kind: 'one-time-code', subject: userId, sourceIp })
/** Removes spaces: apps show a code in two groups. */
const withoutBlanks = (code: string): string => code.replaceAll(/\s/g, '')
const isOfAuthenticator = (code: string): boolean => /^\d{6}$/.test(code)

const stepOf = async (deps: CheckCodeDeps, record: SecondFactorRecord, code: string): Promise<number | undefined> =>
  isOfAuthenticator(code)
    ? deps.oneTimePasswords.stepOf(await deps.seeds.open(record), code, deps.clock.now())
    : undefined

const useStep = async (deps: UseOneTimeCodeDeps, userId: UserId, code: string): Promise<boolean> => {
  const record = await deps.secondFactors.find(userId)
  if (record?.enrolledAt === undefined) return false
  const step = await stepOf(deps, record, code)
  return step !== undefined && deps.secondFactors.useStep(userId, record.ref, step)
}

/**
 * Judges a code and uses it up at once: a code of the authenticator with one conditional update of its time step, else
 * a recovery code with one of its row. A wrong, old or used code counts as a failed attempt. The response of a passkey
 * of the user stands for a code.
 */
export const makeUseOneTimeCode = (deps: UseOneTimeCodeDeps): UseOneTimeCode => {
  const throttledCheck = makeThrottledCheck(deps)
  return async ({ userId, code: typed, passkey, sourceIp }) => {
    if (passkey !== undefined) {
      const proven = await deps.usePasskey({ ...passkey, userId, sourceIp })
      if (!isLeft(proven)) return right(undefined)
      const { left: refused } = proven
      return left(refused.tag === 'TooManyAttempts' ? (refused as Failure<'TooManyAttempts'>) : required(userId))
    }
    const code = withoutBlanks(typed ?? '')
    if (code === '') return left(required(userId))
    const use = () =>
      isOfAuthenticator(code) ? useStep(deps, userId, code) : deps.useRecoveryCode({ userId, code, sourceIp })
    const used = await throttledCheck(
      attemptOf(userId, sourceIp),
      async () => right((await use()) ? true : undefined),
      () => required(userId),
    )
    return isLeft(used) ? used : right(undefined)
  }
}

/** Returns the time step of an authenticator's code if it is newer than the last one used. */
const unusedStep = async (deps: UseOneTimeCodeDeps, userId: UserId, code: string): Promise<UnspentCode | undefined> => {
  const record = await deps.secondFactors.find(userId)
  if (record?.enrolledAt === undefined) return undefined
  const step = await stepOf(deps, record, code)
  return step === undefined || step <= (record.lastStep ?? 0) ? undefined : { secondFactorRef: record.ref, step }
}

const unusedRecoveryCode = async (
  deps: UseOneTimeCodeDeps,
  userId: UserId,
  code: string,
): Promise<UnspentCode | undefined> => {
  const key = recoveryCodeKey(code)
  if (isLeft(key) || !(await deps.secondFactors.hasRecoveryCode(userId, deps.digest.digest(key.right))))
    return undefined
  return { recoveryCode: secret(code) }
}

/** Judges a code and leaves it for `makeSpendOneTimeCode`. See the port for its guarantees. */
export const makeCheckOneTimeCode = (deps: UseOneTimeCodeDeps): CheckOneTimeCode => {
  const throttledCheck = makeThrottledCheck(deps)
  return async ({ userId, code: typed, sourceIp }) => {
    const code = withoutBlanks(typed ?? '')
    if (code === '') return left(required(userId))
    const find = isOfAuthenticator(code) ? unusedStep : unusedRecoveryCode
    return throttledCheck(
      attemptOf(userId, sourceIp),
      async () => right(await find(deps, userId, code)),
      () => required(userId),
    )
  }
}

/**
 * Spends a code that `makeJudgeOneTimeCode` found correct. A code spent by a concurrent request was not a guess and is
 * not counted as one.
 */
export const makeSpendOneTimeCode =
  (deps: UseOneTimeCodeDeps): SpendOneTimeCode =>
  async (userId, code, sourceIp) => {
    const isSpent =
      'step' in code
        ? await deps.secondFactors.useStep(userId, code.secondFactorRef, code.step)
        : await deps.useRecoveryCode({ userId, code: code.recoveryCode.reveal(), sourceIp })
    return isSpent ? right(undefined) : left(required(userId))
  }

/** Returns the time step of the first code of a waiting seed. `SecondFactorStore.enroll` then uses up that step. */
export const makeCheckFirstCode = (deps: CheckCodeDeps) => {
  const throttledCheck = makeThrottledCheck(deps)
  return (record: SecondFactorRecord, code: string, sourceIp: string): Outcome<UseOneTimeCodeFailure, number> =>
    throttledCheck(
      attemptOf(record.userId, sourceIp),
      async () => right(await stepOf(deps, record, withoutBlanks(code))),
      () => required(record.userId),
    )
}
