import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/brand.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { JudgeGuessDeps } from './judge-guess.ts'
import { makeJudgeGuess } from './judge-guess.ts'
import { OneTimeCodeRequired } from './ports.ts'
import type { OneTimePasswords, SecondFactorRecord, SecondFactorStore, UseOneTimeCode } from './second-factor-ports.ts'
import type { SeedSafe } from './seed-safe.ts'
import type { Attempt } from './throttle-ports.ts'
import type { UseRecoveryCode } from './use-recovery-code.ts'

export interface JudgeCodeDeps extends JudgeGuessDeps {
  readonly seeds: SeedSafe
  readonly oneTimePasswords: OneTimePasswords
  readonly clock: Clock
}
export interface UseOneTimeCodeDeps extends JudgeCodeDeps {
  readonly secondFactors: SecondFactorStore
  readonly useRecoveryCode: UseRecoveryCode
}

export type UseOneTimeCodeFailure = Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>

const required = (userId: UserId): Failure<'OneTimeCodeRequired'> =>
  OneTimeCodeRequired(
    'This account has a second factor: send a current, unused code, in the header X-OTP where the password travels in HTTP Basic. After too many failed attempts wait before the next one.',
    { about: { tenantId: userId, objectType: 'user', objectId: userId } },
  )

const attemptOf = (userId: UserId, sourceIp: string): Attempt => ({ kind: 'one-time-code', subject: userId, sourceIp })
/** Apps show a code in two groups. */
const withoutBlanks = (code: string): string => code.replaceAll(/\s/g, '')
const isOfAuthenticator = (code: string): boolean => /^\d{6}$/.test(code)

const stepOf = async (deps: JudgeCodeDeps, record: SecondFactorRecord, code: string): Promise<number | undefined> =>
  isOfAuthenticator(code) ? deps.oneTimePasswords.stepOf(await deps.seeds.open(record), code, deps.clock.now()) : undefined

const useStep = async (deps: UseOneTimeCodeDeps, userId: UserId, code: string): Promise<boolean> => {
  const record = await deps.secondFactors.find(userId)
  if (record?.enrolledAt === undefined) return false
  const step = await stepOf(deps, record, code)
  return step !== undefined && deps.secondFactors.useStep(userId, record.ref, step)
}

/**
 * The only place where a code is judged and used up, for every surface: a code of the authenticator by one conditional
 * update of its time step, else a recovery code by one of its row. A wrong, old or used code counts as a failed attempt.
 */
export const makeUseOneTimeCode = (deps: UseOneTimeCodeDeps): UseOneTimeCode => {
  const judgeGuess = makeJudgeGuess(deps)
  return async ({ userId, code: typed, sourceIp }) => {
    const code = withoutBlanks(typed ?? '')
    if (code === '') return left(required(userId))
    const use = () => (isOfAuthenticator(code) ? useStep(deps, userId, code) : deps.useRecoveryCode({ userId, code, sourceIp }))
    const used = await judgeGuess(attemptOf(userId, sourceIp), async () => right((await use()) ? true : undefined), () => required(userId))
    return isLeft(used) ? used : right(undefined)
  }
}

/** The step of the first code of a seed that waits for it; `SecondFactorStore.enroll` then uses that step up. */
export const makeJudgeFirstCode = (deps: JudgeCodeDeps) => {
  const judgeGuess = makeJudgeGuess(deps)
  return (record: SecondFactorRecord, code: string, sourceIp: string): Outcome<UseOneTimeCodeFailure, number> =>
    judgeGuess(attemptOf(record.userId, sourceIp), async () => right(await stepOf(deps, record, withoutBlanks(code))), () => required(record.userId))
}
