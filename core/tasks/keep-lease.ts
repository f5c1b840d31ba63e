export interface LeaseKeeperDeps {
  /** False when another worker has the task. */
  readonly renew: () => Promise<boolean>
  readonly leaseSeconds: number
  /** When the lease was taken, by `performance.now()`, before the database was asked for it. */
  readonly takenAtMs: number
  readonly onLost: () => void
}

/**
 * Renews a lease three times within its length. It counts as lost when the database says so, and a tenth before its end
 * when the database does not answer: by then the work must stop, since another worker may take over from there on.
 * Answers how to stop renewing.
 */
export const keepLease = ({ renew, leaseSeconds, takenAtMs, onLost }: LeaseKeeperDeps): (() => void) => {
  let isOver = false
  let deadline: ReturnType<typeof setTimeout> | undefined

  const stop = (): void => {
    isOver = true
    clearInterval(beat)
    clearTimeout(deadline)
  }
  const lose = (): void => {
    if (isOver) return
    stop()
    onLost()
  }
  const holdFrom = (ms: number): void => {
    clearTimeout(deadline)
    if (!isOver) deadline = setTimeout(lose, ms + leaseSeconds * 900 - performance.now())
  }
  const once = async (): Promise<void> => {
    const askedAt = performance.now()
    try {
      if (await renew()) holdFrom(askedAt)
      else lose()
    } catch {
      // No proof of anything: the next beat asks again, and the deadline stands.
    }
  }
  const beat = setInterval(() => void once(), (leaseSeconds * 1000) / 3)
  holdFrom(takenAtMs)
  return stop
}
