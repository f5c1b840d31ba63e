import type { MountedExchange } from '../../core/kernel/exchange.ts'

/**
 * Paths outside of the API whose requests a library answers by itself, with bodies and errors of its own: those of a
 * protocol that others define. The checks of the target, the rate limit, the log and the limits of connections hold for
 * them as for routes; nothing is authenticated.
 */
export interface Mount {
  /** `part.noun`, for the log and for metrics. */
  readonly id: string
  /** The paths, from the root of the host, each with what is below it. */
  readonly roots: readonly string[]
  /** Answers a request. Its body is not read yet. Resolves when the response is complete. */
  handle(exchange: MountedExchange): Promise<void>
}
