import type { MessagePort } from 'node:worker_threads'
import { MessageChannel } from 'node:worker_threads'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type {
  ReportChart,
  ReportContent,
  ReportRenderer,
  ReportSummary,
  ReportTable,
} from '../../core/usage/reports/ports.ts'
import { makeAccountLimiter } from '../outbound/account-limiter.ts'
import { programUrl } from '../system/processes.ts'
import { makeThreads } from '../system/threads.ts'

/** A report without the rows of its tables, as it is sent to the thread. */
export interface ReportOutline extends Omit<ReportContent, 'sections'> {
  readonly sections: readonly {
    readonly title: string
    readonly summary: ReportSummary
    readonly figures: readonly (readonly [string, string])[]
    readonly charts: readonly ReportChart[]
    readonly tables: readonly Omit<ReportTable, 'rows'>[]
  }[]
}

export interface ReportJob {
  readonly outline: ReportOutline
  /** The thread asks, and waits for each answer before it asks again. */
  readonly port: MessagePort
}

/** `table`: its number among the tables of all sections, from 0. */
export type ThreadAsks =
  | { readonly kind: 'rows'; readonly table: number }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }

/** To `rows`: the next rows, or undefined after the last. To `bytes`: undefined once the bytes are taken. */
export type ThreadAnswer = readonly (readonly string[])[] | undefined

const maxPixels = 24_000_000
const secondsToDraw = 5
/** Twice the size at which it is printed, in pixels at 150 per inch. */
const box = { width: 750, height: 240 } as const

/**
 * Returns a logo as a small picture in PNG without transparency; undefined if it cannot be read. pdfkit decodes
 * transparency after it has gone on, so the bytes of two equal documents would differ.
 */
const readLogo = async (bytes: Uint8Array): Promise<Uint8Array | undefined> => {
  try {
    // Loaded for the first logo: the native library is large.
    const sharp = (await import('sharp')).default
    const drawn = await sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', pages: 1 })
      .rotate()
      .resize(box.width, box.height, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .timeout({ seconds: secondsToDraw })
      .png({ compressionLevel: 9, palette: false })
      .toBuffer()
    return new Uint8Array(drawn)
  } catch {
    return undefined
  }
}

const program = programUrl('./report-thread', import.meta.url)

export interface PdfRenderer extends ReportRenderer {
  /** The report that is written, those that wait, and how long reports waited. */
  load(): PoolLoad
}

export interface PdfRendererOptions {
  /** The longest time between two questions of the thread, in milliseconds: a thread that takes longer is ended. */
  readonly silentMilliseconds?: number
  readonly heapMegabytes?: number
}

const jobOf = async ({ sections, branding, ...head }: ReportContent, port: MessagePort): Promise<ReportJob> => ({
  outline: {
    ...head,
    branding: { color: branding.color, logo: branding.logo === undefined ? undefined : await readLogo(branding.logo) },
    sections: sections.map(({ tables, ...section }) => ({
      ...section,
      tables: tables.map(({ rows: _rows, ...table }) => table),
    })),
  },
  port,
})

/** Writes reports on one thread of its own, one after another. The thread is started when it is first needed. */
export const makePdfRenderer = ({
  silentMilliseconds = 60_000,
  heapMegabytes = 128,
}: PdfRendererOptions = {}): PdfRenderer => {
  const thread = makeThreads({ program, idleMilliseconds: 60_000, heapMegabytes, youngMegabytes: 8 })
  const limiter = makeAccountLimiter({
    pool: 'reports',
    inAll: 1,
    perAccount: 1,
    waitingPerAccount: Number.POSITIVE_INFINITY,
  })

  async function* write(content: ReportContent, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const rows = content.sections.flatMap(({ tables }) => tables.map((table) => table.rows[Symbol.asyncIterator]()))
    const { port1, port2 } = new MessageChannel()
    const stop = new AbortController()
    const stopped = AbortSignal.any([signal, stop.signal])
    try {
      signal.throwIfAborted()
      const job = await jobOf(content, port2)
      let question = nextQuestion(port1)
      let isDone = false
      const done = thread.run('writeReport', job, { moved: [port2], signal: stopped }).then(() => {
        isDone = true
        return undefined
      })
      while (!isDone) {
        const timer = setTimeout(
          () =>
            stop.abort(
              new Error(`The report was given up: its thread did nothing for ${silentMilliseconds / 1000} s.`),
            ),
          silentMilliseconds,
        )
        const asked = await Promise.race([question, done]).finally(() => clearTimeout(timer))
        if (asked === undefined) break
        question = nextQuestion(port1)
        if (asked.kind === 'bytes') yield asked.bytes
        const answer: ThreadAnswer = asked.kind === 'rows' ? await nextRows(rows[asked.table]) : undefined
        signal.throwIfAborted()
        port1.postMessage({ answer })
      }
      await done
    } catch (error) {
      signal.throwIfAborted()
      stop.signal.throwIfAborted()
      throw error
    } finally {
      port1.close()
      // Ends the thread if the caller takes no more of a report that is not complete.
      stop.abort()
      for (const each of rows) await each.return?.()
    }
  }

  return {
    async *render(content, signal) {
      // The time of a report counts from its start, so that it does not wait for the thread.
      const end = await limiter.enter({ account: undefined, signal })
      try {
        yield* write(content, signal)
      } finally {
        end()
      }
    },
    load: limiter.load,
    close: thread.close,
  }
}

const nextQuestion = (port: MessagePort): Promise<ThreadAsks> =>
  new Promise((resolve) => port.once('message', (question: ThreadAsks) => resolve(question)))

const nextRows = async (rows: AsyncIterator<readonly (readonly string[])[]> | undefined): Promise<ThreadAnswer> => {
  const next = await rows?.next()
  return next?.done === false ? next.value : undefined
}
