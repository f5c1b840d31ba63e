import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { TaskBus, TaskMessage } from '../../core/tasks/ports.ts'
import { until } from '../support/until.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** Two instances on one bus; of a bus that stays inside a process they are the same. */
export interface TaskBusFixture {
  readonly here: TaskBus
  readonly there: TaskBus
  close(): Promise<void>
}

export const aMessage = (
  ref: string,
  seq: number,
  changes: Partial<TaskMessage['task']> = {},
  isNotable = false,
): TaskMessage => ({
  task: {
    ref,
    responseId: `r-${ref}`,
    subject: `natjobs.resp.r-${ref}`,
    tenantId: 11 as AccountId,
    actorId: 11 as UserId,
    ...changes,
  },
  event: {
    seq,
    at: new Date('2026-05-01T08:00:00Z'),
    id: ref,
    status: 'Running',
    msg: `line ${seq}`,
    data: { big: 12345678901234567890n },
  },
  isNotable,
})

const about: SuiteAbout = {
  name: 'task-bus',
  ports: ['TaskBus'],
  needs: 'Two instances, `here` and `there`, on one bus. They may be the same.',
}

/** What every bus of tasks promises. */
export const taskBusSuite = contractSuite<TaskBusFixture>(about, (on) => {
  on('a wake-up reaches workers here and there, until they stop listening', async (t, { here, there }) => {
    let [hereWoken, thereWoken] = [0, 0]
    const forgetHere = here.onWake(() => void (hereWoken += 1))
    const forgetThere = there.onWake(() => void (thereWoken += 1))
    here.wake()
    await until('both are woken', () => (hereWoken > 0 && thereWoken > 0 ? true : undefined))
    forgetHere()
    const seen = hereWoken
    thereWoken = 0
    there.wake()
    await until('the other is woken', () => (thereWoken > 0 ? true : undefined))
    t.is(hereWoken, seen)
    forgetThere()
  })

  on('progress is hinted to readers of that task, here and there', async (t, { here, there }) => {
    const rung = { here: 0, there: 0, other: 0 }
    const forget = [
      here.onProgress('t1', () => void (rung.here += 1)),
      there.onProgress('t1', () => void (rung.there += 1)),
      here.onProgress('t2', () => void (rung.other += 1)),
    ]
    await here.publish(aMessage('t1', 1))
    await until('both hints', () => (rung.here > 0 && rung.there > 0 ? true : undefined))
    t.is(rung.other, 0)
    for (const each of forget) each()
    const seen = { ...rung }
    await there.publish(aMessage('t1', 2))
    await there.publish(aMessage('t2', 1))
    t.deepEqual(rung, seen)
  })

  on('publishing the same twice is no error, and a listener twice is called twice', async (t, { here }) => {
    let calls = 0
    const count = (): void => void (calls += 1)
    const forget = here.onProgress('t1', count)
    here.onProgress('t1', count)
    await here.publish(aMessage('t1', 1))
    await until('both', () => (calls >= 2 ? true : undefined))
    forget()
    await t.notThrowsAsync(here.publish(aMessage('t1', 1)))
  })
})
