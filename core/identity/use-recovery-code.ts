import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, FailureType } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import { fullScope } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from './ports.ts'
import { recoveryCodeKey } from './recovery-codes.ts'
import { recoveryCodeUsedMail } from './second-factor-mail.ts'
import type { PresentedCode } from './second-factor-ports.ts'
import type { User } from './types.ts'

export interface UseRecoveryCodeDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly clock: Clock
}

/** True once for each code. */
export type UseRecoveryCode = (presented: PresentedCode & { readonly code: string }) => Promise<boolean>

const CodeNotTaken: FailureType<'CodeNotTaken'> = defineFailure('CodeNotTaken', 'Unprocessable')

/** Authentication comes before the request's own call: its author is who the password proved. */
const callOf = (user: User, sourceIp: string): Call => ({
  principal: { userId: user.id, login: user.login, isSiteAdmin: user.isAdmin, method: 'password', scopes: fullScope },
  requestId: '',
  sourceIp,
  operation: 'identity.useRecoveryCode',
  signal: new AbortController().signal,
})

/** Uses a recovery code up; its owner is told, in the same transaction, that one was used and how many are left. */
export const makeUseRecoveryCode =
  (deps: UseRecoveryCodeDeps): UseRecoveryCode =>
  async ({ userId, code, sourceIp }) => {
    const key = recoveryCodeKey(code)
    const user = isLeft(key) ? undefined : await deps.stores.users.byId(userId)
    if (isLeft(key) || user === undefined) return false
    const now = deps.clock.now()
    const used = await deps.unitOfWork.run<Failure<'CodeNotTaken'>, void>(callOf(user, sourceIp), async (stores) => {
      if (!(await stores.secondFactors.useRecoveryCode(userId, deps.digest.digest(key.right), now))) return left(CodeNotTaken('No such code.'))
      const codesLeft = await stores.secondFactors.countRecoveryCodes(userId)
      await stores.audit.record({
        action: 'second_factor.recovery_code_used',
        ...auditedUser(user),
        changes: { recovery_codes_left: codesLeft },
      })
      await postIfAddressed(stores.mail, recoveryCodeUsedMail(user, { at: now, sourceIp }, codesLeft))
      return right(undefined)
    })
    return !isLeft(used)
  }
