/** One kind of request that the generator repeats on its own connections. */
export interface LoadTarget {
  readonly id: string
  readonly host: string
  readonly port: number
  /** PEM of the authority for TLS; plain TCP without it. */
  readonly ca?: string
  /**
   * The whole request, head and body, as it goes over the wire; of several, each connection sends one after the other,
   * and the connections begin at different ones.
   */
  readonly request: string | readonly string[]
  /**
   * `answers`: one answer after the other. `stream`: bytes of one endless answer, which is cut at the end of the slice.
   */
  readonly kind: 'answers' | 'stream'
  readonly connections: number
  /** Between an answer and the next request of the same connection; 0 for as fast as possible. */
  readonly pauseMilliseconds?: number
  /** 200 unless told. */
  readonly expectedStatus?: number
}

export interface SliceResult {
  readonly seconds: number
  /** Answers within the slice, for the rate. */
  readonly answers: number
  /** Answers with those that were under way at its end, for the cost of each. */
  readonly answersInAll: number
  readonly bytes: number
  readonly errors: number
  readonly firstError?: string
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Part of one core that the generator itself used, 0..1 and a little more. */
  readonly generatorLoad: number
}

export type ToGenerator =
  | { readonly kind: 'slice'; readonly call: number; readonly target: LoadTarget; readonly seconds: number }
  | { readonly kind: 'close'; readonly call: number; readonly targetId: string }

export interface FromGenerator {
  readonly call: number
  readonly result?: SliceResult
  readonly error?: string
}
