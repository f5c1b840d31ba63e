/**
 * For whom work is done: the id of an account, a text for anonymous callers (their network, a name that they enter), or
 * `undefined` for the service itself, which counts as one account.
 */
export type AccountKey = number | string | undefined

export interface LimiterCapacity {
  /** The number of turns at the same time. */
  readonly inAll: number
  readonly perAccount: number
  /** The number of calls of one account that wait; further ones are refused. */
  readonly waitingPerAccount: number
  /** The number of calls of all accounts that wait. */
  readonly waitingInAll: number
  /** What waiting and running calls hold in memory. One call of an account may always be larger. */
  readonly bytesPerAccount: number
  readonly bytesInAll: number
}

/** A call in a fair queue. */
export interface QueuedCall {
  readonly account: AccountKey
  /** The account that an anonymous caller names. Its turns are counted as well, whatever networks they come from. */
  readonly named?: AccountKey
  /**
   * The expected length of the work, in a unit of the caller's choice: short calls come before long ones. Above 0, by
   * default 1.
   */
  readonly length?: number
}

/** A call that wants a turn. */
export interface LimitedCall extends QueuedCall {
  readonly length: number
  /** What the call holds in memory while it waits and runs. */
  readonly bytes: number
}

/** What an event means for the calls: those that get their turn now, and those that will never get one. */
export interface LimiterChanges<Call> {
  readonly started: readonly Call[]
  readonly refused: readonly Call[]
}

/** A call that waits. */
interface Waiting<Call> {
  readonly call: Call
  readonly length: number
  /** The virtual time at the arrival, and the length after it. */
  readonly due: number
  /** The order of arrivals. */
  readonly number: number
}

/** The calls of an account that wait and run. It exists as long as there are some, or as some name it. */
interface AccountCalls<Call> {
  /** In the order in which they start. */
  readonly waiting: Waiting<Call>[]
  running: number
  /** Those that name the account count as well. */
  calls: number
  /** The virtual time and the order of the last turn. */
  lastAt: number
  lastNumber: number
}

/**
 * Self-clocked fair queueing. Each account that waits has a position in a virtual time, which is the length of the work
 * that an account with calls in every turn has received. A call is due at its length after the last turn of its
 * account, or after its arrival if that is later, and the call that is due first gets the next turn. So accounts with
 * calls of equal length get their turns one after the other, an account with long calls gets fewer of them, a short
 * call comes before a long one, and a long one is overtaken by no more than its own length. An account that waits does
 * not save turns for later. An account that has all its turns holds up no other.
 *
 * The queue has no capacity of its own: the caller says which accounts may not start a call.
 */
export class FairQueue<Call extends QueuedCall> {
  readonly #accounts = new Map<AccountKey, AccountCalls<Call>>()
  #running = 0
  #waiting = 0
  #virtualTime = 0
  #number = 0

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  runningOf(account: AccountKey): number {
    return this.#accounts.get(account)?.running ?? 0
  }

  /** Returns the accounts whose calls wait, with these calls. */
  *accountsWaiting(): Iterable<readonly [AccountKey, readonly Waiting<Call>[]]> {
    for (const [account, { waiting }] of this.#accounts) if (waiting.length > 0) yield [account, waiting]
  }

  waitingOf(account: AccountKey): readonly Waiting<Call>[] {
    return this.#accounts.get(account)?.waiting ?? []
  }

  /** Lets a call wait. */
  add(call: Call): void {
    const { waiting } = this.#enter(call)
    const { length = 1 } = call
    this.#number += 1
    const added = { call, length, due: this.#virtualTime + length, number: this.#number }
    let at = waiting.length
    while (at > 0 && (waiting[at - 1]?.due ?? 0) > added.due) at -= 1
    waiting.splice(at, 0, added)
    this.#waiting += 1
  }

  /** Ends the wait of a call. Reports whether it waited. */
  remove(call: Call): boolean {
    const waiting = this.#accounts.get(call.account)?.waiting ?? []
    const at = waiting.findIndex((each) => each.call === call)
    if (at < 0) return false
    waiting.splice(at, 1)
    this.#waiting -= 1
    this.#leave(call)
    return true
  }

  /** Starts a call that does not wait. */
  start(call: QueuedCall): void {
    const { lastAt } = this.#enter(call)
    this.#begin(call, Math.max(lastAt, this.#virtualTime) + (call.length ?? 1))
  }

  /** Starts and returns the call that is next of the accounts that are not full. */
  startNext(isFull: (account: AccountKey) => boolean): Call | undefined {
    let first: AccountCalls<Call> | undefined
    let [firstDue, firstTurn, firstNumber] = [0, 0, 0]
    for (const [account, own] of this.#accounts) {
      const [next] = own.waiting
      if (next === undefined) continue
      const named = next.call.named === undefined ? undefined : this.#accounts.get(next.call.named)
      const due = Math.max(next.due, Math.max(own.lastAt, named?.lastAt ?? 0) + next.length)
      const turn = Math.max(own.lastNumber, named?.lastNumber ?? 0)
      // Among equals the account whose last turn was earlier, then the call that arrived earlier.
      const order = due - firstDue || turn - firstTurn || next.number - firstNumber
      if ((first !== undefined && order > 0) || isFull(account)) continue
      first = own
      ;[firstDue, firstTurn, firstNumber] = [due, turn, next.number]
    }
    const started = first?.waiting.shift()?.call
    if (started === undefined) return undefined
    this.#waiting -= 1
    this.#begin(started, firstDue)
    return started
  }

  /** Ends a call that was started. */
  end(call: QueuedCall): void {
    const own = this.#accounts.get(call.account)
    if (own !== undefined) own.running -= 1
    this.#running -= 1
    this.#leave(call)
  }

  #enter(call: QueuedCall): AccountCalls<Call> {
    if (call.named !== undefined) this.#of(call.named).calls += 1
    const own = this.#of(call.account)
    own.calls += 1
    return own
  }

  #of(account: AccountKey): AccountCalls<Call> {
    const known = this.#accounts.get(account)
    if (known !== undefined) return known
    const made = { waiting: [], running: 0, calls: 0, lastAt: 0, lastNumber: 0 }
    this.#accounts.set(account, made)
    return made
  }

  #begin({ account, named }: QueuedCall, due: number): void {
    this.#virtualTime = Math.max(this.#virtualTime, due)
    this.#number += 1
    this.#running += 1
    this.#of(account).running += 1
    this.#noteTurn(account)
    if (named !== undefined) this.#noteTurn(named)
  }

  #noteTurn(account: AccountKey): void {
    const own = this.#of(account)
    own.lastAt = this.#virtualTime
    own.lastNumber = this.#number
  }

  /** Without a call, an account starts at the virtual time, which is never before its last turn. */
  #leave({ account, named }: QueuedCall): void {
    this.#release(account)
    if (named !== undefined) this.#release(named)
    if (this.#accounts.size === 0) this.#virtualTime = 0
  }

  #release(account: AccountKey): void {
    const own = this.#of(account)
    own.calls -= 1
    if (own.calls === 0) this.#accounts.delete(account)
  }
}

/** The weight of the newest measurement in the mean. */
const newestWeight = 0.2
/** The seconds that one unit of length takes, until one is measured. */
const assumedSeconds = 0.02
const longestSecondsToWait = 3600

const sumOf = <Call>(waiting: readonly Waiting<Call>[], amountOf: (call: Call) => number): number =>
  waiting.reduce((sum, { call }) => sum + amountOf(call), 0)

/**
 * A fair queue with limits. If more calls wait than may, the newest call of the account with the most waiting calls is
 * refused: an account with no more than an equal share of the waiting calls is never refused. It has no timers: every
 * event is passed to it, with the time in milliseconds.
 */
export class FairLimiter<Call extends LimitedCall> {
  readonly #limits: LimiterCapacity
  readonly #queue = new FairQueue<Call>()
  readonly #startedMs = new Map<Call, number>()
  readonly #bytesOf = new Map<AccountKey, number>()
  #bytes = 0
  #secondsOfUnit = assumedSeconds
  #isMeasured = false

  constructor(limits: LimiterCapacity) {
    this.#limits = limits
  }

  get running(): number {
    return this.#queue.running
  }

  get waiting(): number {
    return this.#queue.waiting
  }

  /** A call arrives. It starts, waits, is refused, or takes the place of a waiting call of an account that has more. */
  add(call: Call, nowMs: number): LimiterChanges<Call> {
    const { waitingPerAccount, bytesPerAccount } = this.#limits
    const held = this.#bytesOf.get(call.account) ?? 0
    if (held > 0 && held + call.bytes > bytesPerAccount) return { started: [], refused: [call] }
    this.#queue.add(call)
    this.#hold(call, call.bytes)
    const started = this.#startNext(nowMs)
    if (started.includes(call)) return { started, refused: [] }
    if (this.#queue.waitingOf(call.account).length > waitingPerAccount) {
      this.leave(call)
      return { started, refused: [call] }
    }
    return { started, refused: this.#refuseExcess() }
  }

  /** A waiting call ends its wait. Reports whether it waited. */
  leave(call: Call): boolean {
    const hasWaited = this.#queue.remove(call)
    if (hasWaited) this.#hold(call, -call.bytes)
    return hasWaited
  }

  /** A call that had a turn has ended. */
  end(call: Call, nowMs: number): LimiterChanges<Call> {
    const startedMs = this.#startedMs.get(call)
    if (startedMs === undefined) return { started: [], refused: [] }
    this.#startedMs.delete(call)
    this.#queue.end(call)
    this.#hold(call, -call.bytes)
    const seconds = Math.max(0, nowMs - startedMs) / 1000 / call.length
    this.#secondsOfUnit = this.#isMeasured
      ? this.#secondsOfUnit + (seconds - this.#secondsOfUnit) * newestWeight
      : seconds
    this.#isMeasured = true
    return { started: this.#startNext(nowMs), refused: [] }
  }

  /**
   * Returns in how many seconds the work of the account that waits now has probably started, at the measured speed of
   * the calls before. A whole number, at least 1.
   */
  secondsToWait(account: AccountKey): number {
    const waiting = [...this.#queue.accountsWaiting()].map(([each]) => each)
    const accounts = new Set(waiting).add(account).size
    const share = Math.min(this.#limits.perAccount, this.#limits.inAll / accounts)
    const own = sumOf(this.#queue.waitingOf(account), ({ length }) => length)
    const seconds = Math.ceil((own * this.#secondsOfUnit) / share)
    return Math.min(longestSecondsToWait, Math.max(1, seconds))
  }

  #hold({ account }: Call, bytes: number): void {
    this.#bytes += bytes
    const now = (this.#bytesOf.get(account) ?? 0) + bytes
    if (now === 0) this.#bytesOf.delete(account)
    else this.#bytesOf.set(account, now)
  }

  readonly #isFull = (account: AccountKey): boolean => this.#queue.runningOf(account) >= this.#limits.perAccount

  #startNext(nowMs: number): readonly Call[] {
    const started: Call[] = []
    while (this.#queue.running < this.#limits.inAll) {
      const next = this.#queue.startNext(this.#isFull)
      if (next === undefined) break
      this.#startedMs.set(next, nowMs)
      started.push(next)
    }
    return started
  }

  /** Refuses the newest call of the account with the greatest amount. */
  #refuseNewest(amountOf: (call: Call) => number): Call | undefined {
    let [most, newest]: [number, Waiting<Call> | undefined] = [0, undefined]
    for (const [, waiting] of this.#queue.accountsWaiting()) {
      const amount = sumOf(waiting, amountOf)
      if (amount <= most) continue
      most = amount
      newest = waiting.reduce<Waiting<Call> | undefined>(
        (last, each) => (amountOf(each.call) > 0 && each.number > (last?.number ?? 0) ? each : last),
        undefined,
      )
    }
    if (newest !== undefined) this.leave(newest.call)
    return newest?.call
  }

  #refuseExcess(): readonly Call[] {
    const refused: Call[] = []
    for (;;) {
      const hasTooMany = this.waiting > this.#limits.waitingInAll
      if (!hasTooMany && this.#bytes <= this.#limits.bytesInAll) return refused
      const call = this.#refuseNewest(hasTooMany ? () => 1 : ({ bytes }) => bytes)
      if (call === undefined) return refused
      refused.push(call)
    }
  }
}
