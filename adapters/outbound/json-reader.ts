import { fromWireJson } from '../../core/kernel/json.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import { makeBoundedThreads, WorkStopped } from './bounded-threads.ts'
import type { JsonPiece } from './json-pieces.ts'
import { joinPieces, JsonUnreadable } from './json-pieces.ts'
import { makeTimeSlices } from './time-slices.ts'
import { programUrl } from '../system/processes.ts'

export interface JsonJob {
  readonly bytes: Uint8Array<ArrayBuffer>
}
export type JsonAnswer = { readonly piece: JsonPiece | undefined } | { readonly unreadable: string }

/** Parses JSON that other servers send, without blocking the event loop. */
export interface JsonReader {
  /**
   * Returns the value; undefined if the text is no JSON. Throws JsonUnreadable for a text that is too large an object,
   * is nested too deeply, or takes too long, and what the limiter throws.
   * @param signal ends the wait for a thread.
   */
  parse(bytes: Uint8Array, account: AccountKey, signal?: AbortSignal): Promise<unknown>
  load(): PoolLoad
  close(): Promise<void>
}

/** A text below both limits is parsed in a few milliseconds. */
const inline = { bytes: 1024 * 1024, separators: 20_000 }

/** Reports whether a text is short, and holds few values. Separators inside of text values count as well. */
const isShort = (bytes: Uint8Array): boolean => {
  if (bytes.length > inline.bytes) return false
  let room = inline.separators
  for (const byte of bytes) if ((byte === 0x2c || byte === 0x5b || byte === 0x7b) && (room -= 1) < 0) return false
  return true
}

const program = programUrl('./json-thread', import.meta.url)

/** Each piece of a value is parsed in a turn of its own. */
const turnByTurn = makeTimeSlices(0)

/** Only an object or an array takes long to parse. */
const isContainer = (bytes: Uint8Array): boolean =>
  /^\s*[[{]/.test(Buffer.from(bytes.subarray(0, 64)).toString('latin1'))

/** Parses short texts at once, and long ones on threads that accounts get in turn. */
export const makeJsonReader = (): JsonReader => {
  const threads = makeBoundedThreads({
    program,
    pool: 'json',
    threads: 2,
    perAccount: 1,
    waitingPerAccount: 64,
    // One request reads 8 whole releases of at most 32 MiB at once, and must not be refused for its own.
    bytesPerAccount: 256 * 1024 * 1024,
    bytesInAll: 512 * 1024 * 1024,
    waitMilliseconds: 15_000,
    jobMilliseconds: 10_000,
    heapMegabytes: 256,
    idleMilliseconds: 60_000,
  })

  const parseAside = async (bytes: Uint8Array, account: AccountKey, signal?: AbortSignal): Promise<unknown> => {
    const copy = new Uint8Array(bytes)
    const answer = (await threads.run({ account, signal, moved: [copy.buffer] }, {
      bytes: copy,
    } satisfies JsonJob)) as JsonAnswer
    if ('unreadable' in answer) throw new JsonUnreadable(answer.unreadable)
    return answer.piece === undefined ? undefined : joinPieces(answer.piece, turnByTurn)
  }

  return {
    async parse(bytes, account, signal) {
      if (!isContainer(bytes) || isShort(bytes)) return parseShort(new TextDecoder().decode(bytes))
      try {
        return await parseAside(bytes, account, signal)
      } catch (error) {
        throw error instanceof WorkStopped
          ? new JsonUnreadable(`sent JSON that cannot be read. ${error.message}`)
          : error
      }
    },
    load: () => threads.load(),
    close: () => threads.close(),
  }
}

const parseShort = (text: string): unknown => {
  try {
    return fromWireJson(text)
  } catch {
    return undefined
  }
}
