import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { unixSeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { LeaseStore } from '../../kernel/instances.ts'
import { whileHeld } from '../../kernel/instances.ts'
import type { Call } from '../../kernel/principal.ts'
import { token } from '../../kernel/token.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import { laterByMonths, monthEnd, monthOf, monthText } from '../month.ts'
import type { MonthKey, UnixSeconds, UsageMonth, UsageMonthStatus } from '../types.ts'
import type { RunningDigest } from './month-work.ts'
import type { GatheredMonth, GatherMonth, MonthReport, MonthStore, MonthUnitOfWork, NewRevision } from './ports.ts'
import { UsageMonthBusy, UsageMonthMissing, UsageMonthNotClosable } from './ports.ts'

/** A month is computed from 00:30 UTC of the next one on, */
const provisionalDelaySeconds = 30 * 60
/** and for good 72 hours after its end; a reopened one 72 hours after that. */
export const finalDelaySeconds = 72 * 3600

/** Reports whether a month becomes final now. `newest` is its newest revision. */
const isFinalDue = (newest: UsageMonth | undefined, month: MonthKey, now: Date): boolean => {
  const reopened = newest !== undefined && newest.revision > 1 ? unixSeconds(newest.generatedAt) : 0
  return unixSeconds(now) >= Math.max(monthEnd(month), reopened) + finalDelaySeconds
}

/** A revision that was generated this much later than now comes from a clock that was ahead. */
const certainlyAheadSeconds = 3600
const isFromFuture = ({ generatedAt }: Pick<UsageMonth, 'generatedAt'>, now: Date): boolean => unixSeconds(generatedAt) > unixSeconds(now) + certainlyAheadSeconds

/** Intervals are kept that long: an older month cannot be computed any more. */
const keptMonths = 13
const oldestMonth = (now: Date): MonthKey => laterByMonths(monthOf(unixSeconds(now) as UnixSeconds), -keptMonths)

/** Increased by each change that gives other figures for the same events. A month is then computed again when it is closed again. */
export const usageCodeVersion = 2

export const monthAuditOf = defineAudit('usage-month', ['usage-month.provisional', 'usage-month.final', 'usage-month.reopened'], ({ id, ownerId, month }: UsageMonth) => ({
  objectId: id,
  objectName: monthText(month),
  tenantId: ownerId,
}))

export interface CloseInput {
  readonly ownerId: AccountId
  readonly month: MonthKey
  /** `reopen` makes a new provisional revision of a final month. Without a value, the status that is due. */
  readonly as?: UsageMonthStatus | 'reopen'
  readonly onProgress?: (text: string, done: number, of: number) => void
}

export interface ClosedMonth {
  readonly month: UsageMonth
  /** False if the newest revision was computed from the same events: then nothing was written. */
  readonly isNew: boolean
  readonly objectCount: number
}

export type CloseFailure = Failure<'UsageMonthNotClosable'> | Failure<'UsageMonthBusy'> | Failure<'UsageMonthMissing'>

export interface CloseDeps {
  readonly gather: GatherMonth
  readonly digest: () => RunningDigest
  readonly clock: Clock
  readonly leases: LeaseStore
  /** Identifies this run: two runs in one process must not hold the lease of one month together. */
  readonly newHolder: () => string
  readonly months: MonthStore
  readonly unitOfWork: MonthUnitOfWork
  readonly report: MonthReport
}

export type CloseMonth = (call: Call, input: CloseInput) => Outcome<CloseFailure, ClosedMonth>
export const CloseMonthToken = token<CloseMonth>('usage.CloseMonth')

/** The work of a dead holder is taken over after this time. */
const leaseSeconds = 60

/** Does work under a lease; undefined if another holder has it. */
const underLease = async <A>(leases: LeaseStore, name: string, holder: string, ending: AbortSignal, work: (signal: AbortSignal) => Promise<A>): Promise<A | undefined> => {
  const lease = await leases.acquire(name, holder, leaseSeconds)
  if (lease === undefined) return undefined
  try {
    return await whileHeld(leases, lease, leaseSeconds, ending, work)
  } finally {
    await leases.release(lease)
  }
}

/** Returns which revision comes next; a failure if the month cannot be closed in this way. */
const nextRevision = (previous: UsageMonth | undefined, { month, as }: CloseInput, now: Date): Either<CloseFailure, Pick<UsageMonth, 'revision' | 'status'>> => {
  if (unixSeconds(now) < monthEnd(month) + provisionalDelaySeconds) return left(UsageMonthNotClosable(`The month ${monthText(month)} has not ended. A month is closed from 00:30 UTC of the next one on.`))
  const isFinal = previous?.status === 'final'
  if (month < oldestMonth(now) && (!isFinal || as === 'reopen')) return left(UsageMonthNotClosable(`The events of ${monthText(month)} are no longer kept: a month is computed within ${keptMonths} months after it.`))
  if (as === 'reopen') {
    if (previous === undefined) return left(UsageMonthMissing(`The month ${monthText(month)} was not closed yet.`))
    if (previous.status !== 'final') return left(UsageMonthNotClosable(`Revision ${previous.revision} of ${monthText(month)} is not final: it is open.`))
    return right({ revision: previous.revision + 1, status: 'provisional' })
  }
  if (isFinal && isFromFuture(previous, now)) {
    return left(UsageMonthNotClosable(`Revision ${previous.revision} of ${monthText(month)} was made final by a clock that was ahead, at ${previous.generatedAt.toISOString()}. It lacks later events: reopen the month.`))
  }
  if (isFinal) return right({ revision: previous.revision, status: 'final' })
  const status = as ?? (isFinalDue(previous, month, now) ? 'final' : 'provisional')
  return right({ revision: previous?.revision ?? 1, status })
}

/**
 * Computes a month of an owner and publishes it as a revision. Everything is written under a revision that no reader sees, in short
 * transactions, so that no other change waits for it; then one transaction publishes it. A run that ends in between leaves rows without effect, which
 * the next run removes. A final revision is never replaced: a new one has the next number. A run that finds the same input writes nothing.
 */
export const makeCloseMonth = (deps: CloseDeps): CloseMonth => {
  const { clock, gather, leases, months, newHolder } = deps
  return async (call, input) => {
    const { ownerId, month } = input
    const held = await underLease(leases, `usage.month.${ownerId}.${month}`, newHolder(), call.signal, async (signal): Outcome<CloseFailure, ClosedMonth> => {
      const previous = await months.newest(ownerId, month)
      const now = clock.now()
      const next = nextRevision(previous, input, now)
      if (isLeft(next)) return next
      if (previous?.status === 'final' && input.as !== 'reopen') return right({ month: previous, isNew: false, objectCount: 0 })
      for (const id of await months.abandoned(ownerId, month)) await months.remove(id)
      const gathered = await gather({
        call: { ...call, signal },
        ownerId,
        month,
        asOf: unixSeconds(now) as UnixSeconds,
        onProgress: (done, of) => input.onProgress?.('clusters read', done, of),
      })
      try {
        const inputHash = statusHash(deps, gathered.inputHash, next.right.status)
        if (previous?.inputHash === inputHash && previous.codeVersion === usageCodeVersion && !isFromFuture(previous, now)) {
          return right({ month: previous, isNew: false, objectCount: gathered.objectCount })
        }
        const revision: NewRevision = { ownerId, month, ...next.right, watermark: now, inputHash, codeVersion: usageCodeVersion, generatedAt: now }
        return await write(deps, { call, signal, input, gathered, revision, previous })
      } finally {
        await gathered.remove()
      }
    })
    return held ?? left(UsageMonthBusy(`Another process closes ${monthText(month)}. If that process has ended, try again in a minute.`))
  }
}

/** The status is shown in views and report, so it is part of what they are made of. */
const statusHash = ({ digest }: Pick<CloseDeps, 'digest'>, inputHash: string, status: UsageMonthStatus): string => {
  const hash = digest()
  hash.add(`${status} ${inputHash}\n`)
  return hash.end()
}

interface Writing {
  readonly call: Call
  readonly signal: AbortSignal
  readonly input: CloseInput
  readonly gathered: GatheredMonth
  readonly revision: NewRevision
  readonly previous: UsageMonth | undefined
}

const write = async (deps: CloseDeps, { call, signal, input, gathered, revision, previous }: Writing): Outcome<CloseFailure, ClosedMonth> => {
  const { months, report } = deps
  const id = await months.begin(revision)
  try {
    const { ownerId, month, status, generatedAt, inputHash } = revision
    const made: UsageMonth = { id, ownerId, month, revision: revision.revision, status, generatedAt, inputHash }
    await months.addSegments(id, gathered.segments)
    signal.throwIfAborted()
    await gathered.writeViews(id, signal, (done, of) => input.onProgress?.('parts of the views written', done, of))
    await report.write(made, signal)
    signal.throwIfAborted()
    const published = await publish(deps, call, made, previous, input.as === 'reopen')
    if (isLeft(published)) {
      await months.remove(id)
      return published
    }
    const replaced = previous?.revision === made.revision ? previous.id : undefined
    if (replaced !== undefined) await months.remove(replaced)
    input.onProgress?.('published', 1, 1)
    return right({ month: made, isNew: true, objectCount: gathered.objectCount })
  } catch (error) {
    // It may have been published, if the answer to that was lost: then nothing is removed. What remains if this fails is removed by the next run.
    await months.remove(id).catch(() => undefined)
    throw error
  }
}

/** Refuses if another revision was published since the beginning: then this run has lost its lease, however late it noticed. */
const publish = (deps: CloseDeps, call: Call, made: UsageMonth, previous: UsageMonth | undefined, isReopening: boolean): Outcome<Failure<'UsageMonthBusy'>, void> =>
  deps.unitOfWork.run<Failure<'UsageMonthBusy'>, void>(call, async ({ months, audit }) => {
    const newest = await months.newest(made.ownerId, made.month)
    if (newest?.id !== previous?.id) return left(UsageMonthBusy(`Another process has closed ${monthText(made.month)}.`))
    if (previous !== undefined && previous.revision === made.revision) await months.withdraw(previous.id)
    if (!(await months.publish(made.id))) return left(UsageMonthBusy(`Another process closes ${monthText(made.month)}.`))
    const action = isReopening ? 'usage-month.reopened' : (`usage-month.${made.status}` as const)
    await audit.record(monthAuditOf(made, action, { revision: made.revision, status: made.status, inputHash: made.inputHash }))
    return right(undefined)
  })

export interface DueMonth {
  readonly ownerId: AccountId
  readonly month: MonthKey
}

/** Returns the months that must be computed now, the oldest of an owner first. */
export const listDueMonths = async (months: Pick<MonthStore, 'owners' | 'listSince'>, now: Date): Promise<readonly DueMonth[]> => {
  const current = monthOf(unixSeconds(now) as UnixSeconds)
  const oldest = oldestMonth(now)
  const newest = new Map((await months.listSince(oldest)).map((each) => [`${each.ownerId} ${each.month}`, each]))
  const due: DueMonth[] = []
  for (const { ownerId, firstHeard } of await months.owners()) {
    const first = monthOf(firstHeard)
    for (let month = first > oldest ? first : oldest; month < current; month = laterByMonths(month, 1)) {
      const known = newest.get(`${ownerId} ${month}`)
      // That of a clock that was ahead is replaced, or refused with what to do.
      const isDue = known === undefined || isFromFuture(known, now) ? unixSeconds(now) >= monthEnd(month) + provisionalDelaySeconds : known.status === 'provisional' && isFinalDue(known, month, now)
      if (isDue) due.push({ ownerId, month })
    }
  }
  return due
}

interface CloseDueDeps {
  readonly months: Pick<MonthStore, 'owners' | 'listSince'>
  readonly close: CloseMonth
  readonly clock: Clock
  /** Called with what was thrown, or why the month was refused: the other months are closed all the same. */
  readonly onFailure: (due: DueMonth, error: unknown) => void
}

/**
 * Closes all months that are due. Several runs share the owners: a month that another one is closing is left to it. Throws if the call
 * was aborted.
 */
export const makeCloseDueMonths =
  ({ months, close, clock, onFailure }: CloseDueDeps) =>
  async (call: Call): Promise<void> => {
    for (const due of await listDueMonths(months, clock.now())) {
      call.signal.throwIfAborted()
      try {
        const closed = await close(call, due)
        if (isLeft(closed) && closed.left.tag !== 'UsageMonthBusy') onFailure(due, new Error(closed.left.message))
      } catch (error) {
        call.signal.throwIfAborted()
        onFailure(due, error)
      }
    }
  }
