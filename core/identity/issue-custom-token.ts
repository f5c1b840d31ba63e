import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditedUser } from './audited-user.ts'
import type { CustomTokenIssuer } from './custom-token-ports.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'

export interface IssueCustomTokenDeps {
  readonly stores: Pick<IdentityStores, 'users'>
  readonly issuer: CustomTokenIssuer
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** An hour is what providers accept at most. */
const longestMilliseconds = 3_600_000

/** Signs a token for the caller, good for an hour at most and no longer than the access token that asks. */
export const makeIssueCustomToken =
  ({ stores, issuer, clock, unitOfWork }: IssueCustomTokenDeps) =>
  async (call: SignedInCall): Outcome<Failure<'CustomTokensOff' | 'UserMissing'>, Secret> => {
    const { userId, tokenExpiresAt } = call.principal
    const user = await stores.users.byId(userId)
    if (user === undefined) return left(userMissing())
    const now = clock.now()
    const byLife = now.getTime() + longestMilliseconds
    const expiresAt = new Date(tokenExpiresAt === undefined ? byLife : Math.min(byLife, tokenExpiresAt.getTime()))
    const signed = await issuer.issue({ userId, login: user.login, fullName: user.fullName, email: user.primaryEmail }, now, expiresAt)
    if (isLeft(signed)) return signed
    return unitOfWork.run<never, Secret>(call, async ({ audit }) => {
      await audit.record({ action: 'user.custom_token_issued', ...auditedUser(user) })
      return right(signed.right)
    })
  }
