import { Unavailable } from '../../core/kernel/unavailable.ts'

/**
 * Whether the server has stopped answering. One statement waits in vain for its whole limit; what comes after it would do
 * the same, one after the other within a request, so it is refused at once until the server answers again.
 */
export interface Silence {
  /** Why nothing may be asked now; undefined when the server answers. */
  refusal(): Unavailable | undefined
  /** Something was answered, be it an error. */
  heard(): void
  /** What was asked at that time (`performance.now()`) was given up. */
  gaveUp(askedAtMs: number): void
  close(): void
}

/** Between two attempts to hear something. */
const pauseMilliseconds = 100

/** `ask` opens a connection and resolves when the server has spoken on it; it must end in bounded time. */
export const makeSilence = (ask: () => Promise<void>): Silence => {
  let heardAtMs = performance.now()
  let isSilent = false
  let isClosed = false

  const listen = async (): Promise<void> => {
    while (isSilent && !isClosed) {
      await ask().catch(() => new Promise((resolve) => setTimeout(resolve, pauseMilliseconds)))
    }
  }
  return {
    refusal: () => (isSilent ? new Unavailable('The database has stopped answering. Try again.') : undefined),
    heard: () => {
      heardAtMs = performance.now()
      isSilent = false
    },
    gaveUp: (askedAtMs) => {
      // Where others are answered, one statement or connection is slow, not the server.
      if (isSilent || heardAtMs >= askedAtMs) return
      isSilent = true
      void listen()
    },
    close: () => {
      isClosed = true
    },
  }
}
