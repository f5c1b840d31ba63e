import { AsyncLocalStorage } from 'node:async_hooks'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'

const MiB = 1024 * 1024

export interface ReadingLimits {
  /** What one request reads in all. */
  readonly request: {
    readonly bytes: number
    readonly answers: number
    readonly milliseconds: number
    readonly heldBytes: number
  }
  /** The bytes that the requests of one account hold at the same time. */
  readonly accountHeldBytes: number
  /** The bytes that all requests hold at the same time. */
  readonly heldBytes: number
}

const usualReadingLimits: ReadingLimits = {
  request: { bytes: 512 * MiB, answers: 25_000, milliseconds: 120_000, heldBytes: 96 * MiB },
  accountHeldBytes: 96 * MiB,
  heldBytes: 192 * MiB,
}

/**
 * A request has read more than it may. The message completes a sentence about the source, such as 'The cluster ...'.
 */
export class OverBudget extends Error {}

/** One answer of a foreign server. */
export interface Reading {
  /** Counts bytes that were received. Throws OverBudget. */
  take(bytes: number): void
  /** Ends the reading. Nothing of the bytes is kept. */
  end(): void
  /**
   * Ends the reading. The bytes count until the surrounding request ends, or until the returned function is called,
   * since they are kept, or objects made of them.
   */
  keep(): () => void
}

/**
 * Budgets for bytes that other servers send: for each request, for the requests of one account, and for all. An account
 * may hold no more than is left for all others, so that some room is always left, whatever the number of accounts that
 * read.
 */
export interface ReadingBudgets {
  /**
   * Runs a request: all that it reads is one budget, also in what it starts.
   * @param account asked when something is read, since the caller of a request is known only after its start.
   * @param signal asked when the request waits: it aborts when the client disconnects.
   */
  request<A>(account: () => AccountKey, work: () => Promise<A>, signal?: () => AbortSignal | undefined): Promise<A>
  /** Runs a task for an account. It may read for hours, so only the bytes that it holds at one time are limited. */
  task<A>(account: AccountKey, work: () => Promise<A>): Promise<A>
  /** The account of the request or task that surrounds the call; otherwise `owner`. */
  account(owner?: AccountKey): AccountKey
  /** The signal of the request that surrounds the call. Work that several requests share must not use it. */
  signal(): AbortSignal | undefined
  /** Reports whether a request surrounds the call, and not a task. */
  inRequest(): boolean
  /**
   * Begins to read one answer. Throws OverBudget.
   * @param owner the account that counts outside of requests and tasks, such as the owner of the cluster that answers.
   */
  open(owner?: AccountKey): Reading
  /** The bytes that are held at this moment. */
  held(): number
}

/** A request or task that reads. */
interface Reader {
  readonly account: () => AccountKey
  readonly signal: (() => AbortSignal | undefined) | undefined
  readonly isTask: boolean
  readonly startedMilliseconds: number
  bytes: number
  answers: number
  heldBytes: number
  /** Give back what is kept until the end. */
  readonly releases: Set<() => void>
  isEnded: boolean
}

const tooMuch = 'sent more than one request may read.'

/** What surrounds the present work, of whichever budgets. */
const current = new AsyncLocalStorage<Reader>()

/** Returns the account of the request or task that surrounds the call; undefined outside of both. */
export const currentAccount = (): AccountKey => current.getStore()?.account()

class Budgets implements ReadingBudgets {
  readonly #limits: ReadingLimits
  readonly #heldOf = new Map<AccountKey, number>()
  #heldInAll = 0

  constructor(limits: ReadingLimits) {
    this.#limits = limits
  }

  #hold(account: AccountKey, bytes: number): void {
    this.#heldInAll += bytes
    const now = (this.#heldOf.get(account) ?? 0) + bytes
    if (now === 0) this.#heldOf.delete(account)
    else this.#heldOf.set(account, now)
  }

  #assertRoom(account: AccountKey, bytes: number): void {
    const held = (this.#heldOf.get(account) ?? 0) + bytes
    const isOver = held > this.#limits.accountHeldBytes || held > this.#limits.heldBytes - this.#heldInAll
    if (isOver)
      throw new OverBudget('sent more than can be read beside the other requests at this moment. Try again later.')
  }

  #assertWithin(reader: Reader): void {
    const { bytes, heldBytes, milliseconds } = this.#limits.request
    if (reader.isTask) return
    if (reader.bytes > bytes || reader.heldBytes > heldBytes) throw new OverBudget(tooMuch)
    if (performance.now() - reader.startedMilliseconds > milliseconds)
      throw new OverBudget('sends for longer than one request may read.')
  }

  async #run<A>(of: Pick<Reader, 'account' | 'signal' | 'isTask'>, work: () => Promise<A>): Promise<A> {
    const reader: Reader = {
      account: of.account,
      signal: of.signal,
      isTask: of.isTask,
      startedMilliseconds: performance.now(),
      bytes: 0,
      answers: 0,
      heldBytes: 0,
      releases: new Set(),
      isEnded: false,
    }
    try {
      return await current.run(reader, work)
    } finally {
      reader.isEnded = true
      for (const release of reader.releases) release()
    }
  }

  request<A>(account: () => AccountKey, work: () => Promise<A>, signal?: () => AbortSignal | undefined): Promise<A> {
    return this.#run({ account, signal, isTask: false }, work)
  }

  task<A>(account: AccountKey, work: () => Promise<A>): Promise<A> {
    return this.#run({ account: () => account, signal: undefined, isTask: true }, work)
  }

  account = (owner?: AccountKey): AccountKey => currentAccount() ?? owner

  signal = (): AbortSignal | undefined => current.getStore()?.signal?.()

  inRequest = (): boolean => current.getStore()?.isTask === false

  held(): number {
    return this.#heldInAll
  }

  open(owner?: AccountKey): Reading {
    const reader = current.getStore()
    const account = this.account(owner)
    if (reader !== undefined) reader.answers += 1
    if (reader?.isTask === false && reader.answers > this.#limits.request.answers)
      throw new OverBudget('was asked more often than one request may ask.')
    let taken = 0
    const end = (): void => {
      this.#hold(account, -taken)
      if (reader !== undefined) reader.heldBytes -= taken
      taken = 0
    }
    return {
      end,
      take: (bytes) => {
        this.#assertRoom(account, bytes)
        this.#hold(account, bytes)
        taken += bytes
        if (reader === undefined) return
        reader.bytes += bytes
        reader.heldBytes += bytes
        this.#assertWithin(reader)
      },
      keep: () => {
        if (reader === undefined || reader.isTask || reader.isEnded) {
          end()
          return () => undefined
        }
        const release = (): void => {
          reader.releases.delete(release)
          end()
        }
        reader.releases.add(release)
        return release
      },
    }
  }
}

export const makeReadingBudgets = (limits: ReadingLimits = usualReadingLimits): ReadingBudgets => new Budgets(limits)
