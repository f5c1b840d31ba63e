import type { Job } from '../kit/job.ts'

export const retireTasksJob = (retire: (signal: AbortSignal) => Promise<void>): Job => ({
  id: 'tasks.retire',
  summary: 'Remove tasks that ended a week ago, with their events, and end those that no instance can run',
  everySeconds: 3600,
  run: retire,
})
