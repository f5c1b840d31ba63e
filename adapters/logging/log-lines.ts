import { write, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { toWireJson } from '../../core/kernel/json.ts'

/** Collects lines and writes them in batches, so that a log line needs no system call of its own. */
export interface BatchedLines {
  add(line: string): void
  /**
   * Writes the waiting lines synchronously, for a process that ends at once. The rest of a batch that is being written
   * may be lost.
   */
  flushNow(): void
  /** Writes the waiting lines, after the batch that is being written: for the orderly end. Waits 3 seconds at most. */
  flush(): Promise<void>
  state(): LogState
}

export interface LogState {
  /** Lines that were dropped since the start. */
  readonly lost: number
  /** Why the last write failed: a code of the system. Undefined after a write that succeeded. */
  readonly trouble: string | undefined
  /** Characters that are not written yet. */
  readonly backlogLength: number
  /** The age of the oldest line that is not written yet, or 0. */
  readonly backlogAgeMs: number
}

export interface BatchedLinesOptions {
  readonly fd: number
  /** A batch is written when it has this many characters ... */
  readonly batchLength?: number
  /** ... or is this old, in milliseconds. */
  readonly batchAgeMs?: number
  /** Characters that may wait for a slow reader, or for room on a disk. Further lines are dropped and counted. */
  readonly maxWaitingLength?: number
  /**
   * A write has no more bytes than this, unless one line does. A pipe keeps writes of several processes apart up to
   * 4096 bytes.
   */
  readonly mostBytes?: number
  /** When a write that failed is tried again, in milliseconds: the log drains within a second of room on its disk. */
  readonly retryMs?: number
}

const lineEnd = 0x0a

const linesIn = (bytes: Buffer): number => bytes.reduce((count, byte) => count + (byte === lineEnd ? 1 : 0), 0)

/** A slow reader takes more within this time. */
const slowReaderMs = 10

/**
 * A write that fails, as on a full disk, is tried again until it succeeds: the lines wait, up to the bound, and the log
 * then says how many were lost. Only a descriptor that was closed is never used again, since another file may get its
 * number.
 */
export const makeBatchedLines = (options: BatchedLinesOptions): BatchedLines => {
  const { fd, batchLength = 64 * 1024, batchAgeMs = 50, maxWaitingLength = 8 * 1024 * 1024, retryMs = 250 } = options
  const { mostBytes = Infinity } = options
  let waiting: string[] = []
  let waitingLength = 0
  let waitingSinceMs = 0
  let dropped = 0
  let lost = 0
  let why = 'the reader is too slow'
  let trouble: string | undefined
  let timer: NodeJS.Timeout | undefined
  let underWay: Buffer | undefined
  let underWaySinceMs = 0
  /** Set while the rest of a batch waits for a slow reader, or for a write that may succeed. */
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  const takeAll = (): Buffer => {
    clearTimeout(timer)
    timer = undefined
    if (dropped > 0) waiting.push(`${toWireJson({ level: 40, msg: `${dropped} log lines were dropped: ${why}` })}\n`)
    const batch = Buffer.from(waiting.join(''), 'utf8')
    waiting = []
    waitingLength = 0
    dropped = 0
    return batch
  }

  /** Cuts a batch that is too long for one write after the last line that fits, and at the first line at least. */
  const nextWrite = (bytes: Buffer): Buffer => {
    if (bytes.length <= mostBytes) return bytes
    const fits = bytes.lastIndexOf(lineEnd, mostBytes - 1)
    const end = fits >= 0 ? fits : bytes.indexOf(lineEnd)
    return end < 0 ? bytes : bytes.subarray(0, end + 1)
  }

  const send = (): void => {
    // A timer that fires during a write does not fire again. The end of the write sets the next one.
    timer = undefined
    if (isClosed || underWay !== undefined || (waiting.length === 0 && dropped === 0)) return
    underWaySinceMs = waiting.length === 0 ? performance.now() : waitingSinceMs
    underWay = takeAll()
    sendRest()
  }

  /** The lines of an interrupted batch are lost: a descriptor that was closed takes nothing more. */
  const close = (unwritten: Buffer): void => {
    isClosed = true
    trouble = 'EBADF'
    lost += linesIn(unwritten) + waiting.length
    clearTimeout(timer)
    ;[underWay, waiting, waitingLength, timer] = [undefined, [], 0, undefined]
  }

  const sendRest = (): void => {
    retry = undefined
    const rest = underWay
    if (rest === undefined) return
    write(fd, nextWrite(rest), (error, written) => {
      if (underWay === undefined) return
      if (error?.code === 'EBADF') return close(rest)
      const left = rest.subarray(written ?? 0)
      underWay = left.length > 0 ? left : undefined
      const isSlow = error?.code === 'EAGAIN'
      trouble = error === null || isSlow ? undefined : (error.code ?? 'unknown')
      if (error !== null) retry = setTimeout(sendRest, isSlow ? slowReaderMs : retryMs).unref()
      else if (underWay !== undefined) sendRest()
      else if (waitingLength >= batchLength || dropped > 0) send()
      else if (waiting.length > 0) schedule()
    })
  }

  const schedule = (): void => {
    // Unreferenced: waiting log lines do not keep the process alive, and flushNow runs at its end.
    timer ??= setTimeout(send, batchAgeMs).unref()
  }

  const drop = (): void => {
    dropped += 1
    lost += 1
    why = trouble === undefined ? 'the reader is too slow' : `the log could not be written (${trouble})`
  }

  const flushNow = (): void => {
    if (isClosed) return
    const rest = retry === undefined || underWay === undefined ? [] : [underWay]
    if (retry !== undefined) underWay = undefined
    clearTimeout(retry)
    retry = undefined
    const { left, code } = writeAll(fd, Buffer.concat([...rest, takeAll()]), nextWrite)
    if (left.length === 0) return
    if (code === 'EBADF') return close(left)
    // The process may go on.
    trouble = code
    if (underWay !== undefined) {
      waiting.unshift(left.toString('utf8'))
      waitingLength += left.length
      return
    }
    underWay = left
    if (rest.length === 0) underWaySinceMs = waitingSinceMs
    retry = setTimeout(sendRest, retryMs).unref()
  }

  return {
    state: () => {
      const backlogLength = (underWay?.length ?? 0) + waitingLength
      const sinceMs = underWay === undefined ? waitingSinceMs : underWaySinceMs
      return { lost, trouble, backlogLength, backlogAgeMs: backlogLength === 0 ? 0 : performance.now() - sinceMs }
    },
    add: (line) => {
      if (isClosed || waitingLength + line.length > maxWaitingLength) return drop()
      if (waiting.length === 0) waitingSinceMs = performance.now()
      waiting.push(line)
      waitingLength += line.length
      if (waitingLength >= batchLength) send()
      else schedule()
    },
    flushNow,
    flush: async () => {
      for (let asked = 0; underWay !== undefined && retry === undefined && asked < mostAttempts; asked += 1)
        await delay(attemptMs)
      flushNow()
    },
  }
}

/**
 * How often, and how far apart, a reader that takes nothing is asked again: the end of the process waits for three
 * seconds at most.
 */
const [mostAttempts, attemptMs] = [1_500, 2] as const
const pause = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Returns what could not be written, with the code of the system. */
const writeAll = (
  fd: number,
  bytes: Buffer,
  nextWrite: (bytes: Buffer) => Buffer,
): { readonly left: Buffer; readonly code: string | undefined } => {
  let left = bytes
  for (let attempts = 0; left.length > 0 && attempts < mostAttempts;) {
    try {
      left = left.subarray(writeSync(fd, nextWrite(left)))
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code !== 'EAGAIN') return { left, code: code ?? 'unknown' }
      attempts += 1
      Atomics.wait(pause, 0, 0, attemptMs)
    }
  }
  return { left, code: undefined }
}

const levelNames: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const shownElsewhere: ReadonlySet<string> = new Set(['name', 'hostname', 'pid', 'level', 'time', 'msg', 'v', 'isStep'])

type LogRecord = Readonly<Record<string, unknown>>

/** Formats a JSON log line for a terminal: time, level, message, then the fields. @internal */
export const plainLine = (json: string): string => plainText(JSON.parse(json) as LogRecord)

const plainText = (record: LogRecord): string => {
  const fields = Object.entries(record)
    .filter(([name]) => !shownElsewhere.has(name))
    .map(([name, value]) => `${name}=${printable(typeof value === 'string' ? value : toWireJson(value))}`)
  const time = String(record['time'] ?? '').slice(11, 19)
  const level = levelNames[Number(record['level'])] ?? ''
  return `${[time, level.padEnd(5), printable(String(record['msg'] ?? '')), ...fields].join(' ')}\n`
}

/** Escapes control characters: a terminal interprets them, and a value may come from outside. */
const printable = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')

/** Log lines for people. */
export interface PlainLines extends Pick<BatchedLines, 'add'> {
  /** Removes the progress line from the terminal, so that others can write to it. */
  clear(): void
}

const clearLine = '\r\u001b[2K'

/**
 * Writes each record as a plain line. A step of longer work (`isStep`) is shown on the last line of a terminal until
 * the next record replaces it; without a terminal it is left out. `columns` returns the width of the terminal; it is
 * undefined without one.
 */
export const makePlainLines = (lines: Pick<BatchedLines, 'add'>, columns: (() => number) | undefined): PlainLines => {
  let isShown = false
  const clear = (): void => {
    if (isShown) lines.add(clearLine)
    isShown = false
  }
  return {
    clear,
    add(json) {
      const record = JSON.parse(json) as LogRecord
      if (record['isStep'] === true && Number(record['level']) < 40) {
        if (columns === undefined) return
        clear()
        lines.add(printable(String(record['msg'])).slice(0, Math.max(0, columns() - 1)))
        isShown = true
        return
      }
      clear()
      lines.add(plainText(record))
    },
  }
}
