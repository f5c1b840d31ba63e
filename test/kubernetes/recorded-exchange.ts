import type { Exchange, HeaderBag } from '../../core/kernel/exchange.ts'

/** An exchange that remembers what it was answered. */
export interface RecordedExchange extends Exchange {
  readonly answer: { status: number; headers: Record<string, string>; ended: boolean; aborted: boolean }
  body: AsyncIterable<Uint8Array> | undefined
  /** As a service does that stops. */
  stop(): void
  /** The next piece of the answer's body. */
  next(): Promise<string>
  /** Everything until the end. */
  whole(): Promise<string>
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

export const recordedExchange = (
  method: string,
  path: string,
  options: { readonly headers?: HeaderBag; readonly body?: string; readonly query?: string } = {},
): RecordedExchange => {
  const answer = { status: 0, headers: {} as Record<string, string>, ended: false, aborted: false }
  const pieces: string[] = []
  const stopListeners: (() => void)[] = []
  const waiting: (() => void)[] = []
  const wake = (): void => waiting.splice(0).forEach((each) => each())
  const pause = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  return {
    method,
    root: '/proxy',
    path,
    query: options.query ?? '',
    headers: options.headers ?? {},
    body: options.body === undefined ? undefined : once(new TextEncoder().encode(options.body)),
    answer,
    respond(status, headers) {
      answer.status = status
      answer.headers = Object.fromEntries(headers)
      wake()
    },
    write(chunk) {
      if (chunk.byteLength > 0) pieces.push(new TextDecoder().decode(chunk))
      wake()
      return true
    },
    onDrain: () => undefined,
    onStop: (listener) => void stopListeners.push(listener),
    stop: () => stopListeners.forEach((each) => each()),
    end() {
      answer.ended = true
      wake()
    },
    abort() {
      answer.aborted = true
      wake()
    },
    get hasResponded() {
      return answer.status > 0
    },
    async next() {
      while (pieces.length === 0) await pause()
      return pieces.shift() ?? ''
    },
    async whole() {
      while (!answer.ended && !answer.aborted) await pause()
      return pieces.join('')
    },
  }
}
