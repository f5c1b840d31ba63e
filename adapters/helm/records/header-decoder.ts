import { Piscina } from 'piscina'
import type { ReleaseHeader, ReleaseKey } from '../../../core/packages/types.ts'
import { headerOfBegin } from './record-members.ts'
import { headerOf, parseRecord, PayloadUnreadable, smallRecordBytes, unpackedSize, unpackSync } from './record-payload.ts'
import { makeTimeSlices } from './time-slices.ts'

type Expected = ReleaseKey & { readonly version: number }

export interface HeaderTask {
  readonly bytes: Uint8Array
  readonly expected: Expected
}
export type HeaderAnswer = { readonly header: ReleaseHeader } | { readonly unreadable: string }

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

/** Uses one thread, started for the first large record and restarted after it dies. */
const makeThread = (): HeaderDecoder => {
  let pool: Piscina | undefined
  let isEnding = false

  const start = (): Piscina => {
    const started = new Piscina({
      filename: program.href,
      name: 'answerTo',
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Infinity,
      atomics: 'disabled',
      recordTiming: false,
    })
    return started.on('error', () => undefined)
  }

  return {
    async decode(bytes, expected) {
      if (isEnding) throw new Error('The thread that reads release records ended.')
      pool ??= start()
      const answer = (await pool.run({ bytes, expected } satisfies HeaderTask)) as HeaderAnswer
      if ('unreadable' in answer) throw new PayloadUnreadable(answer.unreadable)
      return answer.header
    },
    async close() {
      isEnding = true
      await pool?.destroy()
      pool = undefined
      isEnding = false
    },
  }
}
