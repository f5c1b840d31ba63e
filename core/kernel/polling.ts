import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Pause } from './clock.ts'
import type { Failure, Outcome } from './failure.ts'

/** What a poll found: an answer, or why there is none yet. */
export type Polled<A> = { readonly isOver: true; readonly answer: A } | { readonly isOver: false; readonly why: string }
export const over = <A>(answer: A): Polled<A> => ({ isOver: true, answer })
export const notYet = (why: string): Polled<never> => ({ isOver: false, why })

const firstPauseMs = 200
const longestPauseMs = 5_000
/** When a wait is long enough to say why. */
const silentMs = 2_000

/** How long to ask, and what to say while there is no answer. */
interface Patience {
  readonly patienceMs: number
  /** Makes the failure of an answer that did not come in time. */
  readonly stuck: (why: string) => Failure
  /** Called once with why there is no answer yet, if that takes some seconds. */
  readonly say: ((why: string) => void) | undefined
}

/**
 * Asks until there is an answer, with growing pauses of at most 5 seconds. A failure counts as no answer until the time
 * is over. Failures: `stuck` with what `why` says, or the last failure.
 */
export const pollWithin = async <A>(
  { pause }: { readonly pause: Pause },
  { signal }: { readonly signal: AbortSignal },
  { patienceMs, stuck, say }: Patience,
  ask: () => Outcome<Failure, Polled<A>>,
): Outcome<Failure, A> => {
  const startMs = performance.now()
  const endMs = startMs + patienceMs
  let isSaid = false
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const asked = await ask()
    const polled = isLeft(asked) ? undefined : asked.right
    if (polled?.isOver === true) return right(polled.answer)
    const failure = isLeft(asked) ? asked.left : stuck(polled?.why ?? '')
    if (signal.aborted || performance.now() >= endMs) return left(failure)
    if (!isSaid && performance.now() - startMs >= silentMs) {
      say?.(failure.message)
      isSaid = true
    }
    await pause(Math.min(pauseMs, Math.max(1, endMs - performance.now())), signal)
  }
}
