import { setTimeout as delay } from 'node:timers/promises'
import { taskStates } from '../../../core/tasks/types.ts'
import type { TaskWire } from '../../../plugins/tasks/codecs.ts'
import { cancelTask, getTask, listTasks } from '../../../plugins/tasks/tasks.routes.ts'
import type { CommandContext, ExitCode } from '../../cli/command-context.ts'
import { printJson } from '../../cli/command-context.ts'
import type { ServerOptions, TaskServer } from '../../cli/server-connection.ts'
import { onServer, told, unreachable } from '../../cli/server-connection.ts'
import type { ShownEvent, TaskView } from './task-view.ts'
import { drawView, emptyView, plainLine, showEvent } from './task-view.ts'
import { printable } from '../../cli/command-context.ts'
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
