import { sample as identity } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { plantTask } from '../support/plant-task.ts'
import { defineSample } from '../support/part-sample.ts'

/** A task of the owner, about the organization; it has ended. */
export const sample = defineSample({
  part: 'tasks',
  make: async (tenant) => {
    const { owner } = await tenant.of(identity)
    const { orgId } = await tenant.of(organizations)
    const ref = await plantTask(tenant.service, { tenantId: orgId, actor: owner, text: tenant.text })
    const [row] = await tenant.database.query<{ id: number }>((k) => k('tasks').where('ref', ref).select('id'))
    return { ref, taskId: Number(row?.id) }
  },
  names: ({ ref }) => ({ task: { id: ref } }),
  tables: ({ taskId }, tenant) => ({
    tasks: { tenant_id: [tenant.of(organizations).orgId] },
    task_events: { task_id: [taskId] },
  }),
  sharedTables: { task_outbox: 'which events of tasks are to be published; they leave it by themselves' },
  harmless: {
    'tasks.list [query cluster]': { why: 'a filter over what the caller may see: nothing is found', says: /^\[\]$/ },
  },
  refusedToOwner: {
    'tasks.cancel []': 'the task has ended',
  },
})
