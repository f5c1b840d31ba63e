import { randomBytes } from 'node:crypto'
import type { ControlPlaneAccess } from '../components/control-plane-access.ts'
import { startSpokeAgent, type SpokeAgent, type SpokeAgentOptions } from './agent/spoke-agent.ts'
import { managedClusters, namespaces, type Account, type ManagedCluster, type Namespace } from './api/kinds.ts'
import { makeKubeClient, type KubeClient, type ServerAddress } from './api/kube-client.ts'
import { bootstrapAccount, hubNamespace } from './api/ocm-names.ts'
import { makeReconciler, type Reconciler } from './api/reconciler.ts'
import { watchObjects } from './api/watched-objects.ts'
import { runGarbageCollector } from './control-plane/collect-garbage.ts'
import { runTokenSecretFiller } from './control-plane/fill-token-secrets.ts'
import { runNamespaceFinisher } from './control-plane/finish-namespaces.ts'
import { kubeconfigText, seedHub } from './control-plane/seed-hub.ts'
import { runRequestSigner } from './control-plane/sign-requests.ts'
import { runClusterController } from './controllers/accept-clusters.ts'
import { runClusterSetController } from './controllers/cluster-sets.ts'
import type { HubFixture } from './controllers/hub-fixture.ts'
import { runTaintController } from './controllers/taint-clusters.ts'
import { runLeaseController } from './controllers/watch-leases.ts'
import { makeBootstrapWorks } from './bootstrap-works.ts'
import { startClusterGateway } from './gateway/cluster-gateway.ts'
import { installHubCrds } from './install-hub-crds.ts'
import { runKlusterletOperator } from './klusterlet/klusterlet-operator.ts'
import { runAccountController } from './profiles/account-controller.ts'
import { runProfileController } from './profiles/profile-controller.ts'
import { startWebhooks } from './webhook/webhook-server.ts'

export interface TestHubOptions {
  /** Names that start with it belong to this hub; random by default. With '' everything on the server does. */
  readonly prefix?: string
  /** The API server of the spokes; without it the spokes are on that of the hub. */
  readonly spokes?: ControlPlaneAccess
  /** What the agents are like that a Klusterlet starts. */
  readonly klusterletAgents?: AgentOptions
  /** The checks of OCM's webhooks: rights to accept, join and bind. Off by default. */
  readonly webhooks?: boolean
  /**
   * The gate DefaultClusterSet: a cluster without a set is in `default`. Off by default, on in a real hub. A text is
   * the suffix of another set, for a hub that shares its API server: only the sets of its own names have features.
   */
  readonly defaultClusterSet?: boolean | string
  /** A server in front of the hub that has the cluster gateway, too. Off by default. */
  readonly gateway?: boolean
  /** Accounts that get a service account and its token. None by default: their names are the same in all test files. */
  readonly servesAccount?: (account: Account) => boolean
}

/** Options of an agent that the hub does not fill in itself. */
export type AgentOptions = Partial<Omit<SpokeAgentOptions, 'cluster' | 'hub' | 'onProblem'>>

/**
 * The controllers of Open Cluster Management, and agents of spokes, on a real API server. What is not as in a real hub:
 * agents without `appliesManifests` report works as applied; agents report the features of their works, which a program
 * on the spoke does there; feature works need no ManifestWorkReplicaSets and no charts; the definition of ClusterClaims
 * is on a spoke before its agents; garbage collection, namespaces, token Secrets and certificates are done for the
 * names of this hub by stand-ins of kube-controller-manager.
 */
export interface TestHub {
  readonly prefix: string
  /** As the admin of the hub. */
  readonly client: KubeClient
  /** As the admin of the API server of the spokes. */
  readonly spoke: KubeClient
  /** The hub with its cluster gateway, for callers with a token; the API server itself without the option. */
  readonly entrance: ServerAddress
  /** A kubeconfig of the entrance, as the admin or with another token. */
  kubeconfig(token?: string): string
  /** The full name of a cluster, set or namespace of this hub. */
  name(suffix?: string): string
  /** Starts the agents of a spoke, which register it: the ManagedCluster is created, and waits to be accepted. */
  agent(cluster: string, options?: AgentOptions): Promise<SpokeAgent>
  /** A token of the bootstrap service account, as `spoke-command` makes one. */
  bootstrapToken(): Promise<string>
  /** A kubeconfig with such a token. */
  bootstrapKubeconfig(): Promise<string>
  /** What went wrong in controllers and agents, the last of it. */
  problems(): readonly string[]
  /** Ends controllers and agents; their objects stay. */
  stop(): Promise<void>
}

const keptProblems = 50

/**
 * Starts the controllers of a hub. Several may run on one API server at the same time, each with a prefix of its own.
 *
 *     const hub = await startTestHub((await kubernetes())!, { spokes: (await spokeKubernetes())! })
 *     const name = hub.name()
 *     const agent = await hub.agent(name)        // registers; then acceptSpoke(hub.client, name), or the service accepts it
 *     await hub.stop()
 */
export const startTestHub = async (server: ControlPlaneAccess, options: TestHubOptions = {}): Promise<TestHub> => {
  const prefix = options.prefix ?? `h${randomBytes(3).toString('hex')}-`
  const spokeServer = options.spokes ?? server
  await Promise.all(
    spokeServer === server
      ? [installHubCrds(server, ['hub', 'spoke'])]
      : [installHubCrds(server), installHubCrds(spokeServer, ['spoke'])],
  )
  await makeBootstrapWorks(server)
  const client = makeKubeClient(server, { token: server.tokenFor('admin') })
  const spoke = spokeServer === server ? client : makeKubeClient(spokeServer, { token: spokeServer.tokenFor('admin') })
  await seedHub(client)

  const ending = new AbortController()
  const problems: string[] = []
  const onProblem = (problem: string): void => void problems.splice(0, problems.push(problem) - keptProblems)
  const reconcilers: Reconciler[] = []
  const agents: SpokeAgent[] = []
  const fixture = makeFixture(client, prefix, ending.signal, onProblem, reconcilers)
  runControllers(fixture, server, options)
  const bootstrapToken = (): Promise<string> => requestBootstrapToken(client)
  const uid = (await spoke.get(namespaces, 'kube-system'))?.metadata.uid ?? ''
  // As the chart of the distribution writes them on a spoke; an import writes them itself.
  const claimsFor = (cluster: string) => ({
    'id.k8s.io': uid,
    'cluster.ace.info': `clusterMetadata: {uid: ${uid}, name: ${cluster}, clusterManagers: [OCMSpoke]}`,
  })
  const defaultsOf = (given: AgentOptions): AgentOptions => ({ spoke, serverUrls: [spoke.server.url], ...given })
  const onAgent = (agent: SpokeAgent): void => void agents.push(agent)
  runKlusterletOperator({
    spoke,
    fixture,
    onAgent,
    agentOptions: () => ({ ...defaultsOf({ claimsOfSpoke: true, ...options.klusterletAgents }), onProblem }),
  })
  runNamespaceFinisher({
    client,
    finishes: (namespace) => isFinished(fixture, namespace),
    signal: ending.signal,
    reconciler: fixture.reconciler,
  })
  if (spoke !== client)
    runNamespaceFinisher({
      client: spoke,
      finishes: (namespace) => isFinished(fixture, namespace),
      signal: ending.signal,
      reconciler: fixture.reconciler,
    })
  const { webhooks = false, defaultClusterSet = false } = options
  const endWebhooks =
    webhooks || defaultClusterSet !== false
      ? await startWebhooks({
          client,
          prefix,
          validates: webhooks,
          defaultSet: defaultSetOf(prefix, defaultClusterSet),
        })
      : undefined
  const adminToken = spokeServer.tokenFor('admin')
  const spokeOf = (cluster: string) => {
    if (fixture.clusters.get(cluster) === undefined) return 'unknown'
    return agents.some((each) => each.cluster === cluster && each.isAlive())
      ? { server: spoke.server, adminToken }
      : 'unreachable'
  }
  const gateway = options.gateway === true ? await startClusterGateway({ client, spokeOf }) : undefined
  const entrance = gateway?.server ?? client.server
  await fixture.clusters.ready

  return {
    prefix,
    client,
    spoke,
    entrance,
    kubeconfig: (token = server.tokenFor('admin')) => kubeconfigText(entrance, token),
    name: (suffix = randomBytes(3).toString('hex')) => `${prefix}${suffix}`,
    agent: async (cluster, given = {}) => {
      const made = startSpokeAgent({
        ...defaultsOf(given),
        claims: { ...claimsFor(cluster), ...given.claims },
        bootstrapToken: given.bootstrapToken ?? (await bootstrapToken()),
        cluster,
        hub: client.server,
        onProblem,
      })
      onAgent(made)
      return made
    },
    bootstrapToken,
    bootstrapKubeconfig: async () => kubeconfigText(client.server, await bootstrapToken()),
    problems: () => [...problems],
    stop: async () => {
      ending.abort()
      await Promise.all(agents.map((each) => each.stop()))
      await Promise.all(reconcilers.map((each) => each.stop()))
      await endWebhooks?.()
      await gateway?.stop()
      await client.close()
      if (spoke !== client) await spoke.close()
    },
  }
}

const defaultSetOf = (prefix: string, given: boolean | string): string | undefined =>
  typeof given === 'string' ? `${prefix}${given}` : given ? 'default' : undefined

const makeFixture = (
  client: KubeClient,
  prefix: string,
  signal: AbortSignal,
  onProblem: (problem: string) => void,
  reconcilers: Reconciler[],
): HubFixture => {
  const owns = (name: string): boolean => name.startsWith(prefix)
  const listeners: ((cluster: ManagedCluster, isGone: boolean) => void)[] = []
  const clusters = watchObjects<ManagedCluster>(client, managedClusters, {
    keeps: ({ metadata }) => owns(metadata.name),
    onChange: (cluster, isGone) => {
      for (const each of listeners) each(cluster, isGone)
    },
    signal,
  })
  return {
    client,
    owns,
    signal,
    clusters,
    onClusterChange: (listener) => {
      listeners.push(listener)
      for (const each of clusters.all()) listener(each, false)
    },
    reconciler: (wanted) => {
      const made = makeReconciler({ onProblem, ...wanted })
      reconcilers.push(made)
      return made
    },
  }
}

const runControllers = (fixture: HubFixture, server: ControlPlaneAccess, { servesAccount }: TestHubOptions): void => {
  runClusterController(fixture)
  runLeaseController(fixture)
  runTaintController(fixture)
  runClusterSetController(fixture)
  runProfileController(fixture)
  if (servesAccount !== undefined) runAccountController(fixture, servesAccount)
  if (server.clientCa !== undefined) runRequestSigner(fixture, server.clientCa)
  runTokenSecretFiller(fixture, (namespace) => fixture.owns(namespace) || namespace.startsWith(hubNamespace))
  runGarbageCollector(fixture)
}

/** Namespaces of this hub, and those of OCM itself, which are on a spoke as long as it has an agent. */
const isFinished = ({ owns }: HubFixture, { metadata: { name } }: Namespace): boolean =>
  owns(name) || name.startsWith(hubNamespace)

const requestBootstrapToken = async (client: KubeClient): Promise<string> => {
  const path = `/api/v1/namespaces/${hubNamespace}/serviceaccounts/${bootstrapAccount}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } }
  return (await client.call<{ readonly status: { readonly token: string } }>('POST', path, body)).status.token
}
