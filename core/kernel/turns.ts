/**
 * For whom work is done: the id of an account, a text for strangers (their network, a name that they enter), or
 * `undefined` for the service itself, which counts as one account.
 */
export type AccountKey = number | string | undefined

export interface TurnLimits {
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

/** A call that wants a turn. */
export interface TurnCall {
  readonly account: AccountKey
  /** The account that a stranger names. Its turns are counted as well, whatever networks they come from. */
  readonly named?: AccountKey
  /** The expected length of the work, in a unit of the caller's choice: short calls come before long ones. Above 0. */
  readonly length: number
  /** What the call holds in memory while it waits and runs. */
  readonly bytes: number
}

/** What an event means for the calls: those that get their turn now, and those that will never get one. */
export interface TurnChanges<Call> {
  readonly started: readonly Call[]
  readonly refused: readonly Call[]
}

/** Decides whose turn it is. It has no timers: every event is passed to it, with the time in milliseconds. */
export interface TurnRule<Call extends TurnCall> {
  /** A call arrives. It starts, waits, is refused, or takes the place of a waiting call of an account that has more. */
  add(call: Call, nowMs: number): TurnChanges<Call>
  /** A waiting call ends its wait. Reports whether it waited. */
  leave(call: Call): boolean
  /** A call that had a turn has ended. */
  end(call: Call, nowMs: number): TurnChanges<Call>
  /**
   * Returns in how many seconds the work of the account that waits now has probably started, at the measured speed of
   * the calls before. A whole number, at least 1.
   */
  secondsToWait(account: AccountKey): number
  readonly running: number
  readonly waiting: number
}

interface Place<Call> {
  readonly call: Call
  /** The virtual time at the arrival. */
  readonly arrivedAt: number
  /** The order of arrivals. */
  readonly number: number
}

/** The weight of the newest measurement in the mean. */
const newestWeight = 0.2
/** The seconds that one unit of length takes, until one is measured. */
const assumedSeconds = 0.02
const longestSecondsToWait = 3600

/** Returns the account with the greatest amount. `amountOf` is called once for each call. */
const heaviest = <Call extends TurnCall>(
  places: readonly Place<Call>[],
  amountOf: (call: Call) => number,
): { readonly account: AccountKey; readonly amount: number } | undefined => {
  const amounts = new Map<AccountKey, number>()
  for (const { call } of places) amounts.set(call.account, (amounts.get(call.account) ?? 0) + amountOf(call))
  let most: { readonly account: AccountKey; readonly amount: number } | undefined
  for (const [account, amount] of amounts) if (amount > (most?.amount ?? 0)) most = { account, amount }
  return most
}

/**
 * Self-clocked fair queueing. Each account that waits has a place in a virtual time, which is the length of the work
 * that an account with calls in every turn has received. A call is due at its length after the last turn of its
 * account, or after its arrival if that is later, and the call that is due first gets the next turn. So accounts with
 * calls of equal length get their turns one after the other, an account with long calls gets fewer of them, a short
 * call comes before a long one, and a long one is overtaken by no more than its own length. An account that waits does
 * not save turns for later. An account that has all its turns holds up no other.
 *
 * If more calls wait than may, the newest call of the account with the most waiting calls is refused: an account with
 * no more than an equal share of the places is never refused.
 */
export class FairTurns<Call extends TurnCall> implements TurnRule<Call> {
  readonly #limits: TurnLimits
  #waiting: Place<Call>[] = []
  readonly #running = new Map<Call, number>()
  readonly #runningOf = new Map<AccountKey, number>()
  readonly #bytesOf = new Map<AccountKey, number>()
  #bytes = 0
  #virtualTime = 0
  /** The virtual time and the order of the last turn of accounts with calls. */
  readonly #lastTurns = new Map<AccountKey, { readonly at: number; readonly number: number }>()
  #number = 0
  #secondsOfUnit = assumedSeconds
  #isMeasured = false

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#waiting.length
  }

  add(call: Call, nowMs: number): TurnChanges<Call> {
    const { waitingPerAccount, bytesPerAccount } = this.#limits
    const held = this.#bytesOf.get(call.account) ?? 0
    if (held > 0 && held + call.bytes > bytesPerAccount) return { started: [], refused: [call] }
    this.#number += 1
    const place = { call, arrivedAt: this.#virtualTime, number: this.#number }
    this.#waiting.push(place)
    this.#hold(call, call.bytes)
    const started = this.#startNext(nowMs)
    if (!this.#waiting.includes(place)) return { started, refused: [] }
    const ownWaiting = this.#waiting.filter((each) => each.call.account === call.account).length
    if (ownWaiting > waitingPerAccount) {
      this.leave(call)
      return { started, refused: [call] }
    }
    return { started, refused: this.#refuseExcess() }
  }

  leave(call: Call): boolean {
    const at = this.#waiting.findIndex((each) => each.call === call)
    if (at < 0) return false
    this.#waiting.splice(at, 1)
    this.#hold(call, -call.bytes)
    this.#forgetTurns()
    return true
  }

  end(call: Call, nowMs: number): TurnChanges<Call> {
    const startedMs = this.#running.get(call)
    if (startedMs === undefined) return { started: [], refused: [] }
    this.#running.delete(call)
    this.#count(call, -1)
    this.#hold(call, -call.bytes)
    const seconds = Math.max(0, nowMs - startedMs) / 1000 / call.length
    this.#secondsOfUnit = this.#isMeasured
      ? this.#secondsOfUnit + (seconds - this.#secondsOfUnit) * newestWeight
      : seconds
    this.#isMeasured = true
    return { started: this.#startNext(nowMs), refused: [] }
  }

  secondsToWait(account: AccountKey): number {
    const accounts = new Set(this.#waiting.map(({ call }) => call.account)).add(account).size
    const share = Math.min(this.#limits.perAccount, this.#limits.inAll / accounts)
    const own = this.#waiting.reduce((sum, { call }) => sum + (call.account === account ? call.length : 0), 0)
    const seconds = Math.ceil((own * this.#secondsOfUnit) / share)
    return Math.min(longestSecondsToWait, Math.max(1, seconds))
  }

  #hold({ account }: Call, bytes: number): void {
    this.#bytes += bytes
    const now = (this.#bytesOf.get(account) ?? 0) + bytes
    if (now === 0) this.#bytesOf.delete(account)
    else this.#bytesOf.set(account, now)
  }

  #count({ account }: Call, by: 1 | -1): void {
    const now = (this.#runningOf.get(account) ?? 0) + by
    if (now === 0) this.#runningOf.delete(account)
    else this.#runningOf.set(account, now)
  }

  #lastTurnOf(call: Call): { readonly at: number; readonly number: number } {
    const own = this.#lastTurns.get(call.account)
    const named = call.named === undefined ? undefined : this.#lastTurns.get(call.named)
    return { at: Math.max(own?.at ?? 0, named?.at ?? 0), number: Math.max(own?.number ?? 0, named?.number ?? 0) }
  }

  /** Of each account the call that is next among its own: a long one is overtaken only by its own length. */
  #nextOfAccounts(): readonly Place<Call>[] {
    const next = new Map<AccountKey, Place<Call>>()
    for (const place of this.#waiting) {
      const { account } = place.call
      if ((this.#runningOf.get(account) ?? 0) >= this.#limits.perAccount) continue
      const before = next.get(account)
      const isBefore = before === undefined || ownOrder(place) < ownOrder(before)
      if (isBefore) next.set(account, place)
    }
    return [...next.values()]
  }

  #next(): { readonly place: Place<Call>; readonly due: number } | undefined {
    let first: { readonly place: Place<Call>; readonly due: number; readonly lastTurn: number } | undefined
    for (const place of this.#nextOfAccounts()) {
      const last = this.#lastTurnOf(place.call)
      const due = Math.max(last.at, place.arrivedAt) + place.call.length
      // Among equals the account whose last turn was earlier, then the call that arrived earlier.
      const isFirst =
        first === undefined ||
        due < first.due ||
        (due === first.due &&
          (last.number < first.lastTurn || (last.number === first.lastTurn && place.number < first.place.number)))
      if (isFirst) first = { place, due, lastTurn: last.number }
    }
    return first
  }

  #startNext(nowMs: number): readonly Call[] {
    const started: Call[] = []
    while (this.#running.size < this.#limits.inAll) {
      const next = this.#next()
      if (next === undefined) break
      const { call } = next.place
      this.#waiting.splice(this.#waiting.indexOf(next.place), 1)
      this.#running.set(call, nowMs)
      this.#count(call, 1)
      this.#virtualTime = Math.max(this.#virtualTime, next.due)
      this.#number += 1
      const turn = { at: this.#virtualTime, number: this.#number }
      this.#lastTurns.set(call.account, turn)
      if (call.named !== undefined) this.#lastTurns.set(call.named, turn)
      started.push(call)
    }
    this.#forgetTurns()
    return started
  }

  /** Without a call, an account starts at the virtual time, which is never before its last turn. */
  #forgetTurns(): void {
    const calls = [...this.#waiting.map(({ call }) => call), ...this.#running.keys()]
    const present = new Set(calls.flatMap(({ account, named }) => [account, named]))
    for (const key of this.#lastTurns.keys()) if (!present.has(key)) this.#lastTurns.delete(key)
    if (this.#waiting.length === 0 && this.#running.size === 0) this.#virtualTime = 0
  }

  #refuseExcess(): readonly Call[] {
    const refused: Call[] = []
    const drop = (amountOf: (call: Call) => number): boolean => {
      const most = heaviest(this.#waiting, amountOf)
      const newest = this.#waiting.findLast(({ call }) => call.account === most?.account && amountOf(call) > 0)
      if (newest === undefined) return false
      refused.push(newest.call)
      return this.leave(newest.call)
    }
    while (this.#waiting.length > this.#limits.waitingInAll) drop(() => 1)
    while (this.#bytes > this.#limits.bytesInAll && drop(({ bytes }) => bytes));
    return refused
  }
}

const ownOrder = ({ call, arrivedAt }: Place<TurnCall>): number => arrivedAt + call.length

/**
 * What waits, by account. Accounts are served in turn, and each in the order of its items, as `FairTurns` does with
 * calls of equal length. It is for places that are asked for with each statement or request: adding and removing cost
 * the same however many wait.
 */
export class AccountQueue<Item> {
  /** The account that is first is served next. */
  readonly #accounts = new Map<AccountKey, Set<Item>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(account: AccountKey, item: Item): void {
    this.#accounts.set(account, (this.#accounts.get(account) ?? new Set<Item>()).add(item))
    this.#size += 1
  }

  /** Removes an item. One that does not wait any more is ignored. */
  remove(account: AccountKey, item: Item): void {
    const own = this.#accounts.get(account)
    if (own?.delete(item) !== true) return
    this.#size -= 1
    if (own.size === 0) this.#accounts.delete(account)
  }

  /** Removes and returns the next item. Accounts that are full are passed over, and keep their place. */
  removeNext(
    isFull: (account: AccountKey) => boolean,
  ): { readonly account: AccountKey; readonly item: Item } | undefined {
    for (const [account, own] of this.#accounts) {
      if (isFull(account)) continue
      // Behind the others that wait.
      this.#accounts.delete(account)
      this.#accounts.set(account, own)
      for (const item of own) {
        this.remove(account, item)
        return { account, item }
      }
    }
    return undefined
  }
}
