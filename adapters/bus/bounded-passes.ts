import type { BusPasses } from '../../core/identity/sessions/ports.ts'
import type { Log } from '../../core/kernel/log.ts'

const longestMs = 1_000

/**
 * Returns the passes, or none if they take longer than a second or fail, so that they neither delay a sign-in further nor
 * fail it.
 */
export const makeBoundedPasses = (passes: BusPasses, log: Log): BusPasses => ({
  passFor: (user, validSeconds) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), longestMs)
      passes
        .passFor(user, validSeconds)
        .catch((error: unknown) => {
          log.warn({ reason: (error as Error).message }, 'a sign-in got no pass for the message bus')
          return undefined
        })
        .then((pass) => {
          clearTimeout(timer)
          resolve(pass)
        }, () => resolve(undefined))
    }),
})
