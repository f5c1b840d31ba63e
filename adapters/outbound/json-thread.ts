import { JsonUnreadable, piecesOf } from './json-pieces.ts'
import type { JsonAnswer, JsonJob } from './json-reader.ts'

/** Parses one text of the pool. */
export const answerTo = ({ bytes }: JsonJob): JsonAnswer => {
  try {
    return { piece: piecesOf(new TextDecoder().decode(bytes)) }
  } catch (error) {
    if (error instanceof JsonUnreadable) return { unreadable: error.message }
    throw error
  }
}
