import type { Clock } from '../../core/kernel/clock.ts'

/** Not longer, so that an unlock by an administrator at another instance is noticed soon. */
const maxMilliseconds = 5_000
const maxKeys = 10_000

/** Remembers for a moment which keys are blocked, so that a flood on one of them costs no query. */
export const makeBlockedKeys = (clock: Clock) => {
  const blocked = new Map<string, { readonly until: number; readonly forgottenAt: number }>()
  return {
    /** Milliseconds for which the key is still blocked, as far as is remembered. */
    millisecondsLeft(key: string): number | undefined {
      const found = blocked.get(key)
      if (found === undefined) return undefined
      const now = clock.now().getTime()
      if (now < Math.min(found.until, found.forgottenAt)) return found.until - now
      blocked.delete(key)
      return undefined
    },
    remember(key: string, milliseconds: number): void {
      const now = clock.now().getTime()
      blocked.delete(key)
      if (blocked.size >= maxKeys) blocked.delete(blocked.keys().next().value as string)
      blocked.set(key, { until: now + milliseconds, forgottenAt: now + maxMilliseconds })
    },
    forget: (key: string): void => void blocked.delete(key),
  }
}
