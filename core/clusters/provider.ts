import type { HostingProvider, NodeFacts } from './types.ts'

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
