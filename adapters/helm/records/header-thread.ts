import type { HeaderAnswer, HeaderTask } from './release-store.ts'
import { headerOf, parseRecord, PayloadUnreadable, unpackSync } from './record-payload.ts'

/** Reads the header of a large record in a worker thread. */
export const answerTo = ({ bytes, expected }: HeaderTask): HeaderAnswer => {
  try {
    const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return { header: headerOf(parseRecord(unpackSync(packed).toString()), expected) }
  } catch (error) {
    if (error instanceof PayloadUnreadable) return { unreadable: error.message }
    throw error
  }
}
