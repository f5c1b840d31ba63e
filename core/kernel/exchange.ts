import type { Call } from './principal.ts'
import type { Secret } from './secret.ts'

/** Header values as received, with lower-case names. */
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
 * One HTTP exchange with streamed, unparsed bodies, independent of any framework. The response side has back-pressure:
 * when `write` returns false, wait for `onDrain`.
 */
export interface Exchange {
  readonly method: string
  /** The path of the route before its wildcard, as received, without a trailing slash. */
  readonly root: string
  /** The path below the route's wildcard, as received. It starts with `/`. */
  readonly path: string
  /**
   * The raw query string without `?`. Platform parameters (credentials, org, sudo) are already removed, unless the path
   * owns its query.
   */
  readonly query: string
  /** Headers that are credentials for this service are already removed if the path owns its query. */
  readonly headers: HeaderBag
  /** The request's body as it arrives, or undefined if there is none. */
  readonly body: AsyncIterable<Uint8Array> | undefined
  /** Sends the status line and headers. The caller of the upstream validates names and values. */
  respond(status: number, headers: readonly (readonly [string, string])[]): void
  write(chunk: Uint8Array): boolean
  onDrain(listener: () => void): void
  /**
   * Reports whether the system has taken everything that was written, so that nothing reads the chunks any more. Absent
   * if that is not known.
   */
  hasSentAll?(): boolean
  end(): void
  /** Closes the client's connection, because the response cannot be completed correctly. */
  abort(): void
  /**
   * Registers a listener for a response without a natural end. It is called at shutdown, and must end or abort the
   * response soon.
   */
  onStop(listener: () => void): void
  readonly hasResponded: boolean
}

/** A request to upgrade this connection (exec, attach, port-forward). */
export interface UpgradeExchange extends Omit<
  Exchange,
  'respond' | 'write' | 'onDrain' | 'hasSentAll' | 'end' | 'onStop' | 'hasResponded'
> {
  /** Bytes received after the request's head. */
  readonly head: Uint8Array
  /** Responds 101 with these headers and returns the stream. */
  accept(headers: readonly (readonly [string, string])[]): ByteDuplex
  /** Sends an ordinary response and closes the connection. */
  refuse(status: number, headers: readonly (readonly [string, string])[], body: Uint8Array): void
}

/**
 * A text in compressed form, as it is stored and as clients that accept gzip get it: raw deflate blocks of which none
 * is the last, cut at a byte. The blocks of several texts in a row, with a last block, are the compressed form of all
 * of them.
 */
export interface PackedText {
  readonly deflated: Uint8Array
  /** CRC-32 of the text in UTF-8. */
  readonly crc32: number
  /** The length of the text in UTF-8, in bytes. */
  readonly size: number
}

/**
 * A request and its response as the HTTP server has them, for a library that speaks HTTP itself. The core passes both on
 * and looks into neither.
 */
export interface MountedExchange {
  readonly request: unknown
  readonly response: unknown
  /** The checked path, from the root of the host. */
  readonly path: string
  /** The key of the session cookie that the request carries. It is not verified. */
  readonly sessionKey: Secret | undefined
  readonly call: Call
}
