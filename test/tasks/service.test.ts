import test from 'ava'
import { TaskStoreToken } from '../../core/tasks/ports.ts'
import { isFinal } from '../../core/tasks/types.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { makeTinyPlugin, orderWork } from './tiny-plugin.ts'

for (const database of ['sqlite', 'mysql'] as const)
  test(`${database}: a submitted task is done and told`, async (t) => {
    const service = await startService({ database, plugins: [makeTinyPlugin()] })
    try {
      const reply = await service.client.call(orderWork, { body: { title: 'Count' }, headers: { authorization: `Bearer ${service.adminToken}` } })
      if (!reply.ok) throw new Error(reply.text)
      const store = service.running.container.resolve(TaskStoreToken)
      const task = await until('its end', async () => {
        const found = await store.find(reply.value.id)
        return found !== undefined && isFinal(found.task.state) ? found.task : undefined
      })
      t.is(task.state, 'succeeded')
      const events = await store.events(task.id, 0, 100)
      t.deepEqual(events.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`), [
        '1 Pending Count: waits for a worker', '2 Started Count started!', '3 Started Counting', '4 Running line 1', '5 Running line 2', '6 Running line 3',
        '7 Success Counting', '8 Success Count completed successfully!',
      ])
    } finally {
      await service.stop()
    }
  })
