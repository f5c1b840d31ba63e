/** Limits on the clients of a listener, in milliseconds. */
export interface HttpLimits {
  /** For the first byte and, with TLS, for the handshake, from the time at which the connection is accepted. */
  readonly firstBytes: number
  /** For the headers of a request. */
  readonly headers: number
  /** For a whole request, headers and body. */
  readonly request: number
  /** A client that takes no part of an answer for this long is cut. */
  readonly unread: number
  /** How long a connection stays open between two requests. It is longer than load balancers keep connections. */
  readonly keepAlive: number
}

/** The limits of a service. docs/security.md lists them; a test compares the two. */
export const httpLimits: HttpLimits = {
  firstBytes: 15_000,
  headers: 15_000,
  request: 60_000,
  unread: 30_000,
  keepAlive: 75_000,
}

/** Milliseconds for which a connection is still read after its last answer, so that closing does not reset that answer. */
export const lingerMs = 2_000
