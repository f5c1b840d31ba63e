import { Unavailable } from '../../../core/kernel/failure.ts'

/**
 * Tracks whether the server has stopped answering. Without it, each statement of a request would wait for its whole
 * limit, one after the other. After the first such wait, further statements are refused until the server answers again.
 */
export interface Silence {
  /** Calls back at once while the server answers; otherwise as soon as it answers, or with the refusal. */
  whenHeard(done: (refused: Unavailable | undefined) => void): void
  /** The server answered, possibly with an error. */
  heard(): void
  /** A statement or a connection timed out. */
  gaveUp(): void
  close(): void
}

/** Between two connection attempts. */
const pauseMilliseconds = 100

export interface SilenceDeps {
  /** Opens a connection and calls `heard` when the server has sent something on it. Ends in bounded time. */
  readonly ask: () => Promise<void>
  readonly onSilent: () => void
  /** The time limit of a statement. */
  readonly statementMilliseconds: number
}

export const makeSilence = ({ ask, onSilent, statementMilliseconds }: SilenceDeps): Silence => {
  const recentMilliseconds = statementMilliseconds / 4
  // A server that was slow only once answers within this time, and nothing is refused.
  const doubtMilliseconds = statementMilliseconds / 15
  const waiting: ((refused: Unavailable | undefined) => void)[] = []
  let heardAtMs = performance.now()
  let state: 'answers' | 'doubtful' | 'silent' = 'answers'
  let doubt: NodeJS.Timeout | undefined
  let isClosed = false

  const enter = (next: typeof state, refused?: Unavailable): void => {
    state = next
    for (const done of waiting.splice(0)) done(refused)
  }
  const refusal = (): Unavailable => new Unavailable('The database has stopped answering. Try again.')
  const listen = async (): Promise<void> => {
    while (state !== 'answers' && !isClosed) {
      await ask().catch(() => new Promise((resolve) => setTimeout(resolve, pauseMilliseconds)))
    }
  }
  return {
    whenHeard: (done) => {
      if (state === 'answers') done(undefined)
      else if (state === 'silent') done(refusal())
      else waiting.push(done)
    },
    heard: () => {
      heardAtMs = performance.now()
      if (state !== 'answers') enter('answers')
    },
    gaveUp: () => {
      // If other statements are answered, one statement or connection is slow, not the server.
      if (state !== 'answers' || performance.now() - heardAtMs < recentMilliseconds) return
      state = 'doubtful'
      doubt = setTimeout(() => {
        if (state !== 'doubtful') return
        enter('silent', refusal())
        onSilent()
      }, doubtMilliseconds)
      void listen()
    },
    close: () => {
      isClosed = true
      // Nothing of a closed pool waits on, and no timer keeps the process alive.
      clearTimeout(doubt)
      if (state === 'doubtful') enter('silent', refusal())
    },
  }
}
