import mysql, { type FieldPacket, type PoolConnection, type ResultSetHeader } from 'mysql2'
import type { Bind } from '../kit/columns.ts'
import { bindValues, encodeForMysql } from './prepare.ts'
import type { RunResult, StatementText } from '../kit/statement.ts'

export type Answer = Record<string, unknown>[] | ResultSetHeader

/** Called once with an error, or with undefined and the driver's answer. */
export type Answered = (error: unknown, answer: Answer) => void

const nothing: Answer = []

/** Returns the error of a timed-out wait. The connection is no longer reliable. */
export const timedOut = (sql: string): Error =>
  Object.assign(new Error(`The database did not answer in time: ${sql}`), { code: timedOutCode })

/** Returns the text of a statement for messages, which must not show values. */
export const shownText = ({ sql, shown }: StatementText): string => shown ?? sql

const timedOutCode = 'MOORAGE_STATEMENT_TIMEOUT'

export const isTimedOut = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === timedOutCode

/**
 * MySQL ran nothing: while it opened the tables that the statement names, or those that refer to them, one was no longer
 * the one of the prepared statement. That happens to tables for which its cache has no room.
 */
const mustPrepareAgain = (error: unknown): boolean => (error as { readonly errno?: unknown } | null)?.errno === 1615

const mostRepreparations = 3

/**
 * Runs a statement on this connection, prepared unless its values are part of it. There is no time limit: the caller
 * has the timer.
 */
export const execute = (
  connection: PoolConnection,
  statement: StatementText,
  binds: object,
  answered: Answered,
): void => {
  let values: ReturnType<typeof encode>[]
  try {
    values = bindValues(statement, binds, encode)
  } catch (error) {
    return answered(error, nothing)
  }
  let repreparations = 0
  const done = (error: unknown, answer: unknown, fields: readonly FieldPacket[] | undefined): void => {
    if (mustPrepareAgain(error) && repreparations < mostRepreparations) {
      repreparations += 1
      connection.unprepare(statement.sql)
      return send()
    }
    if (error !== null)
      return answered(statement.shown === undefined ? error : withoutValues(error, statement.shown), nothing)
    try {
      if (Array.isArray(answer)) {
        const rows = answer as Record<string, unknown>[]
        settleIntegers(rows, fields ?? [], statement)
        const { read } = statement
        if (read !== undefined)
          return answered(
            undefined,
            rows.map((row) => read(row) as Record<string, unknown>),
          )
      }
    } catch (refused) {
      return answered(refused, nothing)
    }
    answered(undefined, answer as Answer)
  }
  const send = (): void => {
    // With `null` for values the driver does not search the text for places of values.
    if (statement.shown !== undefined) connection.query({ sql: statement.sql, values: null }, done)
    else if (statement.int64)
      connection.execute({ sql: statement.sql, supportBigNumbers: true, bigNumberStrings: true }, values, done)
    else connection.execute(statement.sql, values, done)
  }
  send()
}

/** The driver adds the text of the statement to its errors. */
const withoutValues = (error: unknown, shown: string): unknown =>
  error instanceof Error ? Object.assign(error, { sql: shown }) : error

/** A number of rows is sent as an integer: Vitess writes binds into the text, where `limit '10'` is not valid. */
const encode = (value: Bind, isCount: boolean) =>
  isCount && typeof value === 'number' ? mysql.TypedParameter.BIGINT(value) : encodeForMysql(value)

/** Returns a promise, which rejects with the error of `timedOut` if the answer takes longer. */
export const executeWithin = (
  milliseconds: number,
  connection: PoolConnection,
  statement: StatementText,
  binds: object,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timedOut(shownText(statement))), milliseconds)
    execute(connection, statement, binds, (error, answer) => {
      clearTimeout(timer)
      if (error === undefined) resolve(answer)
      else reject(error)
    })
  })

/** Runs a statement of the text protocol, such as `commit`. */
export const command = (connection: PoolConnection, sql: string, timeoutMilliseconds: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timedOut(sql)), timeoutMilliseconds)
    connection.query(sql, (error) => {
      clearTimeout(timer)
      if (error === null) resolve()
      else reject(error)
    })
  })

// The protocol's column types TINY, SHORT, LONG, LONGLONG and INT24.
const integerTypes = new Set([1, 2, 3, 8, 9])

const settleIntegers = (
  rows: Record<string, unknown>[],
  fields: readonly FieldPacket[],
  statement: StatementText,
): void => {
  if (rows.length === 0) return
  for (const field of fields) {
    const type = field.columnType
    if (type === undefined || !integerTypes.has(type)) continue
    if (statement.int64) toBigInts(rows, field.name)
    else if (type === 8) refuseText(rows, field.name, statement)
  }
}

const toBigInts = (rows: Record<string, unknown>[], name: string): void => {
  for (const row of rows) {
    const value = row[name]
    if (typeof value === 'string' || typeof value === 'number') row[name] = BigInt(value)
  }
}

const refuseText = (rows: Record<string, unknown>[], name: string, statement: StatementText): void => {
  for (const row of rows) {
    if (typeof row[name] === 'string') {
      throw new RangeError(
        `The column ${name} holds an integer beyond 2^53; compose the statement with int64: ${statement.sql}`,
      )
    }
  }
}

export const asRunResult = (answer: Answer): RunResult =>
  Array.isArray(answer) ? { affected: 0, insertId: 0 } : { affected: answer.affectedRows, insertId: answer.insertId }
