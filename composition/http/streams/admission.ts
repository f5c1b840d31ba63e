import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Refusal } from '../answer/failure-response.ts'

/** A watch or tunnel outlives the decision that let it in; so soon after a right or credential is gone, it is cut. */
const recheckMs = 30_000
/** Refusals that say that the caller may no longer do this; a rate limit or a busy store says nothing of the kind. */
const final: readonly number[] = [401, 403, 404]

/** Asks again, for as long as the stream is open, whether it may be. Answers what ends the asking. */
export const whileAdmitted = (admit: () => Promise<Either<Refusal, unknown>>, cut: () => void, everyMs = recheckMs): (() => void) => {
  const ask = async (): Promise<void> => {
    const again = await admit()
    if (isLeft(again) && final.includes(again.left.status)) cut()
  }
  // What cannot be told now (the store is away) is asked again the next time.
  const timer = setInterval(() => void ask().catch(() => undefined), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
