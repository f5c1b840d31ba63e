import { definedFields } from '../../../core/kernel/json.ts'
import type { TaskEvent } from '../../../core/tasks/types.ts'
import type { Row } from '../kit/columns.ts'
import { without } from '../kit/columns.ts'
import { taskEvents, tasks } from '../tables/tasks.ts'

/** A task as its readers have it. */
export const taskRow = without(
  tasks,
  'actor',
  'cluster',
  'holder',
  'leaseUntil',
  'lockKey',
  'sealedInput',
  'digest',
  'lastSeq',
)

/** An event of a task. */
export const eventRow = without(taskEvents, 'taskId', 'isNotable')

export const eventOf = ({ step, level, error, data, ...event }: Row<typeof eventRow>): TaskEvent => ({
  ...event,
  ...definedFields({ step, level, error, data }),
})
