import { randomUUID } from 'node:crypto'
import { right } from 'fp-ts/lib/Either.js'
import { operatorCall } from '../../composition/part/operator.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { TaskUnitOfWorkPort } from '../../core/tasks/ports.ts'
import { endEvent, pendingEvent } from '../../core/tasks/task-rules.ts'
import { unwrap } from './outcome.ts'
import type { TestService } from './service.ts'

export interface PlantedTask {
  readonly tenantId: number
  readonly actor: { readonly id: number; readonly login: string }
  /** Stands in everything that a task tells. */
  readonly text: string
}

/** Records a task that has ended; answers its id on the wire. */
export const plantTask = async ({ running }: TestService, { tenantId, actor, text }: PlantedTask): Promise<string> => {
  const ref = randomUUID()
  const end = { state: 'succeeded', message: text, result: { told: text } } as const
  await running.container
    .resolve(TaskUnitOfWorkPort)
    .run<never, void>(operatorCall('test.plantTask'), async ({ tasks }) => {
      const task = unwrap(
        await tasks.insert({
          ref,
          responseId: ref,
          subject: ref,
          kind: 'test.planted',
          title: text,
          tenantId: tenantId as AccountId,
          about: { cluster: text },
          message: text,
          lockKey: undefined,
          actor: { userId: actor.id as UserId, login: actor.login, method: 'token', scopes: fullScope },
          origin: { operation: 'test.plantTask', requestId: ref, sourceIp: '127.0.0.1' },
          sealedInput: new Uint8Array(1),
          digest: new Uint8Array(32),
        }),
      )
      await tasks.append(task.id, [pendingEvent(task, new Date()), endEvent(task, end, new Date())])
      await tasks.endUnattended(task.id, end)
      return right(undefined)
    })
  return ref
}
