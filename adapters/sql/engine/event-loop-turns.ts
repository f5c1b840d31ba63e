import type { PauseInLongTurn } from '../../../core/kernel/clock.ts'

/**
 * Statements of SQLite run on the main thread, and awaiting them does not let the event loop turn: transactions that
 * follow each other, or long results, would hold up all other requests, and the probes of the process, until the last
 * of them has ended.
 */

/** Longer than the transaction of an ordinary request. */
const longTurnMilliseconds = 15

let began: number | undefined
const waiting: (() => void)[] = []

const begin = (): void => {
  began = performance.now()
  setImmediate(() => {
    began = undefined
  })
}

const isLongTurn = (milliseconds: number): boolean => {
  if (began !== undefined) return performance.now() - began > milliseconds
  begin()
  return false
}

/** One in each turn: a turn lasts as long as the work of one, however many wait. */
const resumeNext = (): void => {
  begin()
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeNext)
}

export const pauseInLongTurn: PauseInLongTurn = (milliseconds = longTurnMilliseconds) =>
  isLongTurn(milliseconds)
    ? new Promise((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 1) setImmediate(resumeNext)
      })
    : undefined
