import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Cache, Caches } from '../kernel/cache.ts'
import type { PauseInLongTurn } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId, ClusterId, UserId } from '../kernel/ids.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type {
  ClusterApi,
  ClusterConnections,
  ClusterStore,
  ClusterSurveyor,
  CredentialCodec,
  KubeconfigParser,
  MemberTokens,
  ReachFailure,
} from './ports.ts'
import { AccessConfigRefused, ClusterMissing, ClusterNotConnected } from './ports.ts'
import type {
  ClusterConnection,
  ClusterCredential,
  ClusterFacts,
  ClusterIdentity,
  ClusterLink,
  ClusterManager,
  ClusterSurvey,
  HostingProvider,
  ManagedPlace,
  NodeFacts,
} from './types.ts'
import { gatewayRoot } from './types.ts'

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Returns the path below which a hub serves the API of a cluster that it manages; undefined if the name cannot be that
 * of a ManagedCluster.
 *
 * @internal
 */
export const gatewayPath = (managedClusterName: string): string | undefined =>
  dnsLabel.test(managedClusterName) ? `${gatewayRoot}/clustergateways/${managedClusterName}/proxy` : undefined

/** Returns the place that a cluster's sealed credential is bound to. @internal */
export const credentialPlace = (ownerId: AccountId, ref: string): SealedPlace => ({
  table: 'clusters',
  column: 'sealed_credential',
  tenantId: ownerId,
  rowRef: ref,
})

const carrying = (connection: ClusterConnection, identity: ClusterIdentity): ClusterConnection => ({
  ...connection,
  credential: { ...connection.credential, identity },
})

type Opened = ReturnType<ClusterConnections['open']>

const notConnected = 'The cluster is not connected: store an access config for it first.'

/** Maximum number of cached opened credentials. */
const maxOpened = 2000
/** A record is not changed more often than this while it is read. */
const maxRereads = 5

/**
 * Caches opened credentials by record and version; the version is read again for every request. A connection through a
 * hub is made from the hub's own entry, so that both versions count.
 */
export const makeClusterConnections = (deps: {
  readonly clusters: Pick<ClusterStore, 'link' | 'linkByUid' | 'sealed'>
  readonly secretBox: SecretBox
  readonly codec: CredentialCodec
  readonly caches: Caches
  readonly memberTokens: MemberTokens | undefined
}): ClusterConnections => {
  const opened: Cache<ClusterId, ClusterConnection> = deps.caches.make({ maxEntries: maxOpened })

  /** Returns undefined if the record contains no credential. A record that another request changes is read again. */
  const openSealed = async (link: ClusterLink): Promise<ClusterConnection | undefined> => {
    let current: ClusterLink | undefined = link
    for (let left = maxRereads; current !== undefined && left > 0; left -= 1) {
      const sealed = await deps.clusters.sealed(current.id, current.version)
      if (sealed === undefined) {
        const { version }: ClusterLink = current
        current = await deps.clusters.link(current.id)
        if (current?.version === version) return undefined
        continue
      }
      const text = await deps.secretBox.open(sealed.box, credentialPlace(sealed.ownerId, sealed.ref))
      const connection = { link: current, credential: deps.codec.decode(text) }
      opened.set(link.id, connection)
      return connection
    }
    return undefined
  }

  const openOwn = async (link: ClusterLink): Promise<ClusterConnection | undefined> => {
    const kept = opened.get(link.id)
    return kept?.link.version === link.version && kept.via === undefined ? kept : openSealed(link)
  }

  const openThroughHub = async (
    link: ClusterLink,
    { hubClusterUid, managedClusterName, isOwnHub }: ManagedPlace,
  ): Opened => {
    const path = gatewayPath(managedClusterName)
    if (isOwnHub || path === undefined) return left(ClusterNotConnected(notConnected))
    // Only the owner's own record: a UID is no proof, and the hub of another account is not to be reached by it.
    const hubLink = await deps.clusters.linkByUid(link.ownerId, hubClusterUid)
    const hub = hubLink === undefined ? undefined : await openOwn(hubLink)
    if (hub === undefined)
      return left(
        ClusterNotConnected(
          `The cluster is reached through its hub, and ${link.ownerName} has no connected cluster that is ` +
            'this hub: import the hub, or store an access config for the cluster.',
        ),
      )
    const connection = { link, credential: hub.credential, via: { hub: hub.link, path, managedClusterName } }
    opened.set(link.id, connection)
    return right(connection)
  }

  /** Gives a connection whose credential has no secret a token for the user. */
  const withToken = async (connection: ClusterConnection, userId: UserId | undefined): Opened => {
    const { identity } = connection.credential
    if (identity.kind !== 'issued') return right(connection)
    const issuerLink = await deps.clusters.linkByUid(identity.issuerId, identity.issuerUid)
    const issuer = issuerLink === undefined ? undefined : await openOwn(issuerLink)
    if (issuer === undefined || issuer.credential.identity.kind === 'issued' || deps.memberTokens === undefined)
      return left(ClusterNotConnected('The account that owns the cluster has removed its access config of it.'))
    const issued = await deps.memberTokens.issue(connection.link, issuer, identity.issuerUid, userId)
    return isLeft(issued) ? issued : right(carrying(connection, { ...identity, token: issued.right }))
  }

  return {
    async open(id, version, userId) {
      const known = opened.get(id)
      const isKnown = version !== undefined && known?.link.version === version
      if (isKnown && known.via === undefined) return withToken(known, userId)
      const link = isKnown ? known.link : await deps.clusters.link(id)
      if (link === undefined) {
        opened.delete(id)
        return left(ClusterMissing('The cluster does not exist.'))
      }
      if (link.managedBy !== undefined) return openThroughHub(link, link.managedBy)
      const connection = await openOwn(link)
      return connection === undefined ? left(ClusterNotConnected(notConnected)) : withToken(connection, userId)
    },
  }
}

/** When the credential of a cluster ends. */
export interface CredentialEnd {
  readonly ownerName: string
  readonly name: string
  readonly at: Date
}

const recordsAtOnce = 20

/**
 * Returns the clusters whose credentials end nearest to a time first, at most `most` of them. Reads each
 * stored credential, one in a turn of the event loop. A credential that cannot be opened is left out: requests to its
 * cluster report it.
 */
export const makeCredentialEnds =
  (deps: {
    readonly clusters: Pick<ClusterStore, 'sealedAfter'>
    readonly secretBox: SecretBox
    readonly codec: CredentialCodec
    readonly pause: PauseInLongTurn
  }) =>
  async (now: Date, most: number): Promise<readonly CredentialEnd[]> => {
    const distance = ({ at }: CredentialEnd): number => Math.abs(at.getTime() - now.getTime())
    let nearest: readonly CredentialEnd[] = []
    let after = 0 as ClusterId
    for (;;) {
      const records = await deps.clusters.sealedAfter(after, recordsAtOnce)
      const found: CredentialEnd[] = []
      for (const { box, ref, ownerId, ownerName, name } of records) {
        await deps.pause(0)
        try {
          const text = await deps.secretBox.open(box, credentialPlace(ownerId, ref))
          const at = deps.codec.endOf(deps.codec.decode(text))
          if (at !== undefined && Number.isFinite(at.getTime())) found.push({ ownerName, name, at })
        } catch {
          continue
        }
      }
      nearest = [...nearest, ...found].sort((a, b) => distance(a) - distance(b)).slice(0, most)
      const last = records.at(-1)
      if (last === undefined || records.length < recordsAtOnce) return nearest
      after = last.id
    }
  }

/** Shorter than the lease of a task: when a lease ends, the work has stopped or another worker has it. */
const graceMs = 25_000

/**
 * For work that must continue during a short outage of the database: the last opened connection stays valid for that
 * time. While the database responds, its result is used, so that a changed or removed credential takes effect at once.
 */
export const steadyConnections = (
  connections: ClusterConnections,
  nowMs: () => number = () => performance.now(),
): ClusterConnections => {
  let last: { readonly opened: Awaited<Opened>; readonly atMs: number } | undefined
  return {
    async open(id, version, userId) {
      try {
        const opened = await connections.open(id, version, userId)
        last = isLeft(opened) ? undefined : { opened, atMs: nowMs() }
        return opened
      } catch (error) {
        if (last === undefined || nowMs() - last.atMs > graceMs) throw error
        return last.opened
      }
    },
  }
}

/** A cluster that responded to an access config, with its credential. */
export interface Identified {
  readonly credential: ClusterCredential
  readonly facts: ClusterFacts
}

export type IdentifyFailure = Failure<'AccessConfigRefused'> | ReachFailure

/** Reads an access config and surveys the cluster that it names. */
export const makeIdentify =
  (deps: { readonly parser: KubeconfigParser; readonly api: ClusterApi }) =>
  async (accessConfig: string | undefined, signal: AbortSignal): Outcome<IdentifyFailure, Identified> => {
    if (accessConfig === undefined || accessConfig.trim() === '')
      return left(AccessConfigRefused('An access config is needed: the text of a kubeconfig.'))
    const credential = deps.parser.parse(accessConfig)
    if (isLeft(credential)) return credential
    return pipe(
      await deps.api.survey(credential.right, signal),
      map((survey) => ({ credential: credential.right, facts: factsOf(survey) })),
    )
  }
export type Identify = ReturnType<typeof makeIdentify>

/** Seals a credential for a record. The reference is the record's, or a new one for a new record. */
export const makeSealCredential =
  (deps: { readonly secretBox: SecretBox; readonly codec: CredentialCodec; readonly entropy: Entropy }) =>
  async (
    ownerId: AccountId,
    credential: ClusterCredential,
    ref = hex(deps.entropy.bytes(16)),
  ): Promise<{ readonly ref: string; readonly box: Uint8Array }> => ({
    ref,
    box: await deps.secretBox.seal(deps.codec.encode(credential), credentialPlace(ownerId, ref)),
  })
export type SealCredential = ReturnType<typeof makeSealCredential>

/** Detects managers from what a cluster serves, never from its name. @internal */
export const detectManagers = (
  found: Pick<ClusterSurvey, 'groups' | 'servesManagedClusters' | 'servesDeployments' | 'hasKlusterlet'>,
): readonly ClusterManager[] => {
  const has = (group: string): boolean => found.groups.includes(group)
  const managers: ClusterManager[] = []
  if (found.servesManagedClusters) managers.push('OCMHub')
  if (found.servesManagedClusters && !found.servesDeployments) managers.push('OCMMulticlusterControlplane')
  if (found.hasKlusterlet) managers.push('OCMSpoke')
  if (has('config.openshift.io')) managers.push('OpenShift')
  if (has('management.cattle.io')) managers.push('Rancher')
  if (has('storage.loft.sh') || has('management.loft.sh')) managers.push('VirtualCluster')
  return managers
}

/** Schemes of `spec.providerID`, as written by the cloud controller managers. */
const bySchemes: Readonly<Record<string, HostingProvider>> = {
  aws: 'EKS',
  azure: 'AKS',
  digitalocean: 'DigitalOcean',
  equinixmetal: 'Packet',
  exoscale: 'Exoscale',
  gce: 'GKE',
  linode: 'Linode',
  packet: 'Packet',
  scaleway: 'Scaleway',
  vultr: 'Vultr',
}

/** Labels of managed nodes. A self-managed cluster on a cloud's machines is not the cloud's managed service. */
const managedLabels: Readonly<Partial<Record<HostingProvider, readonly string[]>>> = {
  EKS: [
    'eks.amazonaws.com/nodegroup',
    'eks.amazonaws.com/compute-type',
    'eks.amazonaws.com/nodegroup-image',
    'alpha.eksctl.io/cluster-name',
    'karpenter.sh/nodepool',
  ],
  AKS: ['kubernetes.azure.com/cluster'],
  GKE: ['cloud.google.com/gke-nodepool'],
}

const hasAny = (node: NodeFacts, labels: readonly string[]): boolean => labels.some((label) => label in node.labels)

/** Detects the hosting provider from the nodes; Generic if they do not identify one. @internal */
export const detectProvider = (nodes: readonly NodeFacts[]): HostingProvider => {
  for (const node of nodes) {
    const scheme = /^([a-z]+):\/\//.exec(node.providerId)?.[1]
    const provider = scheme === undefined ? undefined : bySchemes[scheme]
    if (provider === undefined) continue
    const labels = managedLabels[provider]
    if (labels === undefined || hasAny(node, labels)) return provider
  }
  return nodes.some((node) => Object.keys(node.labels).some((label) => label.startsWith('rke.cattle.io/')))
    ? 'Rancher'
    : 'Generic'
}

/** Returns the region of the first node that has one. @internal */
export const detectLocation = (nodes: readonly NodeFacts[]): string =>
  nodes
    .map((node) => node.labels['topology.kubernetes.io/region'])
    .find((region) => region !== undefined && region !== '') ?? ''

/** Returns the project of Google nodes: `gce://<project>/<zone>/<name>`. @internal */
export const detectProject = (nodes: readonly NodeFacts[]): string =>
  nodes.map((node) => /^gce:\/\/([^/]+)\//.exec(node.providerId)?.[1]).find((project) => project !== undefined) ?? ''

/** The width of the columns. A cluster may report any text about itself. */
const maxTextLength = 128
const maxNodes = 1_000_000

const shortened = (text: string): string => text.slice(0, maxTextLength).toWellFormed()
const countOf = (claimed: number): number => Math.min(Math.max(Math.trunc(claimed) || 0, 0), maxNodes)

/** Returns the facts that follow from a survey. */
export const factsOf = (survey: ClusterSurvey): ClusterFacts => ({
  uid: survey.uid,
  kubernetesVersion: survey.kubernetesVersion,
  isReady: survey.isReady,
  nodeCount: countOf(survey.nodeCount),
  provider: detectProvider(survey.nodes),
  location: shortened(detectLocation(survey.nodes)),
  project: shortened(detectProject(survey.nodes)),
  managers: detectManagers(survey),
})

/** Surveys records over their stored credentials. */
export const makeClusterSurveyor = (deps: {
  readonly connections: ClusterConnections
  readonly api: Pick<ClusterApi, 'survey'>
}): ClusterSurveyor => ({
  async survey(id, signal) {
    const connection = await deps.connections.open(id)
    if (isLeft(connection)) return connection
    const survey = await deps.api.survey(connection.right.credential, signal)
    return isLeft(survey) ? survey : right(factsOf(survey.right))
  },
})
