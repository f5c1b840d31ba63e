import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ClusterApi, ClusterConnections, ClusterSurveyor } from './ports.ts'
import type { ClusterFacts, ClusterManager, ClusterSurvey, HostingProvider, NodeFacts } from './types.ts'

/** Detects managers from what a cluster serves, never from its name. */
export const detectManagers = (found: Pick<ClusterSurvey, 'groups' | 'servesManagedClusters' | 'servesDeployments' | 'hasKlusterlet'>): readonly ClusterManager[] => {
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
  EKS: ['eks.amazonaws.com/nodegroup', 'eks.amazonaws.com/compute-type', 'eks.amazonaws.com/nodegroup-image', 'alpha.eksctl.io/cluster-name', 'karpenter.sh/nodepool'],
  AKS: ['kubernetes.azure.com/cluster'],
  GKE: ['cloud.google.com/gke-nodepool'],
}

const hasAny = (node: NodeFacts, labels: readonly string[]): boolean => labels.some((label) => label in node.labels)

/** Detects the hosting provider from the nodes; Generic if they do not identify one. */
export const detectProvider = (nodes: readonly NodeFacts[]): HostingProvider => {
  for (const node of nodes) {
    const scheme = /^([a-z]+):\/\//.exec(node.providerId)?.[1]
    const provider = scheme === undefined ? undefined : bySchemes[scheme]
    if (provider === undefined) continue
    const labels = managedLabels[provider]
    if (labels === undefined || hasAny(node, labels)) return provider
  }
  return nodes.some((node) => Object.keys(node.labels).some((label) => label.startsWith('rke.cattle.io/'))) ? 'Rancher' : 'Generic'
}

/** Returns the region of the first node that has one. */
export const detectLocation = (nodes: readonly NodeFacts[]): string =>
  nodes.map((node) => node.labels['topology.kubernetes.io/region']).find((region) => region !== undefined && region !== '') ?? ''

/** Returns the project of Google nodes: `gce://<project>/<zone>/<name>`. */
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
export const makeClusterSurveyor = (deps: { readonly connections: ClusterConnections; readonly api: Pick<ClusterApi, 'survey'> }): ClusterSurveyor => ({
  async survey(id, signal) {
    const connection = await deps.connections.open(id)
    if (isLeft(connection)) return connection
    const survey = await deps.api.survey(connection.right.credential, signal)
    return isLeft(survey) ? survey : right(factsOf(survey.right))
  },
})
