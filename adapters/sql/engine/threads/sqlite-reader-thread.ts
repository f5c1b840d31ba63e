import Database from 'better-sqlite3'
import type { OpenedFile } from './checkpoint-thread.ts'
import { isThere } from './checkpoint-thread.ts'

/** What the thread is asked: to begin a statement, or for the next rows of the one that it has begun. */
export type AskedRows =
  | { readonly file: OpenedFile; readonly sql: string; readonly int64: boolean; readonly values: readonly unknown[] }
  | 'next'

/** The next rows. `milliseconds` is the time that the thread took for them. */
export interface ReadPiece {
  readonly rows: readonly unknown[]
  readonly isLast: boolean
  readonly milliseconds: number
}

/** The main thread receives as many at a time: that takes a few milliseconds. */
const rowsInPiece = 200

let connection: Database.Database | undefined
let begun: IterableIterator<unknown> | undefined

const open = (file: OpenedFile): Database.Database => {
  if (!isThere(file)) throw Object.assign(new Error('The file is not there.'), { code: 'SQLITE_BUSY' })
  const raw = new Database(file.path, { fileMustExist: true, timeout: 0 })
  raw.pragma('trusted_schema = OFF')
  raw.pragma('query_only = ON')
  return raw
}

/** Errors cross threads without their code. */
const withCode = (error: unknown): Error => {
  const { message, code } = error as Error & { readonly code?: unknown }
  return new Error(message, { cause: { code } })
}

const nextPiece = (iterator: IterableIterator<unknown>, beganMs: number): ReadPiece => {
  const rows: unknown[] = []
  let isLast = false
  while (rows.length < rowsInPiece) {
    const next = iterator.next()
    if (next.done === true) {
      isLast = true
      break
    }
    rows.push(next.value)
  }
  return { rows, isLast, milliseconds: performance.now() - beganMs }
}

/** Reads rows on a connection of this thread. It sees what was committed before the statement began. */
export const readRows = (asked: AskedRows): ReadPiece => {
  const beganMs = performance.now()
  try {
    if (asked !== 'next') {
      // The rows of a statement that was given up.
      begun?.return?.()
      begun = undefined
      connection ??= open(asked.file)
      const statement = connection.prepare<unknown[], unknown>(asked.sql)
      if (asked.int64) statement.safeIntegers(true)
      begun = statement.iterate(...asked.values)
    }
    if (begun === undefined) throw new Error('No statement was begun.')
    const piece = nextPiece(begun, beganMs)
    if (piece.isLast) begun = undefined
    return piece
  } catch (error) {
    begun = undefined
    throw withCode(error)
  }
}
