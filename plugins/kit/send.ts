import type { HeaderBag } from '../../core/kernel/exchange.ts'

/** A request in terms of no HTTP library. `path` carries the query string and stands below the server's address. */
export interface SendRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** An answer read to its end; header names in lower case. */
export interface SendReply {
  readonly status: number
  readonly headers: HeaderBag
  readonly body: string
  /** The same as it came, where the carrier keeps it; needed for answers that are no text. */
  readonly bytes?: Uint8Array
}

/** Carries a request to the service. Rejects when no answer came; any status is an answer. */
export type Send = (request: SendRequest) => Promise<SendReply>
