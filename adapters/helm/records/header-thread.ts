import { parentPort } from 'node:worker_threads'
import type { HeaderAnswer, HeaderTask } from './header-decoder.ts'
import { headerOf, parseRecord, PayloadUnreadable, unpackSync } from './record-payload.ts'

/** Reads the headers of large records in a worker thread, one at a time. */
const answerTo = ({ id, bytes, expected }: HeaderTask): HeaderAnswer => {
  try {
    const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return { id, header: headerOf(parseRecord(unpackSync(packed).toString()), expected) }
  } catch (error) {
    return { id, problem: (error as Error).message, isUnreadable: error instanceof PayloadUnreadable }
  }
}

parentPort?.on('message', (task: HeaderTask) => parentPort?.postMessage(answerTo(task)))
