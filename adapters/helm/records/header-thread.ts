import type { RecordAnswer, RecordTask } from './release-store.ts'
import { amendInfo } from './record-members.ts'
import { headerOf, parseRecord, PayloadUnreadable, unpackSync } from './record-payload.ts'

/** Reads or changes a large record in a worker thread. */
export const answerTo = ({ bytes, expected, change }: RecordTask): RecordAnswer => {
  try {
    const text = unpackSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString()
    const header = headerOf(parseRecord(text), expected)
    return change === undefined ? { header } : { amended: amendInfo(text, change) }
  } catch (error) {
    if (error instanceof PayloadUnreadable) return { unreadable: error.message }
    throw error
  }
}
