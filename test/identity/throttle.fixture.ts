import { right } from 'fp-ts/lib/Either.js'
import { makeAttemptThrottle } from '../../adapters/system/attempt-throttle.ts'
import type { Attempt, AttemptCounters, AttemptKind, AttemptThrottle } from '../../core/identity/attempt-ports.ts'
import type { Background } from '../../core/identity/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { Log } from '../../core/kernel/log.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeMemoryCounters } from './memory-counters.ts'

export const ada = 7 as UserId

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
} as unknown as Log

/** One instance over given counters. */
export const throttleOver = (
  counters: AttemptCounters,
  nowMilliseconds: () => number,
  log: Log = silent,
  background: Background = { run: (_what, work) => void work().catch(() => undefined) },
): AttemptThrottle =>
  makeAttemptThrottle({
    counters,
    key: secret(new Uint8Array(32).fill(7)),
    clock: { now: () => new Date(nowMilliseconds()) },
    background,
    log,
  })

/** Instances over counters in memory, with one clock. */
export const makeThrottleFixture = (instances = 2) => {
  let now = Date.parse('2026-05-01T08:00:00.000Z')
  const memory = makeMemoryCounters(() => now)
  const throttles = Array.from({ length: instances }, () => throttleOver(memory.counters, () => now))
  const on = (instance: number): AttemptThrottle => throttles[instance % instances] as AttemptThrottle
  return {
    memory,
    on,
    now: () => now,
    passSeconds: (seconds: number) => void (now += seconds * 1000),
    /** What became of a guess: `right`, `wrong`, `wrong, locks`, `subject-locked`, `address-blocked`. */
    guess: async (
      isRight: boolean,
      { instance = 0, ...attempt }: Partial<Attempt> & { readonly instance?: number } = {},
    ): Promise<string> => {
      const full: Attempt = { kind: 'password' as AttemptKind, subject: ada, sourceIp: '198.51.100.7', ...attempt }
      const guarded = await on(instance).guard(full, async () => right(isRight ? 'it' : undefined))
      if (guarded.kind === 'judged') return 'right'
      return guarded.kind === 'wrong' ? (guarded.hasLocked ? 'wrong, locks' : 'wrong') : guarded.kind
    },
  }
}
export type ThrottleFixture = ReturnType<typeof makeThrottleFixture>
