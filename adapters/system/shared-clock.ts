import type { Clock, TimeTrust } from '../../core/kernel/clock.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { LocalClock } from './system-clock.ts'
import { localClock } from './system-clock.ts'

/** The database's time, computed in this process from an offset that is measured repeatedly. */
export interface SharedClock extends Clock, TimeTrust {
  /** Returns this machine's wall clock minus the shared time, in milliseconds. */
  skewMs(): number
  /** Reports whether the last measurement found a difference of more than `worstSkewMs`. */
  isSkewed(): boolean
  /**
   * Measures, unless a measurement was made just before. Resolves to a signal that aborts when the time becomes
   * doubtful, or to undefined while it is doubtful. Rejects if the database does not answer; the last offset is then
   * kept.
   */
  trusted(): Promise<AbortSignal | undefined>
  /** Measures every few seconds until `stop`, and logs when a skew or a jump starts and ends. */
  watch(log: Log): void
  stop(): Promise<void>
}

/** A larger difference between the clocks of this machine and of the database is a skew. */
export const worstSkewMs = 5_000
/** A skew ends below this value, so that one near the limit does not alternate. */
const endedSkewMs = 4_000
const everyMs = 5_000
/** Concurrent callers within this time share a measurement. */
const freshMs = 1_000
/** The database's time after a jump is accepted after this many measurements, this far apart. */
const repeatsWanted = 3
const repeatAfterMs = 1_000
/** A slower answer proves too little about a jump. */
const longestTripMs = 2_000
/** The time is doubtful for this long after the last sign of a jump. */
const restMs = 60_000

interface Reading {
  readonly databaseMs: number
  readonly sentAt: number
  readonly gotAt: number
}

export interface SharedClockDeps {
  /** Returns the database's time in milliseconds since the epoch. */
  readonly ask: () => Promise<number>
  readonly local?: LocalClock
}

/** Measures once, so that the clock is correct from its first use. Rejects if the database does not answer. */
export const openSharedClock = async ({ ask, local = localClock }: SharedClockDeps): Promise<SharedClock> => {
  const read = async (): Promise<Reading> => {
    const sentAt = local.steadyMs()
    const databaseMs = await ask()
    return { databaseMs, sentAt, gotAt: local.steadyMs() }
  }
  let best = await read()
  for (let left = 2; left > 0 && tripOf(best) > longestTripMs; left -= 1) {
    const another = await read()
    if (tripOf(another) < tripOf(best)) best = another
  }
  return makeSharedClock(read, local, best)
}

const tripOf = ({ sentAt, gotAt }: Reading): number => gotAt - sentAt

/** Returns the database's time minus the steady clock, taken at the middle of the round trip. */
const offsetOf = (reading: Reading): number => reading.databaseMs + tripOf(reading) / 2 - reading.gotAt

/**
 * Returns how far a time at `gotAt` is outside the range that the reading allows: the database read its clock, in whole
 * milliseconds, at some point of the round trip.
 */
const errorOf = (reading: Reading, ms: number): number =>
  ms - Math.min(Math.max(ms, reading.databaseMs), reading.databaseMs + tripOf(reading) + 1)

interface Doubts {
  readonly skew: boolean
  readonly jump: boolean
}

/** Logs a line when a doubt starts and one when it ends. */
const notifyChanges = (log: Log, before: Doubts, now: Doubts, skewMs: number): Doubts => {
  const fields = { skewSeconds: Math.round(skewMs) / 1000 }
  if (now.skew && !before.skew)
    log.error(
      fields,
      'the clocks of this machine and of the database differ: jobs do not run and /readyz answers 503 until they agree',
    )
  if (!now.skew && before.skew) log.info(fields, 'the clocks of this machine and of the database agree again')
  if (now.jump && !before.jump)
    log.warn(
      fields,
      'the time that the database says has jumped: jobs do not run until it has been steady for a minute',
    )
  if (!now.jump && before.jump) log.info(fields, 'the time that the database says is steady again')
  return now
}

const makeSharedClock = (read: () => Promise<Reading>, local: LocalClock, first: Reading): SharedClock => {
  let offsetMs = offsetOf(first)
  let measuredAt = first.gotAt
  /** A time reported by the database that does not follow from the previous one. */
  let claim: { readonly offsetMs: number; readonly repeats: number } | undefined
  let restUntil = -Infinity
  let isSkewed = false
  let trust = new AbortController()
  let log: Log | undefined
  let told = { skew: false, jump: false }
  let underWay: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const nowMs = (): number => offsetMs + local.steadyMs()
  const skewMs = (): number => local.wallMs() - nowMs()

  /** Follows a jump that this machine's clock confirms, or that was repeated. A single wrong answer has no effect. */
  const weighJump = (reading: Reading): void => {
    restUntil = reading.gotAt + restMs
    if (tripOf(reading) > longestTripMs) return
    const claimed = offsetOf(reading)
    const earlier = claim !== undefined && Math.abs(claim.offsetMs - claimed) <= worstSkewMs ? claim.repeats : 0
    claim = { offsetMs: claimed, repeats: earlier + 1 }
    const isConfirmed = Math.abs(local.wallMs() - local.steadyMs() - claimed) <= worstSkewMs
    if (!isConfirmed && claim.repeats < repeatsWanted) return
    offsetMs = claimed
    claim = undefined
  }

  const weigh = (reading: Reading): void => {
    measuredAt = reading.gotAt
    const error = errorOf(reading, offsetMs + reading.gotAt)
    if (Math.abs(error) > worstSkewMs) return weighJump(reading)
    // By no more than the reading proves: a slow answer proves little and changes little.
    offsetMs -= error
    claim = undefined
  }

  const judge = (): void => {
    isSkewed = Math.abs(skewMs()) > (isSkewed ? endedSkewMs : worstSkewMs)
    const isResting = local.steadyMs() < restUntil
    if (isSkewed || isResting) trust.abort()
    else if (trust.signal.aborted) trust = new AbortController()
    if (log !== undefined) told = notifyChanges(log, told, { skew: isSkewed, jump: isResting }, skewMs())
  }

  const measureNow = (): Promise<void> =>
    (underWay ??= read()
      .then(weigh)
      .finally(() => {
        underWay = undefined
        judge()
      }))

  const measure = (): Promise<void> => {
    if (underWay === undefined && local.steadyMs() - measuredAt < freshMs) return Promise.resolve(judge())
    return measureNow()
  }

  const measureLater = (): void => {
    const next = (): void => {
      if (timer !== undefined) measureLater()
    }
    timer = setTimeout(() => void measureNow().then(next, next), claim === undefined ? everyMs : repeatAfterMs).unref()
  }

  judge()
  return {
    now: () => new Date(nowMs()),
    isTrusted: () => !trust.signal.aborted,
    skewMs,
    isSkewed: () => isSkewed,
    trusted: async () => {
      await measure()
      return trust.signal.aborted ? undefined : trust.signal
    },
    watch: (given) => {
      log = given
      judge()
      measureLater()
    },
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await underWay?.catch(() => undefined)
    },
  }
}
