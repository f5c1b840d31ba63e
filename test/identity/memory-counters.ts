import type { AttemptCount, AttemptCounters } from '../../core/identity/attempt-ports.ts'

/** Counters of one process on a clock that the test moves; they can be made to fail, and count what they were asked. */
export const makeMemoryCounters = (nowMilliseconds: () => number) => {
  const kept = new Map<string, { points: number; expiresAt: number }>()
  let isAway = false
  let asked = 0
  const live = (key: Uint8Array): AttemptCount | undefined => {
    const found = kept.get(Buffer.from(key).toString('hex'))
    const millisecondsLeft = (found?.expiresAt ?? 0) - nowMilliseconds()
    return found === undefined || millisecondsLeft <= 0 ? undefined : { points: found.points, millisecondsLeft }
  }
  const set = (key: Uint8Array, points: number, expiresAt: number): void =>
    void kept.set(Buffer.from(key).toString('hex'), { points, expiresAt })
  const answer = async <A>(work: () => A): Promise<A> => {
    asked += 1
    await Promise.resolve()
    if (isAway) throw new Error('the store is away')
    return work()
  }
  const counters: AttemptCounters = {
    find: (key) => answer(() => live(key)),
    add: (key, points, milliseconds) =>
      answer(() => {
        const before = live(key)
        if (before === undefined) set(key, points, nowMilliseconds() + milliseconds)
        else set(key, before.points + points, nowMilliseconds() + before.millisecondsLeft)
        return live(key) as AttemptCount
      }),
    put: (key, points, milliseconds) => answer(() => set(key, points, nowMilliseconds() + milliseconds)),
    remove: (key) =>
      answer(() => {
        const was = live(key) !== undefined
        kept.delete(Buffer.from(key).toString('hex'))
        return was
      }),
    removeAll: (prefix, points) =>
      answer(() => {
        const under = [...kept].filter(([key]) => key.startsWith(Buffer.from(prefix).toString('hex')))
        for (const [key] of under) kept.delete(key)
        return under.some(([, found]) => found.points >= points && found.expiresAt > nowMilliseconds())
      }),
    purge: () => answer(() => 0),
  }
  return {
    counters,
    setAway: (away: boolean) => void (isAway = away),
    asked: () => asked,
    keys: () => [...kept.keys()],
  }
}
