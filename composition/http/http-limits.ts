/** How long clients of a listener may take. Milliseconds. */
export interface HttpLimits {
  /** For the first byte and, with TLS, for the handshake, from the moment at which the connection is accepted. */
  readonly firstBytes: number
  /** For the headers of a request. */
  readonly headers: number
  /** For a whole request, headers and body. */
  readonly request: number
  /** A client that takes nothing of an answer for so long is cut. */
  readonly unread: number
  /** How long a connection stays open between two requests: longer than load balancers keep it. */
  readonly keepAlive: number
}

/** What a service allows. docs/security.md names these; a test compares the two. */
export const httpLimits: HttpLimits = {
  firstBytes: 15_000,
  headers: 15_000,
  request: 60_000,
  unread: 30_000,
  keepAlive: 75_000,
}

/** Milliseconds for which a connection is still read after the last answer on it, so that closing does not reset that answer. */
export const lingerMs = 2_000
