import { setTimeout as delay } from 'node:timers/promises'
import type { CommandContext, ExitCode } from '../command-context.ts'
import type { ServerOptions, TaskServer } from './task-server.ts'
import { onServer, unreachable } from './task-server.ts'
import type { ShownEvent, TaskView } from './task-view.ts'
import { drawView, emptyView, plainLine, printable, showEvent } from './task-view.ts'

/** 128 and the number of SIGINT, as shells have it. */
const interruptedCode = 130
const firstPauseMs = 500
const longestPauseMs = 10_000

/** Shows what happens to a task until its end. 0 when it succeeded, 1 when it did not, 130 when the watching was interrupted: the task goes on. */
export const tasksWatch = (context: CommandContext, options: ServerOptions, id: string): Promise<ExitCode> =>
  onServer(context, options, async (server) => {
    const stop = new AbortController()
    const forget = context.onInterrupt?.(() => stop.abort())
    const display = options.json === true ? jsonDisplay(context) : context.terminal === undefined ? plainDisplay(context) : terminalDisplay(context.terminal)
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

const watch = async (context: CommandContext, { api, url }: TaskServer, id: string, display: Display, signal: AbortSignal): Promise<ExitCode> => {
  let view = emptyView
  let last: string | undefined
  let told = ''
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const answer = await api.openEvents(`/api/v1/tasks/${encodeURIComponent(id)}/events`, last, signal)
      if (answer.status !== 200 && answer.status < 500 && answer.status !== 429) return refused(context, answer.status, answer.body)
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
      context.say(`Stopped watching; the task goes on. See it again: moorage tasks watch ${id}`)
      return interruptedCode
    }
  }
}

const refused = (context: CommandContext, status: number, body: string): ExitCode => {
  let message = `The server answered ${status}.`
  try {
    message = (JSON.parse(body) as { message: string }).message
  } catch {
    // Whatever stands in between answered; its status has to do.
  }
  context.say(printable(message))
  return 1
}

const jsonDisplay = (context: CommandContext): Display => ({ show: (event) => context.print(JSON.stringify(event)), close: () => undefined })

const plainDisplay = (context: CommandContext): Display => ({ show: (event, view) => context.print(plainLine(view, event)), close: () => undefined })

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'
const redrawMs = 1_000

/** Draws the view anew in its place, at each event and each second. */
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
