import type { BatchedLines } from './batched-lines.ts'

const levelNames: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }
const shownElsewhere: ReadonlySet<string> = new Set(['name', 'hostname', 'pid', 'level', 'time', 'msg', 'v', 'isStep'])

type LogRecord = Readonly<Record<string, unknown>>

/** Formats a JSON log line for a terminal: time, level, message, then the fields. */
export const plainLine = (json: string): string => plainText(JSON.parse(json) as LogRecord)

const plainText = (record: LogRecord): string => {
  const fields = Object.entries(record)
    .filter(([name]) => !shownElsewhere.has(name))
    .map(([name, value]) => `${name}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`)
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
 * Writes each record as a plain line. A step of longer work (`isStep`) is shown on the last line of a terminal until the
 * next record replaces it; without a terminal it is left out. `columns` returns the width of the terminal; it is undefined
 * without one.
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
