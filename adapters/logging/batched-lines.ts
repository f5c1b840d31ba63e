import { write, writeSync } from 'node:fs'

/** Collects lines and writes them in batches, so that a log line needs no system call of its own. */
export interface BatchedLines {
  add(line: string): void
  /**
   * Writes the waiting lines synchronously, at the end of the process. A batch in progress completes by itself: the process
   * waits for it.
   */
  flushNow(): void
}

export interface BatchedLinesOptions {
  readonly fd: number
  /** A batch is written when it has this many characters ... */
  readonly batchLength?: number
  /** ... or is this old, in milliseconds. */
  readonly batchAgeMs?: number
  /** Characters that may wait for a slow reader. Further lines are dropped and counted. */
  readonly maxWaitingLength?: number
}

export const makeBatchedLines = (options: BatchedLinesOptions): BatchedLines => {
  const { fd, batchLength = 64 * 1024, batchAgeMs = 50, maxWaitingLength = 8 * 1024 * 1024 } = options
  let waiting: string[] = []
  let waitingLength = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let underWay: Buffer | undefined
  let isClosed = false

  const takeAll = (): Buffer => {
    clearTimeout(timer)
    timer = undefined
    if (dropped > 0) waiting.push(`{"level":40,"msg":"${dropped} log lines were dropped: the reader is too slow"}\n`)
    const batch = Buffer.from(waiting.join(''), 'utf8')
    waiting = []
    waitingLength = 0
    dropped = 0
    return batch
  }

  const send = (): void => {
    if (isClosed || underWay !== undefined || waiting.length === 0) return
    underWay = takeAll()
    sendRest()
  }

  const sendRest = (): void => {
    const rest = underWay
    if (rest === undefined) return
    write(fd, rest, (error, written) => {
      if (error !== null && error.code !== 'EAGAIN') return void (isClosed = true)
      if (underWay === undefined) return
      const left = rest.subarray(written ?? 0)
      underWay = left.length > 0 ? left : undefined
      if (error !== null) setTimeout(sendRest, 10).unref()
      else if (underWay !== undefined) sendRest()
      else if (waitingLength >= batchLength) send()
      else if (waiting.length > 0) schedule()
    })
  }

  const schedule = (): void => {
    // Unreferenced: waiting log lines do not keep the process alive, and flushNow runs at its end.
    timer ??= setTimeout(send, batchAgeMs).unref()
  }

  return {
    add: (line) => {
      if (isClosed) return
      if (waitingLength + line.length > maxWaitingLength) return void (dropped += 1)
      waiting.push(line)
      waitingLength += line.length
      if (waitingLength >= batchLength) send()
      else schedule()
    },
    flushNow: () => {
      if (isClosed) return
      writeAll(fd, takeAll(), () => (isClosed = true))
    },
  }
}

const writeAll = (fd: number, bytes: Buffer, onClosed: () => void): void => {
  let rest = bytes
  for (let attempts = 0; rest.length > 0 && attempts < 1000; attempts += 1) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EAGAIN') continue
      return onClosed()
    }
  }
}
