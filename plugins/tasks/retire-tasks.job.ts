import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EventPublisherToken, TaskRetentionToken, TaskUnitOfWorkToken } from '../../core/tasks/ports.ts'
import { makeRetireTasks } from '../../core/tasks/tasks.ts'
import { defineGroup } from '../kit/group.ts'

export const retireTasks = defineGroup({
  needs: {
    retention: TaskRetentionToken,
    unitOfWork: TaskUnitOfWorkToken,
    publisher: EventPublisherToken,
    entropy: EntropyToken,
    clock: ClockToken,
    log: LogToken,
  },
  jobs: (given) => [
    {
      id: 'tasks.retire',
      summary: 'Remove tasks that ended a week ago, with their events, and end those that no instance can run',
      everySeconds: 3600,
      run: makeRetireTasks({ ...given, ownCall: makeOwnCall(given.entropy) }),
    },
  ],
})
