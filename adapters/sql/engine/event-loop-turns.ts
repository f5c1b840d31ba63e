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

/**
 * What an account may use of one turn before its next step waits, and how long steps that waited run in one turn:
 * several ordinary requests.
 */
const shareMilliseconds = 2

/** The longest rest, in milliseconds. A request must not wait out its deadline for one long step of another. */
const longestRest = 100

/** How many times as long as it ran. With 1, half of the requests of others would still arrive while it runs. */
const restFactor = 1.5

/** An account rests while another had a step in the last so many milliseconds. */
const restMilliseconds = 100

/**
 * Turns are shared while another account had a step in the last so many milliseconds. Short turns cost a busy account a
 * tenth of its speed, so one that is alone has them whole.
 */
const shareMemoryMilliseconds = 1000

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
  // The service itself needs no share: work without an account does not make an account rest.
  if (account === undefined) return
  if (latest?.account !== account) earlier = latest
  latest = step
}

/** Reports whether another account had a step in the last `milliseconds`. */
const hasOther = (account: AccountKey, nowMs: number, milliseconds: number): boolean => {
  const other = latest?.account === account ? earlier : latest
  return other !== undefined && nowMs - other.beganMs < milliseconds
}

const rests = (account: AccountKey, nowMs: number): boolean =>
  (restsUntil.get(account) ?? 0) > nowMs && hasOther(account, nowMs, restMilliseconds)

const usedOfTurn = (account: AccountKey, nowMs: number): number => {
  const now = step !== undefined && step.account === account ? nowMs - step.beganMs : 0
  return (used.get(account) ?? 0) + now
}

/**
 * Resumes those that wait, one account after the other, until they have run for the share of a turn: a turn lasts as
 * long as that and the work of one, however many wait.
 */
const resumeNext = (batchBeganMs?: number): void => {
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
  else afterPromises(() => resumeOrYield(batchBeganMs ?? nowMs))
}

const resumeOrYield = (batchBeganMs: number): void => {
  if (performance.now() - batchBeganMs < shareMilliseconds) resumeNext(batchBeganMs)
  else setImmediate(resumeNext)
}

/** Runs `work` in the same turn, when the callbacks of all settled promises have run. */
const afterPromises = (work: () => void): void => queueMicrotask(() => process.nextTick(work))

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
  const isOverShare =
    account !== undefined &&
    // Those that wait come first: each new request would overtake them in a new turn.
    (queue.waitingOf(account).length > 0 ||
      (usedOfTurn(account, nowMs) > shareMilliseconds && hasOther(account, nowMs, shareMemoryMilliseconds)) ||
      rests(account, nowMs))
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
