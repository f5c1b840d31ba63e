import { execFileSync } from 'node:child_process'
import { expectStatus } from '../clusters/cluster-world.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusters, signingRequests } from '../support/hub/api/kinds.ts'
import { isTrue } from '../support/hub/api/object-changes.ts'
import { clusterNameLabel, joinedCondition } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'
import { startSpokeWorld, type SpokeWorld } from './spoke-world.ts'

/** How a cluster becomes a spoke, with the controllers of the hub and an agent. */
const test = needing('kubernetes', 'spoke-kubernetes')

let world: SpokeWorld
let hub: TestHub
test.before(async () => {
  hub = await startTestHub((await kubernetes())!, { spokes: (await spokeKubernetes())! })
  world = await startSpokeWorld()
})
test.after.always(async () => {
  await world?.service.stop()
  await hub?.stop()
})

const listed = async (route: string, name: string) => ((await expectStatus(world.get(route), 200)).json as { name: string; clusterUID: string }[]).find((each) => each.name === name)

test('a cluster registers with the token of its command, is accepted, moves to the other list, and joins', async (t) => {
  const name = hub.name()
  const { json } = await expectStatus(world.post('spoke-command', { clusterName: name }), 200)
  const token = execFileSync('sh', ['-c', `clusteradm() { printf %s "$3"; }\n${(json as { spoke: string }).spoke}`], { encoding: 'utf8' })
  const agent = await hub.agent(name, { bootstrapToken: token })
  t.teardown(() => agent.stop())
  await until('the cluster in the list', async () => ((await listed('not-accepted-clusters', name)) === undefined ? undefined : true))
  await until('its certificate request', async () => ((await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })).items.length > 0 ? true : undefined))
  await expectStatus(world.post('accept-spoke', { clusters: [name] }), 200)
  t.deepEqual([await listed('not-accepted-clusters', name), (await listed('accepted-clusters', name))?.name], [undefined, name])
  await until(`the join of ${name}: ${hub.problems().join('; ')}`, async () => {
    const found = await hub.client.get(managedClusters, name)
    return found !== undefined && isTrue(found, joinedCondition) ? true : undefined
  })
  const uid = await until('the UID of the spoke', async () => (await listed('available-clusters', name))?.clusterUID || undefined)
  t.is(uid, (await hub.spoke.call<{ metadata: { uid: string } }>('GET', '/api/v1/namespaces/kube-system')).metadata.uid)
  // Again, while controllers and agent change the objects of the cluster.
  await expectStatus(world.post('accept-spoke', { clusters: [name] }), 200)
})
