import { randomInt } from 'node:crypto'
import { makeKubeClient, type KubeClient, type ServerAddress } from '../api/kube-client.ts'
import { makeReconciler, type Reconciler, type ReconcilerOptions } from '../api/reconciler.ts'
import { bootstrapAgent } from './bootstrap-agent.ts'
import { runRegistrationAgent } from './registration-agent.ts'
import { makeFeatures, type FeatureOptions, type Features } from './spoke-features.ts'
import { runWorkAgent } from './work-agent.ts'

export interface SpokeAgentOptions {
  readonly cluster: string
  readonly hub: ServerAddress
  /** The token of the bootstrap kubeconfig. */
  readonly bootstrapToken: string
  /** The second part of the user name in its certificate. */
  readonly agentName?: string
  /** The UID of its Klusterlet, for AppliedManifestWorks; the name of the cluster by default. */
  readonly agentId?: string
  /** The API server of the spoke, as its admin; without it no AppliedManifestWork is written. */
  readonly spoke?: KubeClient
  /**
   * Creates the objects of ManifestWorks on the spoke, for one agent with a spoke to itself; otherwise they are only
   * reported as applied.
   */
  readonly appliesManifests?: boolean
  /** What the ManagedCluster gets as its URLs. */
  readonly serverUrls?: readonly string[]
  readonly kubernetesVersion?: string
  /** What the ManagedCluster gets when it is created, as the one for a registration by IAM roles. */
  readonly annotations?: Readonly<Record<string, string>>
  /** Claims beside `features.ace.info`, which follows from the works: `id.k8s.io` and `cluster.ace.info`. */
  readonly claims?: Readonly<Record<string, string>>
  /**
   * Reports the ClusterClaims of the spoke, for one agent with a spoke to itself. The agent of a real spoke does, and
   * makes none itself.
   */
  readonly claimsOfSpoke?: boolean
  readonly features?: FeatureOptions
  /** A certificate that it has from an earlier life: then it does not register. */
  readonly identity?: AgentIdentity
  /**
   * Registers again when its ManagedCluster is gone, as an agent does that has lost the kubeconfig of the hub and still
   * has the one for the bootstrap. Otherwise it waits with its certificate until the cluster is back.
   */
  readonly registersAgain?: boolean
  /** Called with the certificate of the agent when it has one. */
  readonly onJoin?: (identity: AgentIdentity) => Promise<void>
  readonly onProblem?: (problem: string) => void
}

export interface AgentIdentity {
  readonly certificatePem: string
  readonly keyPem: string
}

/** What the parts of one agent share. */
export interface AgentFixture extends SpokeAgentOptions {
  readonly agentName: string
  readonly signal: AbortSignal
  readonly state: Features
  readonly reconciler: (options: ReconcilerOptions) => Reconciler
}

export interface SpokeAgent {
  readonly cluster: string
  /** False when it was stopped. */
  isAlive(): boolean
  /** What the HelmReleases of the spoke are like. */
  readonly features: Features
  /** Ends it as a crash would: it reports nothing, renews nothing and clears no finalizer from now on. */
  stop(): Promise<void>
}

/**
 * The registration agent and the work agent of one spoke. It creates its ManagedCluster and its signing request with
 * the bootstrap token, and does the rest with the certificate that the hub gave it, so that the hub's RBAC decides what
 * it may do.
 */
export const startSpokeAgent = (options: SpokeAgentOptions): SpokeAgent => {
  const ending = new AbortController()
  const reconcilers: Reconciler[] = []
  const clients: KubeClient[] = []
  const state = makeFeatures(options.features)
  let known = options.identity
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const round = new AbortController()
      const signal = AbortSignal.any([ending.signal, round.signal])
      const mine: Reconciler[] = []
      const fixture: AgentFixture = {
        ...options,
        agentName: options.agentName ?? randomLetters(5),
        signal,
        state,
        reconciler: (wanted) => {
          const made = makeReconciler({
            ...wanted,
            concurrency: 4,
            ...(options.onProblem === undefined ? {} : { onProblem: options.onProblem }),
          })
          mine.push(made)
          reconcilers.push(made)
          return made
        },
      }
      const identity = known ?? (await bootstrapAgent(fixture))
      if (identity === undefined) return
      if (identity !== known) await options.onJoin?.(identity)
      known = undefined
      const client = makeKubeClient(options.hub, identity)
      clients.push(client)
      const isRemoved = runRegistrationAgent(fixture, client)
      runWorkAgent(fixture, client)
      await isRemoved
      round.abort()
      for (const each of mine) await each.stop()
      await client.close()
    }
  }
  const running = run().catch((cause: unknown) => options.onProblem?.(`agent of ${options.cluster}: ${String(cause)}`))
  return {
    cluster: options.cluster,
    features: state,
    isAlive: () => !ending.signal.aborted,
    stop: async () => {
      ending.abort()
      for (const each of reconcilers) await each.stop()
      await running
      for (const each of clients) await each.close()
    },
  }
}

const randomLetters = (count: number): string =>
  Array.from({ length: count }, () => 'bcdfghjklmnpqrstvwxz2456789'[randomInt(27)]).join('')
