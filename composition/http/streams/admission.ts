import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Refusal } from '../answer/failure-response.ts'

/** A watch or a tunnel outlives the decision that admitted it. It is cut at most this long after a right or a credential is revoked. */
const recheckMs = 30_000
/** Refusals that mean that the caller is no longer allowed. A rate limit or a busy store does not mean that. */
const final: readonly number[] = [401, 403, 404]

/** Checks repeatedly, while the stream is open, whether it is still allowed. Returns a function that ends the checks. */
export const whileAdmitted = (admit: () => Promise<Either<Refusal, unknown>>, cut: () => void, everyMs = recheckMs): (() => void) => {
  const ask = async (): Promise<void> => {
    const again = await admit()
    if (isLeft(again) && final.includes(again.left.status)) cut()
  }
  // A check that cannot be made now (the store is unavailable) is repeated at the next interval.
  const timer = setInterval(() => void ask().catch(() => undefined), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
