import type { ServerResponse } from 'node:http'

const pieceBytes = 65_536

/** Writes the body of an answer. */
export interface Pieces {
  /** False when the client has to take something first: then wait for `onDrain`. */
  write(chunk: Uint8Array): boolean
  onDrain(listener: () => void): void
  end(): void
}

/**
 * Writes a long chunk in pieces, each when the one before it was taken. Of a chunk that is written at once it shows only
 * whether all of it was taken: a slow client could not be told from one that takes nothing.
 */
export const makePieces = (res: ServerResponse): Pieces => {
  const waiting: Uint8Array[] = []
  const listeners: (() => void)[] = []
  let hasEnded = false

  const pump = (): void => {
    for (let chunk = waiting.shift(); chunk !== undefined; chunk = waiting.shift()) {
      if (res.destroyed) return
      if (chunk.length > pieceBytes) waiting.unshift(chunk.subarray(pieceBytes))
      if (!res.write(chunk.subarray(0, pieceBytes)) && waiting.length > 0) return void res.once('drain', pump)
    }
    for (const listener of listeners.splice(0)) {
      if (res.writableNeedDrain) res.once('drain', listener)
      else listener()
    }
    if (hasEnded) res.end()
  }
  return {
    write(chunk) {
      if (res.destroyed) return true
      if (waiting.length === 0 && chunk.length <= pieceBytes) return res.write(chunk)
      waiting.push(chunk)
      if (waiting.length === 1) pump()
      return waiting.length === 0 && !res.writableNeedDrain
    },
    onDrain(listener) {
      if (waiting.length > 0) listeners.push(listener)
      else res.once('drain', listener)
    },
    end() {
      if (res.destroyed) return
      hasEnded = true
      if (waiting.length === 0) res.end()
    },
  }
}

/** Ends an answer with its whole body, of which the length in bytes is known. */
export const endInPieces = (res: ServerResponse, body: string | Uint8Array | undefined, length: number): void => {
  if (body === undefined || length <= pieceBytes) return void res.end(body)
  const pieces = makePieces(res)
  pieces.write(typeof body === 'string' ? Buffer.from(body) : body)
  pieces.end()
}
