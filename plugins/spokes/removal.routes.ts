import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../core/tasks/ports.ts'
import { ClusterPath, hubInPath } from '../clusters/codecs.ts'
import { requires, write } from '../kit/access.ts'
import { ResponseIdQuery } from '../kit/codecs.ts'
import { empty } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { RemoveClusterOptions } from './codecs.ts'

/** Failures of accepting work on a spoke as a task. */
export const spokeTaskFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const

export const removeManagedCluster = defineRoute({
  id: 'spokes.removeManagedCluster',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/remove-managed-cluster',
  summary: 'Remove a spoke from a hub',
  description:
    'Accepts the removal; a task does it: the spoke leaves its cluster set, then its add-ons and works are removed while its agent is alive, ' +
    'then the agent if the account has a credential of the spoke, and then the spoke itself. The progress is published on the bus under the ' +
    '`response-id` of the query, and at `/tasks/{id}`. A repeated request joins the unfinished task; after a failure it continues. A spoke ' +
    'that does not exist is removed already. `force` gives up works that the agent does not remove: what they applied stays on the spoke.',
  tag: 'Multi-cluster',
  access: requires('can_remove_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(RemoveClusterOptions, { clusterName: 'shop-fra' }),
  ok: empty(200, 'The removal is accepted, or done already'),
  failures: [...hubReadFailures, ...spokeTaskFailures],
})
