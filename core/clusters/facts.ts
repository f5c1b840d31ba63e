import type { ClusterFacts, ClusterManager, ClusterSurvey, HostingProvider, NodeFacts } from './types.ts'

/** Tells managers by what a cluster serves, never by its name. */
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

/** Schemes of `spec.providerID`, as the cloud controller managers write them. */
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

/** A self-made cluster on a cloud's machines is not the cloud's managed service: those label their nodes. */
const managedLabels: Readonly<Partial<Record<HostingProvider, readonly string[]>>> = {
  EKS: ['eks.amazonaws.com/nodegroup', 'eks.amazonaws.com/compute-type', 'eks.amazonaws.com/nodegroup-image', 'alpha.eksctl.io/cluster-name', 'karpenter.sh/nodepool'],
  AKS: ['kubernetes.azure.com/cluster'],
  GKE: ['cloud.google.com/gke-nodepool'],
}

const hasAny = (node: NodeFacts, labels: readonly string[]): boolean => labels.some((label) => label in node.labels)

/** Tells the hosting provider by what the nodes carry; Generic when they do not tell. */
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

/** The region of the first node that tells one. */
export const detectLocation = (nodes: readonly NodeFacts[]): string =>
  nodes.map((node) => node.labels['topology.kubernetes.io/region']).find((region) => region !== undefined && region !== '') ?? ''

/** The project of Google nodes: `gce://<project>/<zone>/<name>`. */
export const detectProject = (nodes: readonly NodeFacts[]): string =>
  nodes.map((node) => /^gce:\/\/([^/]+)\//.exec(node.providerId)?.[1]).find((project) => project !== undefined) ?? ''

/** As long as the columns. What a cluster says about itself is its own, and may be anything. */
const maxTextLength = 128
const maxNodes = 1_000_000

const shortened = (text: string): string => text.slice(0, maxTextLength).toWellFormed()
const countOf = (claimed: number): number => Math.min(Math.max(Math.trunc(claimed) || 0, 0), maxNodes)

/** What a survey means. */
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
