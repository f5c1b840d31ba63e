import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { SecretBox } from '../../kernel/secret.ts'
import { minorText } from '../money.ts'
import { monthText } from '../months.ts'
import type { DueEvent, SendResult, Sink, SinkKind, SinkStore, UsageRecord, UsageSink } from './ports.ts'
import { openKey } from './sinks.ts'

export interface SendDeps {
  readonly clock: Clock
  readonly engines: Readonly<Record<SinkKind, UsageSink>>
  readonly log: Log
  readonly secretBox: SecretBox
  readonly sinks: SinkStore
}

/** Longer than a batch takes. */
const leaseSeconds = 180
/** The waits after failed attempts, one after the other; the last one is repeated. */
const waitsSeconds = [60, 120, 300, 900, 1800, 3600] as const

const recordOf = (event: DueEvent, { oldestSeconds }: UsageSink, now: Date): UsageRecord => {
  const { ref, externalId, contractId, product, measure, use, thousandths, month, datedAt } = event
  const isTooOld = oldestSeconds !== undefined && datedAt < laterBySeconds(now, -oldestSeconds)
  return {
    ref,
    externalId,
    contractId,
    product,
    measure,
    use,
    meter: `${product}_${measure}_${use.replace('-', '_')}`,
    value: minorText(thousandths, 3),
    month: monthText(month),
    datedAt: isTooOld ? now : datedAt,
  }
}

const lostAnswer = 'It was sent and the answer was lost. The engine no longer detects that it gets the event again.'

/** Writes what became of a batch. */
const record = async ({ sinks }: SendDeps, events: readonly DueEvent[], result: SendResult): Promise<void> => {
  const idsOf = (refs: readonly string[]) => {
    const wanted = new Set(refs)
    return events.filter(({ ref }) => wanted.has(ref)).map(({ id }) => id)
  }
  await sinks.setState(idsOf(result.accepted), 'sent', '')
  for (const [ref, reason] of result.refused) await sinks.setState(idsOf([ref]), 'refused', reason)
  const known = new Set([...result.accepted, ...result.refused.keys(), ...(result.later?.unsure ?? [])])
  // What an earlier attempt may have delivered stays in doubt.
  const unsent = events.filter(({ ref, attemptedAt }) => !known.has(ref) && attemptedAt === undefined)
  await sinks.setAttempted(
    unsent.map(({ id }) => id),
    undefined,
  )
}

/** Sends the events of a sink until none is due, the engine does not take them, or the lease is lost. */
const sendTo = async (deps: SendDeps, sink: Sink, signal: AbortSignal): Promise<void> => {
  const { clock, sinks } = deps
  const engine = deps.engines[sink.kind]
  const to = { address: sink.address, key: await openKey(deps.secretBox, sink) }
  let leased: Pick<Sink, 'id' | 'nextAttemptAt'> = sink
  const release = (next: Pick<Sink, 'nextAttemptAt' | 'failures' | 'lastError'>) =>
    sinks.release(sink.id, leased.nextAttemptAt, next)
  for (;;) {
    const now = clock.now()
    const until = laterBySeconds(now, leaseSeconds)
    if (!(await sinks.claim(leased, until))) return
    leased = { id: sink.id, nextAttemptAt: until }
    const due = signal.aborted ? [] : await sinks.due(sink.id, engine.batch)
    if (due.length === 0) return release({ nextAttemptAt: now, failures: 0, lastError: '' })
    const { knowsIdsSeconds } = engine
    const forgottenAt = knowsIdsSeconds === undefined ? new Date(0) : laterBySeconds(now, -knowsIdsSeconds)
    const isForgotten = ({ attemptedAt }: DueEvent) => attemptedAt !== undefined && attemptedAt <= forgottenAt
    const doubtful = due.filter(isForgotten).map(({ id }) => id)
    await sinks.setState(doubtful, 'unknown', lostAnswer)
    const events = due.filter((event) => !isForgotten(event))
    if (events.length === 0) continue
    const fresh = events.filter(({ attemptedAt }) => attemptedAt === undefined)
    await sinks.setAttempted(
      fresh.map(({ id }) => id),
      now,
    )
    const records = events.map((event) => recordOf(event, engine, now))
    const result = await engine.send(to, records, signal)
    await record(deps, events, result)
    if (result.later === undefined) continue
    const { reason, retryAfterSeconds } = result.later
    const failures = sink.failures + 1
    const wait = Math.max(retryAfterSeconds, waitsSeconds[failures - 1] ?? 3600)
    deps.log.warn({ sink: sink.name, reason, failures, waitSeconds: wait }, 'usage could not be sent yet')
    return release({ nextAttemptAt: laterBySeconds(clock.now(), wait), failures, lastError: reason })
  }
}

/**
 * Sends what is due to all sinks. A process sends to a sink at a time; if it dies, another one continues after its lease,
 * with the same ids of events.
 */
export const makeSendUsage =
  (deps: SendDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const now = deps.clock.now()
    const due = (await deps.sinks.list()).filter(({ isEnabled, nextAttemptAt }) => isEnabled && nextAttemptAt <= now)
    await Promise.all(
      due.map(async (sink) => {
        try {
          await sendTo(deps, sink, signal)
        } catch (error) {
          deps.log.error({ sink: sink.name, error }, 'usage could not be sent')
        }
      }),
    )
  }
