import { isLeft, right } from 'fp-ts/lib/Either.js'
import { mapPage } from '../../core/kernel/page.ts'
import type { CancelTask, FollowTask, ListTasks, ReadEvents, ViewTask } from '../../core/tasks/tasks.ts'
import type { Task, TaskEvent } from '../../core/tasks/types.ts'
import type { Feed, FeedItem } from '../kit/reply.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import { eventToWire, taskToWire } from './codecs.ts'
import { cancelTask, followTask, getTask, listTasks } from './tasks.routes.ts'
import { definedFields } from '../../core/kernel/fields.ts'

export interface TaskHandlers {
  readonly list: ListTasks
  readonly view: ViewTask
  readonly cancel: CancelTask
  readonly read: ReadEvents
  readonly follow: FollowTask
}

type WireEvent = ReturnType<typeof eventToWire>
const itemOf = (event: TaskEvent): FeedItem<WireEvent> => ({ id: event.seq, value: eventToWire(event) })

const feedOf = ({ read, follow }: TaskHandlers, task: Task): Feed<WireEvent> => ({
  now: async (afterId) => (await read(task, afterId)).map(itemOf),
  async *follow(afterId, signal) {
    for await (const event of follow(task, afterId, signal)) yield itemOf(event)
  },
})

export const taskRoutes = (handlers: TaskHandlers): readonly BoundRoute[] => [
  handle(listTasks, async ({ call, query, page }) => {
    const { account, state, kind, cluster } = query
    const filter = { ...definedFields({ state, kind, cluster }) }
    const found = await handlers.list(call, { ...filter, account, page })
    return isLeft(found) ? found : right(mapPage(found.right, taskToWire))
  }),
  handle(getTask, async ({ call, params }) => {
    const found = await handlers.view(call, params.id.toLowerCase())
    return isLeft(found) ? found : right(taskToWire(found.right))
  }),
  handle(followTask, async ({ call, params }) => {
    const found = await handlers.view(call, params.id.toLowerCase())
    return isLeft(found) ? found : right(feedOf(handlers, found.right))
  }),
  handleChange(cancelTask, taskToWire, ({ call, params }) => handlers.cancel(call, params.id.toLowerCase())),
]
