import type { KeyedChange } from '../../core/kernel/idempotency.ts'
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

/** A call under an Idempotency-Key. With `answer` the transaction stores it. */
export const keyedCall = (recordId: number, answer?: KeyedChange['answer']): Call =>
  callOf({ keyed: { recordId, ...(answer === undefined ? {} : { answer }), committed: () => undefined } })
