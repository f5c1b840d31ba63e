import { Worker } from 'node:worker_threads'
import type { ReleaseHeader, ReleaseKey } from '../../../core/packages/types.ts'
import { headerOfBegin } from './record-members.ts'
import { headerOf, parseRecord, PayloadUnreadable, smallRecordBytes, unpackedSize, unpackSync } from './record-payload.ts'
import { makeTimeSlices } from './time-slices.ts'

type Expected = ReleaseKey & { readonly version: number }

export interface HeaderTask {
  readonly id: number
  readonly bytes: Uint8Array
  readonly expected: Expected
}
export type HeaderAnswer =
  | { readonly id: number; readonly header: ReleaseHeader }
  | { readonly id: number; readonly problem: string; readonly isUnreadable: boolean }

/**
 * Decodes headers of packed records without blocking the event loop. It reads the start of the record if that is enough,
 * otherwise the whole record: small ones in slices, large ones on a thread.
 */
export interface HeaderDecoder {
  /** Rejects with PayloadUnreadable. */
  decode(bytes: Buffer, expected: Expected): Promise<ReleaseHeader>
  close(): Promise<void>
}

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = new URL(`./header-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
const sliceMilliseconds = 4

export const makeHeaderDecoder = (): HeaderDecoder => {
  const slices = makeTimeSlices(sliceMilliseconds)
  const thread = makeThread()
  return {
    async decode(bytes, expected) {
      const isSmall = unpackedSize(bytes) <= smallRecordBytes
      const whole = (): ReleaseHeader => headerOf(parseRecord(unpackSync(bytes).toString()), expected)
      const header = await slices.run(() => headerOfBegin(bytes, expected) ?? (isSmall ? whole() : undefined))
      return header ?? thread.decode(bytes, expected)
    },
    close: () => thread.close(),
  }
}

interface Waiting {
  readonly resolve: (header: ReleaseHeader) => void
  readonly reject: (error: Error) => void
}

/** Uses one thread, started for the first large record and restarted after it dies. */
const makeThread = (): HeaderDecoder => {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let lastId = 0

  const settle = (answer: HeaderAnswer): void => {
    const asked = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (waiting.size === 0) worker?.unref()
    if ('header' in answer) asked?.resolve(answer.header)
    else asked?.reject(answer.isUnreadable ? new PayloadUnreadable(answer.problem) : new Error(answer.problem))
  }

  const died = (ended: Worker): void => {
    if (worker !== ended) return
    worker = undefined
    for (const { reject } of waiting.values()) reject(new Error('The thread that reads release records ended.'))
    waiting.clear()
  }

  const start = (): Worker => {
    const started = new Worker(program)
    started.on('message', settle)
    for (const event of ['error', 'exit']) started.once(event, () => died(started))
    return started
  }

  return {
    decode: (bytes, expected) =>
      new Promise((resolve, reject) => {
        worker ??= start()
        worker.ref()
        lastId += 1
        waiting.set(lastId, { resolve, reject })
        worker.postMessage({ id: lastId, bytes, expected } satisfies HeaderTask)
      }),
    async close() {
      await worker?.terminate()
    },
  }
}
