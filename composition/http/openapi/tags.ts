/** A tag group of the document. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** The specification's tag groups (its §1), in the order in which the documentation shows them. */
export const documentTags: readonly Tag[] = [
  { name: 'Identity - Users & Settings', description: 'Users, access tokens, emails, follow relations, sign-in and sign-out, settings of the signed-in user.' },
  { name: 'Identity - Organizations & Teams', description: 'Organizations, their members and teams.' },
  { name: 'Administration', description: 'What site admins do: users and organizations of the whole installation.' },
  { name: 'Authorization', description: 'Allowed-permission queries and custom roles within an organization.' },
  { name: 'Client Organizations', description: 'Organizations that a site admin makes for a client, with their clusters.' },
  { name: 'Licensing & Contracts', description: 'Contracts of an organization, the clusters bound to them, offline licenses.' },
  { name: 'Billing Dashboard', description: 'Usage summaries and billing reports, on billing-enabled deployments.' },
  { name: 'Helm', description: 'The package manager on a member cluster: releases, chart views, resource editor.' },
  { name: 'Cluster Management v1', description: 'Clusters under /clusters/{owner}/{cluster}.' },
  { name: 'Cluster Management v2', description: 'Import, list, check, reconfigure and remove clusters.' },
  { name: 'Kubernetes Proxy', description: 'Requests passed through to a cluster; bodies are free objects of the orchestrator.' },
  { name: 'Multi-cluster', description: 'Hubs, spokes, cluster sets and feature sets.' },
  { name: 'Cloud Providers', description: 'Credentials and discovery at cloud providers.' },
  { name: 'Platform Installer', description: 'Installers of the platform itself.' },
  { name: 'Platform Upgrade', description: 'Upgrades of the platform itself.' },
  { name: 'Marketplace', description: 'Cloud-marketplace notifications and metered usage.' },
  { name: 'Monitoring and Telemetry', description: 'The metrics proxy and what it registers.' },
  { name: 'fleet-manager', description: 'The cluster-fleet manager.' },
  { name: 'Chart Repositories', description: 'Where charts come from.' },
  { name: 'Miscellaneous', description: 'Version, limits, documentation.' },
]
