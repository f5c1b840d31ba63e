import { printable } from '../../cli/command-context.ts'
import type { TaskEventWire } from '../../../plugins/tasks/codecs.ts'

export type ShownEvent = Pick<(typeof TaskEventWire)['_O'], 'seq' | 'at' | 'id' | 'status' | 'msg'> & {
  readonly step?: string | undefined
  readonly error?: string | undefined
  readonly level?: 'info' | 'warning' | 'error' | undefined
  readonly data?: { readonly state?: unknown } | undefined
}

type Mark = 'waits' | 'runs' | 'good' | 'bad'
interface Row {
  readonly id: string
  readonly title: string
  readonly mark: Mark
  readonly beganMs: number
  readonly endedMs?: number
  readonly line: string
}

/** The content of a progress display: the task first, then its steps in order. */
export interface TaskView {
  readonly rows: readonly Row[]
  /** Set by the end of the task. */
  readonly end?: { readonly state: string; readonly msg: string; readonly error: string | undefined }
}
export const emptyView: TaskView = { rows: [] }

const marks: Readonly<Record<ShownEvent['status'], Mark>> = {
  Pending: 'waits',
  Started: 'runs',
  Running: 'runs',
  Success: 'good',
  Failed: 'bad',
}

/** Returns the view after one more event. Pure. */
export const showEvent = ({ rows, ...rest }: TaskView, event: ShownEvent): TaskView => {
  const atMs = Date.parse(event.at)
  const isEnd = event.status === 'Success' || event.status === 'Failed'
  const known = rows.find(({ id }) => id === event.id)
  const row: Row = {
    id: event.id,
    title: known?.title ?? event.step ?? event.msg,
    mark: marks[event.status],
    beganMs: known === undefined || known.mark === 'waits' ? atMs : known.beganMs,
    ...(isEnd ? { endedMs: atMs } : {}),
    line: isEnd ? (event.error ?? '') : event.step === undefined ? event.msg : '',
  }
  const isTask = rows.length === 0 || rows[0]?.id === event.id
  const state =
    typeof event.data?.state === 'string' ? event.data.state : event.status === 'Success' ? 'succeeded' : 'failed'
  return {
    ...rest,
    rows: known === undefined ? [...rows, row] : rows.map((each) => (each.id === event.id ? row : each)),
    ...(isTask && isEnd ? { end: { state, msg: event.msg, error: event.error } } : {}),
  }
}

const signs: Readonly<Record<Mark, string>> = { waits: '·', runs: '●', good: '✓', bad: '✗' }

const elapsed = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const fit = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

const rowLines = (row: Row, indent: string, nowMs: number, columns: number): readonly string[] => {
  const time = row.mark === 'waits' ? '' : elapsed((row.endedMs ?? nowMs) - row.beganMs)
  const room = columns - indent.length - 4 - time.length
  const head =
    `${indent}${signs[row.mark]} ${fit(printable(row.title), room).padEnd(Math.max(0, room))} ${time}`.trimEnd()
  const isShown = row.line !== '' && (row.mark === 'runs' || row.mark === 'bad' || row.mark === 'waits')
  return isShown ? [head, `${indent}    ${fit(printable(row.line), columns - indent.length - 5)}`] : [head]
}

/**
 * Returns the display as lines that fit a terminal of the given size: the task, and as many of its last steps as fit.
 */
export const drawView = ({ rows }: TaskView, nowMs: number, columns: number, height: number): readonly string[] => {
  const [task, ...steps] = rows
  if (task === undefined) return []
  const head = rowLines(task, '', nowMs, columns)
  const below = steps.map((row) => rowLines(row, '  ', nowMs, columns))
  const room = Math.max(1, height - head.length - 2)
  const kept: (readonly string[])[] = []
  for (const lines of below.reverse()) {
    if (kept.flat().length + lines.length > room) break
    kept.unshift(lines)
  }
  const left = below.length - kept.length
  return [...head, ...(left > 0 ? [`  … ${left} earlier ${left === 1 ? 'step' : 'steps'}`] : []), ...kept.flat()]
}

/** Returns one event as a line of a log. */
export const plainLine = (view: TaskView, event: ShownEvent): string => {
  const isTask = view.rows[0]?.id === event.id
  const step = isTask ? '' : `[${view.rows.find(({ id }) => id === event.id)?.title ?? event.id}] `
  const word =
    event.status === 'Running'
      ? event.level === undefined || event.level === 'info'
        ? ''
        : `${event.level}: `
      : `${event.status}: `
  const error = event.error === undefined || event.error === event.msg ? '' : ` (${event.error})`
  return printable(`${event.at.slice(11, 19)} ${step}${word}${event.msg}${error}`)
}
