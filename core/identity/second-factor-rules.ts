import type { Entropy } from '../kernel/entropy.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { hex } from '../kernel/entropy.ts'
import type { SecondFactorRecord } from './second-factor-ports.ts'
import { makeRecoveryCode, recoveryCodeCount } from './recovery-codes.ts'

/** The account has a second factor already. */
export const SecondFactorEnrolled = defineFailure('SecondFactorEnrolled', 'Conflict')
/** The account has none. */
export const SecondFactorMissing = defineFailure('SecondFactorMissing', 'Conflict')
/** The first code does not belong to the seed that was offered last. */
export const OneTimeCodeWrong = defineFailure('OneTimeCodeWrong', 'Unprocessable')

export const alreadyEnrolled = (): Failure<'SecondFactorEnrolled'> =>
  SecondFactorEnrolled('A second factor is enrolled; switch it off before you set up another one.')
export const notEnrolled = (): Failure<'SecondFactorMissing'> => SecondFactorMissing('No second factor is enrolled.')

export const isEnrolled = (record: SecondFactorRecord | undefined): boolean => record?.enrolledAt !== undefined

/** What tells an enrolled second factor from every other; undefined where none is enrolled. */
export const enrolledRef = (record: SecondFactorRecord | undefined): string | undefined => (isEnrolled(record) ? record?.ref : undefined)

export const makeRecoveryCodes = (entropy: Entropy): readonly string[] =>
  Array.from({ length: recoveryCodeCount }, () => makeRecoveryCode(entropy))

const refBytes = 16
/** A reference that no other seed has: 32 hexadecimal digits. */
export const makeSeedRef = (entropy: Entropy): string => hex(entropy.bytes(refBytes))
