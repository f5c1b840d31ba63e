import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-world.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { managedClusters, signingRequests, type ManagedCluster } from '../support/hub/api/kinds.ts'
import { isTrue } from '../support/hub/api/object-changes.ts'
import { clusterNameLabel, joinedCondition } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type AgentOptions, type TestHub } from '../support/hub/test-hub.ts'
import type { SpokeAgent } from '../support/hub/agent/spoke-agent.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { SeenTask } from '../tasks/task-client.ts'

/** A test hub that is imported as `hub`, with its spokes on a second API server. */
export interface LifeWorld {
  readonly service: TestService
  readonly people: ReturnType<typeof makePeople>
  readonly hub: TestHub
  readonly owner: Person
  readonly org: string
  /** The text of a kubeconfig of the admin of the spokes. */
  readonly spokeConfig: string
  post(path: string, body: object, person?: Person): Promise<ServiceAnswer>
  /** A spoke whose agents the hub has accepted. */
  joined(options?: AgentOptions): Promise<{ readonly name: string; readonly agent: SpokeAgent }>
  managed(name: string): Promise<ManagedCluster | undefined>
  /** The newest task of a kind about a spoke. */
  task(kind: string, managedCluster: string): Promise<SeenTask>
  ended(kind: string, managedCluster: string): Promise<SeenTask>
  actions(): Promise<readonly string[]>
  stop(): Promise<void>
}

const finalStates = ['succeeded', 'failed', 'cancelled', 'unknown']

export const startLifeWorld = async (settings: Record<string, string> = {}): Promise<LifeWorld> => {
  const [hubServer, spokeServer] = [(await kubernetes())!, (await spokeKubernetes())!]
  const hub = await startTestHub(hubServer, { spokes: spokeServer })
  const service = await startService({ settings })
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', hubServer.kubeconfig()), 200)

  const managed = (name: string): Promise<ManagedCluster | undefined> => hub.client.get(managedClusters, name)
  const accept = async (name: string): Promise<void> => {
    const [request] = await until(`a request of ${name}`, async () => {
      const { items } = await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })
      return items.length > 0 ? items : undefined
    })
    const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' }
    await hub.client.call('PUT', `/apis/certificates.k8s.io/v1/certificatesigningrequests/${request!.metadata.name}/approval`, { ...request, status: { conditions: [approved] } })
    await hub.client.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: true } })
  }
  const task = (kind: string, managedCluster: string): Promise<SeenTask> =>
    until(`a task ${kind} of ${managedCluster}`, async () => {
      const { json } = await expectStatus(service.send('GET', `/api/v1/tasks?account=${org}&kind=${kind}`, { token: owner.token }), 200)
      return (json as readonly (SeenTask & { about: { managedCluster?: string } })[]).find(({ about }) => about.managedCluster === managedCluster)
    })
  return {
    service, people, hub, owner, org, managed, task,
    spokeConfig: spokeServer.kubeconfig(),
    post: (path, body, person = owner) => service.send('POST', `/api/v1/clusters/${org}/hub/${path}`, { token: person.token, body }),
    joined: async (options = {}) => {
      const name = hub.name()
      const agent = await hub.agent(name, options)
      await accept(name)
      await until(`${name} to join: ${hub.problems().join('; ')}`, async () => {
        const found = await managed(name)
        return found !== undefined && isTrue(found, joinedCondition) ? found : undefined
      })
      return { name, agent }
    },
    ended: (kind, managedCluster) =>
      until(`the end of ${kind} of ${managedCluster}: ${hub.problems().join('; ')}`, async () => {
        const found = await task(kind, managedCluster)
        return finalStates.includes(found.state) ? found : undefined
      }),
    actions: async () =>
      ((await expectStatus(service.send('GET', `/api/v1/orgs/${org}/audit?limit=100`, { token: owner.token }), 200)).json as { action: string }[]).map(({ action }) => action),
    stop: async () => {
      await service.stop()
      await hub.stop()
    },
  }
}
