import { keepAccounts } from './upkeep.job.ts'
import { definePlugin } from '../kit/plugin.ts'
import { clientOrgChanges, clientOrgReads, clientOrgTasks } from './client-orgs.handlers.ts'

export const clientOrgsPlugin = definePlugin({
  id: 'client-orgs',
  summary: 'Client organizations: customers with namespaces on shared clusters',
  listener: 'api',
  gate: 'always',
  groups: [clientOrgReads, clientOrgChanges, clientOrgTasks, keepAccounts],
})
