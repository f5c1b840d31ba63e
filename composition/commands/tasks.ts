import { cancelTask, getTask, listTasks } from '../../plugins/tasks/tasks.routes.ts'
import type { TaskWire } from '../../plugins/tasks/codecs.ts'
import { taskStates } from '../../core/tasks/types.ts'
import type { CommandContext, ExitCode } from '../command-context.ts'
import { printJson } from '../command-context.ts'
import type { ServerOptions } from './task-server.ts'
import { onServer, told } from './task-server.ts'
import { printable } from './task-view.ts'

type ShownTask = (typeof TaskWire)['_A']

export interface ListOptions extends ServerOptions {
  readonly account?: string
  readonly state?: string
  readonly kind?: string
  readonly cluster?: string
  readonly limit?: string
}

const row = (task: ShownTask): string => `${task.id}  ${task.state.padEnd(9)}  ${task.created_at.slice(0, 19)}Z  ${task.actor.padEnd(12)}  ${task.title}`

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
      ...(account === undefined ? {} : { account }),
      ...(state === undefined ? {} : { state }),
      ...(kind === undefined ? {} : { kind }),
      ...(cluster === undefined ? {} : { cluster }),
    }
    const answer = await client.call(listTasks, { query, page: { page: 1, limit: Number.isInteger(limit) ? limit : 20 } })
    if (!answer.ok) return told(context, answer.error.message)
    if (options.json === true) printJson(context, answer.value.items)
    else if (answer.value.items.length === 0) context.say('There is no such task.')
    else for (const task of answer.value.items) context.print(printable(row(task)))
    return 0
  })

const shownLines = (task: ShownTask): readonly string[] => [
  `${task.title}`,
  `  id        ${task.id}`,
  `  state     ${task.state}${task.is_cancel_requested && task.ended_at === undefined ? ' (its end was asked for)' : ''}`,
  `  kind      ${task.kind}`,
  ...Object.entries(task.about).map(([key, value]) => `  ${key.padEnd(9)} ${value}`),
  `  asked by  ${task.actor}, ${task.created_at}`,
  ...(task.started_at === undefined ? [] : [`  started   ${task.started_at}`]),
  ...(task.ended_at === undefined ? [] : [`  ended     ${task.ended_at}`]),
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
    else context.print(answer.value.state === 'cancelled' ? 'Cancelled: it had not begun.' : `Asked for its end. See how it ends: moorage tasks watch ${id}`)
    return 0
  })
