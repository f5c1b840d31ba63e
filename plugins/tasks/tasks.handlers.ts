import { AuthorizerPort } from '../../core/authz/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { EventPublisherPort, TaskBusPort, TaskStorePort, TaskUnitOfWorkPort } from '../../core/tasks/ports.ts'
import type { FollowTask, ReadEvents } from '../../core/tasks/tasks.ts'
import {
  makeCancelTask,
  makeFindSeenTask,
  makeFollowTask,
  makeListTasks,
  makeReadEvents,
  makeViewTask,
} from '../../core/tasks/tasks.ts'
import type { Task, TaskEvent } from '../../core/tasks/types.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { Feed, FeedItem } from '../kit/reply.ts'
import { eventToWire, taskToWire } from './codecs.ts'
import { cancelTask, followTask, getTask, listTasks } from './tasks.routes.ts'

type WireEvent = ReturnType<typeof eventToWire>
const itemOf = (event: TaskEvent): FeedItem<WireEvent> => ({ id: event.seq, value: eventToWire(event) })

const feedOf = (task: Task, read: ReadEvents, follow: FollowTask): Feed<WireEvent> => ({
  now: async (afterId) => (await read(task, afterId)).map(itemOf),
  async *follow(afterId, signal) {
    for await (const event of follow(task, afterId, signal)) yield itemOf(event)
  },
})

const refOf = ({ params }: { readonly params: { readonly id: string } }): string => params.id.toLowerCase()

export const taskGroup = defineGroup({
  needs: {
    tasks: TaskStorePort,
    authorizer: AuthorizerPort,
    bus: TaskBusPort,
    unitOfWork: TaskUnitOfWorkPort,
    publisher: EventPublisherPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const view = makeViewTask(given)
    const read = makeReadEvents(given)
    const follow = makeFollowTask(given)
    return [
      handle(listTasks, makeListTasks(given), {
        input: ({ query: { account, state, kind, cluster }, page }) => ({
          ...definedFields({ state, kind, cluster }),
          account,
          page,
        }),
        reply: taskToWire,
      }),
      handle(getTask, view, { input: refOf, reply: taskToWire }),
      handle(followTask, view, { input: refOf, reply: (task) => feedOf(task, read, follow) }),
      handle(cancelTask, makeCancelTask({ ...given, find: makeFindSeenTask(given) }), {
        input: refOf,
        reply: taskToWire,
      }),
    ]
  },
})
