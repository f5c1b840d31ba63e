import { randomBytes } from 'node:crypto'
import { right } from 'fp-ts/lib/Either.js'
import { AuthorizerPort } from '../../core/authz/ports.ts'
import { MemberClustersPort } from '../../core/clusters/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { ActorCallsPort, fullScope, type Actor } from '../../core/kernel/principal.ts'
import { TaskHandlersPort, type TaskEnd, type TaskRun } from '../../core/tasks/ports.ts'
import { unwrap } from '../support/outcome.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { startSpokeControlPlane } from '../support/components/spoke-control-plane.ts'
import {
  clusterClaims,
  managedClusters,
  namespaces,
  secrets,
  signingRequests,
  type ManagedCluster,
} from '../support/hub/api/kinds.ts'
import { isTrue } from '../support/hub/api/object-changes.ts'
import { clusterNameLabel, hubNamespace as operatorNamespace, joinedCondition } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type AgentOptions, type TestHub } from '../support/hub/test-hub.ts'
import type { SpokeAgent } from '../support/hub/agent/spoke-agent.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { eventsOf, type SeenTask } from '../tasks/task-client.ts'

/** A test hub that is imported as `hub`, with its spokes. */
export interface LifeFixture {
  readonly service: TestService
  readonly people: ReturnType<typeof makePeople>
  readonly hub: TestHub
  readonly hubServer: ControlPlaneAccess
  /** Where the spokes are. */
  readonly spokeServer: ControlPlaneAccess
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
  /** What an import has brought and is still on the cluster, and whether the task of the removal names the rest. */
  afterRemoval(taskId: string): Promise<{ readonly objects: readonly string[]; readonly namesDefinition: boolean }>
  /** Finishes a namespace of the spokes that is being deleted, as the controller of a cluster does. */
  finishNamespace(name: string): Promise<void>
  /**
   * Runs the task of a kind about a spoke in this process until it begins its step of that number, where the process
   * dies.
   */
  runUntilStep(kind: string, managedCluster: string, step: number): Promise<TaskEnd>
  /** Keeps the service from running tasks of a kind that are accepted from now on. */
  pauseTasks(kind: string): Promise<void>
  resumeTasks(): Promise<void>
  stop(): Promise<void>
}

const finalStates = ['succeeded', 'failed', 'cancelled', 'unknown']

/**
 * Imports need an API server of spokes to themselves: they look at all agents of the cluster, also at those of another
 * test file.
 */
const startServers = async (imports: boolean) => {
  const hubServer = (await kubernetes())!
  const ownServer = imports
    ? await startSpokeControlPlane(hubServer, `spokes-${randomBytes(4).toString('hex')}`)
    : undefined
  const spokeServer = ownServer ?? hubServer
  return { hubServer, ownServer, spokeServer, hub: await startTestHub(hubServer, { spokes: spokeServer }) }
}

export const startLifeFixture = async ({ imports }: { readonly imports: boolean }): Promise<LifeFixture> => {
  const starting = startService({ settings: { MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback' } })
  const [service, { hubServer, ownServer, spokeServer, hub }] = await Promise.all([starting, startServers(imports)])
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', hubServer.kubeconfig()), 200)

  const handlers = service.running.container.resolve(TaskHandlersPort)
  const real = new Map(handlers.all().map((handler) => [handler.kind, { ...handler }]))
  const { json: me } = await expectStatus(service.send('GET', '/api/v1/user', { token: owner.token }), 200)
  const actor: Actor = { userId: (me as { id: UserId }).id, login: owner.login, method: 'token', scopes: fullScope }

  const managed = (name: string): Promise<ManagedCluster | undefined> => hub.client.get(managedClusters, name)
  const accept = async (name: string): Promise<void> => {
    const [request] = await until(`a request of ${name}`, async () => {
      const { items } = await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })
      return items.length > 0 ? items : undefined
    })
    const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' }
    await hub.client.call(
      'PUT',
      `/apis/certificates.k8s.io/v1/certificatesigningrequests/${request!.metadata.name}/approval`,
      { ...request, status: { conditions: [approved] } },
    )
    await hub.client.patch(managedClusters, { metadata: { name } }, { spec: { hubAcceptsClient: true } })
  }
  const task = (kind: string, managedCluster: string): Promise<SeenTask> =>
    until(`a task ${kind} of ${managedCluster}`, async () => {
      const { json } = await expectStatus(
        service.send('GET', `/api/v1/tasks?account=${org}&kind=${kind}`, { token: owner.token }),
        200,
      )
      return (json as readonly (SeenTask & { about: { managedCluster?: string } })[]).find(
        ({ about }) => about.managedCluster === managedCluster,
      )
    })
  return {
    service,
    people,
    hub,
    hubServer,
    spokeServer,
    owner,
    org,
    managed,
    task,
    spokeConfig: spokeServer.kubeconfig(),
    post: (path, body, person = owner) =>
      service.send('POST', `/api/v1/clusters/${org}/hub/${path}`, { token: person.token, body }),
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
      (
        (await expectStatus(service.send('GET', `/api/v1/orgs/${org}/audit?limit=100`, { token: owner.token }), 200))
          .json as { action: string }[]
      ).map(({ action }) => action),
    afterRemoval: async (taskId) => {
      const [uid, info, operators] = await Promise.all([
        hub.spoke.get(clusterClaims, 'id.k8s.io'),
        hub.spoke.get(clusterClaims, 'cluster.ace.info'),
        hub.spoke.get(namespaces, operatorNamespace),
      ])
      const events = JSON.stringify(await eventsOf(service, owner.token, taskId))
      return {
        objects: [uid, info, operators]
          .filter((each) => each !== undefined && each.metadata.deletionTimestamp === undefined)
          .map((each) => each?.metadata.name ?? ''),
        namesDefinition: /which stay: CustomResourceDefinition klusterlets\./.test(events),
      }
    },
    finishNamespace: async (name) => {
      const found = await hub.spoke.get(namespaces, name)
      if (found?.metadata.deletionTimestamp === undefined) return
      for (const secret of (await hub.spoke.list(secrets, { namespace: name })).items)
        await hub.spoke.remove(secrets, secret)
      await hub.spoke.call('PUT', `/api/v1/namespaces/${name}/finalize`, { ...found, spec: { finalizers: [] } })
    },
    runUntilStep: async (kind, managedCluster, stepNumber) => {
      const { container } = service.running
      const call = unwrap(
        await container
          .resolve(ActorCallsPort)
          .callOf(actor, { operation: kind, requestId: 'test', sourceIp: '127.0.0.1' }, new AbortController().signal),
      )
      const grant = unwrap(
        await container
          .resolve(AuthorizerPort)
          .authorize(call.principal, { type: 'hub', account: org, name: 'hub' }, 'can_view'),
      )
      const cluster = unwrap(await container.resolve(MemberClustersPort).open(call, grant))
      const seen = await task(kind, managedCluster)
      let steps = 0
      const run = {
        task: { ...seen, ref: seen.id, about: seen['about'], createdAt: new Date() },
        input: {
          cluster: {
            owner: org,
            name: 'hub',
            id: cluster.id,
            uid: cluster.uid,
            right: { type: 'hub', relation: 'can_view' },
          },
          name: managedCluster,
          installsAgents: true,
          isForced: false,
          removesRecord: false,
        },
        progress: {
          say: () => undefined,
          step: () => {
            steps += 1
            if (steps === stepNumber) throw new Error('the process dies')
            return { say: () => undefined, done: () => undefined, failed: () => undefined }
          },
        },
        callNow: async () => right(call),
        signal: new AbortController().signal,
      }
      return real.get(kind)!.run(run as unknown as TaskRun)
    },
    // The worker has the handlers themselves.
    pauseTasks: async (kind) => {
      const notHere = async (): Promise<TaskEnd> => ({ state: 'succeeded', message: 'not done here' })
      for (const handler of handlers.all()) if (handler.kind === kind) Object.assign(handler, { run: notHere })
    },
    resumeTasks: async () => {
      for (const handler of handlers.all()) Object.assign(handler, real.get(handler.kind))
    },
    stop: async () => {
      await service.stop()
      await hub.stop()
      await ownServer?.stop()
    },
  }
}
