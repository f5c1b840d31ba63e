/** Header values as they came, lower-case names. */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

/** The byte stream of an upgraded connection: the subset of a socket that a tunnel needs. */
export interface ByteDuplex {
  write(chunk: Uint8Array): boolean
  end(): void
  destroy(): void
  pause(): void
  resume(): void
  readonly destroyed: boolean
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close' | 'drain' | 'error', listener: () => void): unknown
}

/**
 * One HTTP exchange whose bodies are streamed, never parsed, in terms of no framework.
 * The response side pushes with back-pressure: when `write` answers false, wait for `onDrain`.
 */
export interface Exchange {
  readonly method: string
  /** The path below the route's wildcard, percent-encoded as received, normalised; starts with `/`. */
  readonly path: string
  /** The raw query string without `?`; platform parameters (credentials, org, sudo) are already removed. */
  readonly query: string
  readonly headers: HeaderBag
  /** The request's body as it arrives, or undefined when there is none. */
  readonly body: AsyncIterable<Uint8Array> | undefined
  /** Sends the status line and headers; names and values are checked by the caller of the upstream. */
  respond(status: number, headers: readonly (readonly [string, string])[]): void
  write(chunk: Uint8Array): boolean
  onDrain(listener: () => void): void
  end(): void
  /** Cuts the client's connection: the answer cannot be completed truthfully. */
  abort(): void
  /** For an answer that has no end of its own: when the service stops the listener is called, and must end or cut the answer soon. */
  onStop(listener: () => void): void
  readonly hasResponded: boolean
}

/** A request to leave HTTP on this connection (exec, attach, port-forward). */
export interface UpgradeExchange extends Omit<Exchange, 'respond' | 'write' | 'onDrain' | 'end' | 'onStop' | 'hasResponded'> {
  /** Bytes that followed the request's head. */
  readonly head: Uint8Array
  /** Answers 101 with these headers and hands over the stream. */
  accept(headers: readonly (readonly [string, string])[]): ByteDuplex
  /** Answers with an ordinary response and closes. */
  refuse(status: number, headers: readonly (readonly [string, string])[], body: Uint8Array): void
}
