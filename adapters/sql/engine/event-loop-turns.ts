import type { PauseInLongTurn } from '../../../core/kernel/clock.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import { FairQueue } from '../../../core/kernel/fair-queue.ts'
import { isForEveryone } from '../../outbound/account-limiter.ts'
import { currentAccount } from '../../outbound/reading-budgets.ts'

/**
 * Statements of SQLite run on the main thread, and awaiting them does not let the event loop turn: transactions that
 * follow each other, or long results, would hold up all other requests, and the probes of the process, until the last
 * of them has ended. The same holds for many requests of one account that take a few milliseconds each: the event loop
 * would run all that have arrived in one turn.
 */

/** Longer than the transaction of an ordinary request. */
const longTurnMilliseconds = 15

/** What an account may use of one turn before its next step waits: several ordinary requests. */
const shareMilliseconds = 2

/** The longest rest, in milliseconds. A request must not wait out its deadline for one long step of another. */
const longestRest = 100

/** How many times as long as it ran. With 1, half of the requests of others would still arrive while it runs. */
const restFactor = 1.5

/** Another account counts as present for this long after its last step, in milliseconds. */
const presentMilliseconds = 100

interface Step {
  readonly account: AccountKey
  readonly beganMs: number
}

let turnBegan: number | undefined
/** What accounts have used of the present turn, in milliseconds, without `step`. */
const used = new Map<AccountKey, number>()
let step: Step | undefined
/** The last step of each of the two accounts that had the latest ones. */
let [latest, earlier]: (Step | undefined)[] = []
/** When accounts that used more than their share may continue. */
const restsUntil = new Map<AccountKey, number>()
const queue = new FairQueue<{ readonly account: AccountKey; readonly resume: () => void }>()
let isResuming = false

const count = (nowMs: number): void => {
  if (step?.account !== undefined) used.set(step.account, (used.get(step.account) ?? 0) + nowMs - step.beganMs)
  step = undefined
}

/** An account that used more than its share of a turn rests, so that others get as much and more. */
const endTurn = (): void => {
  const nowMs = performance.now()
  count(nowMs)
  turnBegan = undefined
  for (const [account, untilMs] of restsUntil) if (untilMs <= nowMs) restsUntil.delete(account)
  for (const [account, milliseconds] of used)
    if (milliseconds > shareMilliseconds)
      restsUntil.set(account, nowMs + Math.min(restFactor * milliseconds, longestRest))
  used.clear()
}

const beginStep = (account: AccountKey, nowMs: number): void => {
  if (turnBegan === undefined) {
    turnBegan = nowMs
    setImmediate(endTurn)
  }
  count(nowMs)
  step = { account, beganMs: nowMs }
  if (latest?.account !== account) earlier = latest
  latest = step
}

const rests = (account: AccountKey, nowMs: number): boolean => {
  if ((restsUntil.get(account) ?? 0) <= nowMs) return false
  const other = latest?.account === account ? earlier : latest
  return other !== undefined && nowMs - other.beganMs < presentMilliseconds
}

const usedOfTurn = (account: AccountKey, nowMs: number): number => {
  const now = step !== undefined && step.account === account ? nowMs - step.beganMs : 0
  return (used.get(account) ?? 0) + now
}

/** One in each turn: a turn lasts as long as the work of one, however many wait. Accounts get them one after the other. */
const resumeNext = (): void => {
  const nowMs = performance.now()
  const next = queue.startNext((account) => rests(account, nowMs))
  if (next !== undefined) {
    queue.end(next)
    beginStep(next.account, nowMs)
    next.resume()
  }
  isResuming = queue.waiting > 0
  if (!isResuming) return
  // All that wait rest.
  if (next === undefined) setTimeout(resumeNext, 1)
  else setImmediate(resumeNext)
}

const wait = (account: AccountKey): Promise<void> =>
  new Promise((resume) => {
    queue.add({ account, resume })
    if (isResuming) return
    isResuming = true
    setImmediate(resumeNext)
  })

export const pauseInLongTurn: PauseInLongTurn = (milliseconds = longTurnMilliseconds) => {
  const account = isForEveryone() ? undefined : currentAccount()
  const nowMs = performance.now()
  const isLong = turnBegan !== undefined && nowMs - turnBegan > milliseconds
  const isOverShare = account !== undefined && (usedOfTurn(account, nowMs) > shareMilliseconds || rests(account, nowMs))
  if (isLong || isOverShare) return wait(account)
  beginStep(account, nowMs)
  return undefined
}

/** As `pauseInLongTurn`, but no account rests: others wait for the end of its transaction. */
export const pauseInTransaction = (): Promise<void> | undefined => {
  const nowMs = performance.now()
  if (turnBegan !== undefined && nowMs - turnBegan > longTurnMilliseconds) return wait(undefined)
  if (turnBegan === undefined) beginStep(undefined, nowMs)
  return undefined
}
