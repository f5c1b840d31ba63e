import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { Clock, TimeTrust } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { ClaimedMail, DeliverMail, DeliveryCount, MailOutbox, MailQueue, Mailer, OutboxNotifier } from './ports.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'

/** Seconds after which an unfinished attempt counts as dead. A mailer ends its attempts well before. */
const mailLeaseSeconds = 120

const firstWaitSeconds = 60
const longestWaitSeconds = 6 * 3600
const giveUpSeconds = 3 * 24 * 3600

/** Returns the wait after the nth failed attempt: one minute, doubled each time, at most six hours. @internal */
export const backoffSeconds = (attempts: number): number =>
  Math.min(longestWaitSeconds, firstWaitSeconds * 2 ** Math.max(0, attempts - 1))

/** Reports whether a mail that failed again is given up. @internal */
export const isTooOld = (createdAt: Date, now: Date): boolean =>
  now.getTime() - createdAt.getTime() >= giveUpSeconds * 1000

export interface DeliverMailDeps {
  readonly queue: MailQueue
  readonly mailer: Mailer
  readonly clock: Clock
  /** While the clock is not trusted, no mail counts as too old. */
  readonly trust: TimeTrust
  readonly log: Log
}

type MailResult = keyof DeliveryCount

/** Small enough for all attempts of a batch to end well before their lease. */
const batch = 5

/**
 * Sends due mail in batches until none is due or `signal` aborts. A mail is removed after the server accepted it; a
 * crash in between sends it again, under the same reference. Logs references and error classes, never content.
 */
export const makeDeliverMail =
  (deps: DeliverMailDeps): DeliverMail =>
  async (signal) => {
    const count = { sent: 0, postponed: 0, givenUp: 0 }
    while (!signal.aborted) {
      const now = deps.clock.now()
      const claimed = await deps.queue.claim(batch, now, laterBySeconds(now, mailLeaseSeconds))
      const results = await Promise.all(claimed.map((mail) => deliverOne(deps, mail)))
      for (const result of results) count[result] += 1
      if (claimed.length === 0) break
    }
    return count
  }

const deliverOne = async (deps: DeliverMailDeps, mail: ClaimedMail): Promise<MailResult> => {
  const trouble = await attempt(deps.mailer, mail)
  if (trouble === undefined) {
    await deps.queue.remove(mail)
    return 'sent'
  }
  const now = deps.clock.now()
  const fields = { mail: mail.ref, accountId: mail.accountId, attempts: mail.attempts, reason: trouble.reason }
  if (trouble.isFinal || (isTooOld(mail.createdAt, now) && deps.trust.isTrusted())) {
    deps.log.error(fields, 'a mail was given up')
    await deps.queue.remove(mail)
    return 'givenUp'
  }
  const waitSeconds = backoffSeconds(mail.attempts)
  deps.log.warn({ ...fields, waitSeconds }, 'a mail could not be sent yet')
  await deps.queue.postpone(mail, laterBySeconds(now, waitSeconds), trouble.reason)
  return 'postponed'
}

interface Trouble {
  readonly reason: string
  readonly isFinal: boolean
}

const attempt = async (mailer: Mailer, claimed: ClaimedMail): Promise<Trouble | undefined> => {
  try {
    const sent = await mailer.send(await claimed.open(), claimed.ref)
    return isLeft(sent) ? { reason: sent.left.message, isFinal: sent.left.tag === 'MailRefused' } : undefined
  } catch {
    // The error may quote the mail, so it is not reported.
    return { reason: 'unexpected', isFinal: false }
  }
}

/** Rings after the commit of a transaction that posted mail, so that the mail is sent at once. */
export const notifyAfterCommit = <Stores extends { readonly mail: MailOutbox }>(
  unitOfWork: UnitOfWork<Stores>,
  notifier: OutboxNotifier,
): UnitOfWork<Stores> => ({
  async run<F extends Failure, A>(call: Call<NoInfer<A>>, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A> {
    let hasPosted = false
    const outcome = await unitOfWork.run<F, A>(call, (stores) => {
      hasPosted = false
      const mail: MailOutbox = {
        async post(message) {
          await stores.mail.post(message)
          hasPosted = true
        },
      }
      return work({ ...stores, mail })
    })
    if (hasPosted && isRight(outcome)) notifier.ring()
    return outcome
  },
})

export interface StoppableBell extends OutboxNotifier {
  /** Starts no further delivery and waits for the one in progress. */
  stop(): Promise<void>
}

/** Runs `deliver` in this process, one run at a time. Rings during a run cause one more run. */
export const makeOutboxNotifier = (deliver: DeliverMail, log: Log): StoppableBell => {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let rangMeanwhile = false
  const round = async (): Promise<void> => {
    // The current response is sent first.
    await new Promise((resume) => setImmediate(resume))
    do {
      rangMeanwhile = false
      try {
        if (!stopping.signal.aborted) await deliver(stopping.signal)
      } catch (error) {
        log.warn(
          { reason: error instanceof Error ? error.name : 'unknown' },
          'mail could not be sent right away; it is tried again',
        )
      }
    } while (rangMeanwhile)
  }
  return {
    ring() {
      if (stopping.signal.aborted) return
      if (running !== undefined) rangMeanwhile = true
      else running = round().finally(() => (running = undefined))
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
