import { once } from 'node:events'
import type { ReportJob, ThreadAnswer, ThreadAsks } from './pdf-renderer.ts'
import { coverOf, monthTitle, ReportPages } from './report-pages.ts'
import { page } from './report-style.ts'
import { TaggedDocument } from './tagged-document.ts'

/** Bytes are sent in pieces of about this size. */
const pieceBytes = 256 * 1024

/** Writes one report on this thread. */
export const writeReport = async ({ outline, port }: ReportJob): Promise<void> => {
  const ask = async (question: ThreadAsks): Promise<ThreadAnswer> => {
    const answer = once(port, 'message')
    port.postMessage(question)
    const [received] = (await answer) as { readonly answer: ThreadAnswer }[]
    return received?.answer
  }
  const cover = coverOf(outline)
  const title = `${cover.title}, ${outline.ownerName}, ${monthTitle(outline.month)}`
  const document = new TaggedDocument({
    size: [page.width, page.height],
    margin: 0,
    lang: 'en',
    fontLayoutCache: false,
    info: {
      Title: title,
      Author: outline.ownerName,
      Subject: outline.cover === undefined ? `Revision ${outline.revision}, ${outline.status}` : cover.title,
      Producer: 'Moorage',
      Creator: 'Moorage',
      CreationDate: outline.generatedAt,
    },
  })
  let pieces: Uint8Array[] = []
  let size = 0
  const send = async (least: number): Promise<void> => {
    for (let read = document.read() as Buffer | null; read !== null; read = document.read() as Buffer | null) {
      pieces.push(read)
      size += read.length
    }
    if (size < least) return
    const bytes = new Uint8Array(Buffer.concat(pieces))
    pieces = []
    size = 0
    await ask({ kind: 'bytes', bytes })
  }
  await new ReportPages(document, outline, {
    rows: (table) => ask({ kind: 'rows', table }),
    flush: () => send(pieceBytes),
  }).write()
  document.end()
  await send(1)
  port.close()
}
