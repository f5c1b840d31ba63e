import type { Call } from '../../core/kernel/principal.ts'

/** A call of nobody, for what does not look at the caller. */
export const callOf = (extras: Partial<Call> = {}): Call => ({
  principal: undefined,
  requestId: 'req-1',
  sourceIp: '127.0.0.1',
  operation: 'test.change',
  signal: new AbortController().signal,
  ...extras,
})
