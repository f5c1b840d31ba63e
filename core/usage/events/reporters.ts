import { left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { token } from '../../kernel/token.ts'
import { isRobotLogin } from '../../organizations/ports.ts'

/** Only programs in clusters report usage in this deployment, and the caller is a person. */
export const UsageReporterRefused = defineFailure(
  'UsageReporterRefused',
  'Forbidden',
  'Only robot accounts may report usage on this deployment.',
)

/** Who may report usage, apart from the right to do so: who reports decides what is billed. */
export interface UsageReporters {
  /** People may, beside robot accounts. */
  readonly includePeople: boolean
}
export const UsageReportersToken = token<UsageReporters>('usage.Reporters')

/** Returns a use case for those who may report usage; others are refused before it does anything. */
export const makeForReporters =
  ({ includePeople }: UsageReporters) =>
  <A, I, F extends Failure, R>(useCase: (call: SignedInCall<A>, input: I) => Outcome<F, R>) =>
  async (call: SignedInCall<A>, input: I): Outcome<F | Failure<'UsageReporterRefused'>, R> =>
    includePeople || isRobotLogin(call.principal.login)
      ? useCase(call, input)
      : left(
          UsageReporterRefused(
            'Usage is reported by programs in clusters, with a token of a robot account of the ' +
              'organization that owns the cluster, and not by people.',
          ),
        )
