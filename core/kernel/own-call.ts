import type { Entropy } from './entropy.ts'
import { hex } from './hex.ts'
import type { Call } from './principal.ts'

/** A call that the service makes in nobody's name: a run of a job, or something that comes before a request's own call. */
export type OwnCall = (operation: string, signal?: AbortSignal) => Call

export const makeOwnCall =
  (entropy: Entropy): OwnCall =>
  (operation, signal = new AbortController().signal) => ({
    principal: undefined,
    requestId: hex(entropy.bytes(16)),
    sourceIp: '127.0.0.1',
    operation,
    signal,
  })
