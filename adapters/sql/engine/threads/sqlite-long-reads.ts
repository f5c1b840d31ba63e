import { setImmediate as nextTurn } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { programUrl } from '../../../system/processes.ts'
import { makeThreads } from '../../../system/threads.ts'
import type { StatementText } from '../../kit/statement.ts'
import type { OpenedFile } from './checkpoint-thread.ts'
import { bindValues, encodeForSqlite } from '../prepare.ts'
import { readDriverRows, withLastingPlan } from '../sqlite-connection.ts'
import type { AskedRows, ReadPiece } from './sqlite-reader-thread.ts'
import { takePlace, type WaitQueue } from '../wait-queue.ts'

/**
 * Reads of SQLite that keep the main thread for long. A statement that did so once runs on a thread with a connection
 * of its own from then on, as long as it takes long there. Accounts take turns.
 */
export interface LongReads {
  /** Reports whether the statement runs on the thread. */
  takes(statement: StatementText): boolean
  /** Notes how long the statement took on the main thread. */
  took(statement: StatementText, milliseconds: number): void
  /** Returns the rows. They arrive in pieces, between which the event loop turns. */
  read(statement: StatementText, binds: object): Promise<unknown[]>
  close(): Promise<void>
}

export const noLongReads: LongReads = {
  takes: () => false,
  took: () => undefined,
  read: async () => [],
  close: async () => undefined,
}

/** A statement that keeps the main thread for so long is moved to the thread. */
const longMilliseconds = 20
/** A statement goes back after so many runs in a row that took less than a quarter of it. */
const shortRuns = 50
const mostStatements = 500
const idleMilliseconds = 60_000

const program = programUrl('./sqlite-reader-thread', import.meta.url)

/** Bytes arrive as plain arrays of bytes; the driver gives buffers. */
const asOfDriver = (row: unknown): unknown => {
  const values = row as Record<string, unknown>
  for (const name in values) {
    const value = values[name]
    if (value instanceof Uint8Array) values[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return row
}

/** @param turn grants the thread to one statement at a time. */
export const makeLongReads = (file: OpenedFile, turn: WaitQueue): LongReads => {
  // On another thread no caller waits for the event loop.
  if (!isMainThread) return noLongReads
  /** The runs in a row that were short, by statement. */
  const long = new Map<string, number>()
  const thread = makeThreads({ program, idleMilliseconds })
  const underWay = new Set<Promise<unknown[]>>()

  const ask = async (asked: AskedRows): Promise<ReadPiece> => {
    try {
      return (await thread.run('readRows', asked)) as ReadPiece
    } catch (error) {
      const { cause, message } = error as Error & { readonly cause?: { readonly code?: unknown } }
      throw cause?.code === undefined ? error : Object.assign(new Error(message), { code: cause.code })
    }
  }

  const note = (sql: string, milliseconds: number): void => {
    const runs = milliseconds < longMilliseconds / 4 ? (long.get(sql) ?? 0) + 1 : 0
    if (runs >= shortRuns) long.delete(sql)
    else if (long.has(sql)) long.set(sql, runs)
  }

  const readAlone = async (statement: StatementText, binds: object): Promise<unknown[]> => {
    const values = bindValues(statement, binds, encodeForSqlite)
    const { sql, int64 } = statement
    let piece = await ask({ file, sql: withLastingPlan(sql), int64, values })
    let milliseconds = piece.milliseconds
    const rows = readDriverRows(statement, piece.rows.map(asOfDriver))
    while (!piece.isLast) {
      await nextTurn()
      piece = await ask('next')
      milliseconds += piece.milliseconds
      rows.push(...readDriverRows(statement, piece.rows.map(asOfDriver)))
    }
    note(sql, milliseconds)
    return rows
  }

  const readInTurn = async (statement: StatementText, binds: object): Promise<unknown[]> => {
    const account = await takePlace(turn)
    try {
      return await readAlone(statement, binds)
    } finally {
      turn.release(account)
    }
  }

  return {
    takes: ({ sql }) => long.has(sql),
    took: ({ sql }, milliseconds) => {
      if (milliseconds < longMilliseconds) return
      const [oldest] = long.keys()
      if (long.size >= mostStatements && oldest !== undefined) long.delete(oldest)
      long.set(sql, 0)
    },
    read: (statement, binds) => {
      const reading = readInTurn(statement, binds)
      const ended = (): void => void underWay.delete(reading)
      underWay.add(reading)
      reading.then(ended, ended)
      return reading
    },
    close: async () => {
      // A thread that ends during a read rejects it.
      await Promise.allSettled(underWay)
      await thread.close()
    },
  }
}
