import { setTimeout as delay } from 'node:timers/promises'
import { taskStates } from '../../../core/tasks/types.ts'
import type { TaskEventWire, TaskWire } from '../../../plugins/tasks/codecs.ts'
import { cancelTask, getTask, listTasks } from '../../../plugins/tasks/tasks.routes.ts'
import type { CommandContext, ExitCode } from '../../part/command-context.ts'
import { printJson, printable } from '../../part/command-context.ts'
import type { ServerOptions, TaskServer } from '../../part/server-connection.ts'
import { onServer, told, unreachable } from '../../part/server-connection.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'

type ShownTask = (typeof TaskWire)['_A']

export interface ListOptions extends ServerOptions {
  readonly account?: string
  readonly state?: string
  readonly kind?: string
  readonly cluster?: string
  readonly limit?: string
}

const row = (task: ShownTask): string =>
  `${task.id}  ${task.state.padEnd(9)}  ${task.created_at.toISOString().slice(0, 19)}Z  ` +
  `${task.actor.padEnd(12)}  ${task.title}`

export const tasksList = (context: CommandContext, options: ListOptions): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const { account, kind, cluster } = options
    const state = taskStates.find((each) => each === options.state)
    if (options.state !== undefined && state === undefined) {
      context.say(`There is no state ${options.state}; the states are ${taskStates.join(', ')}.`)
      return 2
    }
    const limit = Number(options.limit ?? 20)
    const query = {
      ...definedFields({ account, state, kind, cluster }),
    }
    const answer = await client.call(listTasks, {
      query,
      page: { page: 1, limit: Number.isInteger(limit) ? limit : 20 },
    })
    if (!answer.ok) return told(context, answer.error.message)
    const { items, total } = answer.value
    if (options.json === true) printJson(context, items)
    else if (items.length === 0) context.say('There is no such task.')
    else for (const task of items) context.print(printable(row(task)))
    if (total > items.length) context.say(`${items.length} of ${total} tasks are shown.`)
    return 0
  })

const shownLines = (task: ShownTask): readonly string[] => [
  `${task.title}`,
  `  id        ${task.id}`,
  '  state     ' +
    `${task.state}${task.is_cancel_requested && task.ended_at === undefined ? ' (its end was asked for)' : ''}`,
  `  kind      ${task.kind}`,
  ...Object.entries(task.about).map(([key, value]) => `  ${key.padEnd(9)} ${value}`),
  `  asked by  ${task.actor}, ${task.created_at.toISOString()}`,
  ...(task.started_at === undefined ? [] : [`  started   ${task.started_at.toISOString()}`]),
  ...(task.ended_at === undefined ? [] : [`  ended     ${task.ended_at.toISOString()}`]),
  `  message   ${task.message}`,
  ...(task.error === undefined ? [] : [`  error     ${task.error}`]),
]

export const tasksShow = (context: CommandContext, options: ServerOptions, id: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const answer = await client.call(getTask, { params: { id } })
    if (!answer.ok) return told(context, answer.error.message)
    if (options.json === true) printJson(context, answer.value)
    else for (const line of shownLines(answer.value)) context.print(printable(line))
    return 0
  })

export const tasksCancel = (context: CommandContext, options: ServerOptions, id: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const answer = await client.call(cancelTask, { params: { id } })
    if (!answer.ok) return told(context, answer.error.message)
    if (options.json === true) printJson(context, answer.value)
    else
      context.print(
        answer.value.state === 'cancelled'
          ? 'Cancelled: it had not started.'
          : `Cancellation requested. Watch the task: moorage tasks watch ${id}`,
      )
    return 0
  })

/** 128 plus the number of SIGINT, as in shells. */
const interruptedCode = 130
const firstPauseMs = 500
const longestPauseMs = 10_000

/**
 * Shows the events of a task until it ends. Returns 0 when it succeeded, 1 when it did not, and 130 when watching was
 * interrupted. An interrupt does not stop the task.
 */
export const tasksWatch = (context: CommandContext, options: ServerOptions, id: string): Promise<ExitCode> =>
  onServer(context, options, async (server) => {
    const stop = new AbortController()
    const forget = context.onInterrupt?.(() => stop.abort())
    const display =
      options.json === true
        ? jsonDisplay(context)
        : context.terminal === undefined
          ? plainDisplay(context)
          : terminalDisplay(context.terminal)
    try {
      return await watch(context, server, id, display, stop.signal)
    } finally {
      display.close()
      forget?.()
    }
  })

interface Display {
  show(event: ShownEvent, view: TaskView): void
  close(): void
}

const watch = async (
  context: CommandContext,
  { api, url }: TaskServer,
  id: string,
  display: Display,
  signal: AbortSignal,
): Promise<ExitCode> => {
  let view = emptyView
  let last: string | undefined
  let told = ''
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const answer = await api.openEvents(`/api/v1/tasks/${encodeURIComponent(id)}/events`, last, signal)
      if (answer.status !== 200 && answer.status < 500 && answer.status !== 429)
        return refused(context, answer.status, answer.body)
      for await (const event of answer.events) {
        const shown = JSON.parse(event.data) as ShownEvent
        view = showEvent(view, shown)
        last = event.id
        pauseMs = firstPauseMs
        display.show(shown, view)
        if (view.end !== undefined) return view.end.state === 'succeeded' ? 0 : 1
      }
    } catch (error) {
      const reason = unreachable(url, error)
      if (!signal.aborted && reason !== told) context.say(`${reason} Trying again.`)
      told = reason
    }
    if (!signal.aborted) await delay(pauseMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) {
      context.say(`Stopped watching; the task continues. Watch it again: moorage tasks watch ${id}`)
      return interruptedCode
    }
  }
}

const refused = (context: CommandContext, status: number, body: string): ExitCode => {
  let message = `The server answered ${status}.`
  try {
    message = (JSON.parse(body) as { message: string }).message
  } catch {
    // An intermediary sent the answer. Its status is the only information.
  }
  context.say(printable(message))
  return 1
}

const jsonDisplay = (context: CommandContext): Display => ({
  show: (event) => context.print(toWireJson(event)),
  close: () => undefined,
})

const plainDisplay = (context: CommandContext): Display => ({
  show: (event, view) => context.print(plainLine(view, event)),
  close: () => undefined,
})

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'
const redrawMs = 1_000

/** Redraws the view in place, at each event and each second. */
const terminalDisplay = (terminal: NonNullable<CommandContext['terminal']>): Display => {
  let drawn = 0
  let view = emptyView
  const draw = (): void => {
    const lines = drawView(view, Date.now(), terminal.columns(), terminal.rows())
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`
    terminal.write(`${up}\r\u001b[J${lines.map((line) => `${line}\n`).join('')}`)
    drawn = lines.length
  }
  terminal.write(hideCursor)
  const timer = setInterval(draw, redrawMs)
  return {
    show: (_, next) => {
      view = next
      draw()
    },
    close: () => {
      clearInterval(timer)
      const end = view.end
      terminal.write(`${showCursor}${end === undefined ? '' : `${printable(end.msg)}\n`}`)
    },
  }
}

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
