import { definePlugin } from '../kit/plugin.ts'
import { taskObjectTypes } from './relations.ts'
import { retireTasks } from './retire-tasks.job.ts'
import { taskGroup } from './tasks.handlers.ts'

/** Work that runs after its request is answered: listing, following and cancelling it. */
export const tasksPlugin = definePlugin({
  id: 'tasks',
  summary: 'Work that continues after its request was answered, and its progress',
  listener: 'api',
  gate: 'always',
  groups: [taskGroup, retireTasks],
  objectTypes: taskObjectTypes,
})
