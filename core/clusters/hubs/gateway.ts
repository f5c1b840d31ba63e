import { gatewayRoot } from '../types.ts'

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Returns the path below which a hub serves the API of a cluster that it manages; undefined if the name cannot be that of a ManagedCluster. */
export const gatewayPath = (managedClusterName: string): string | undefined =>
  dnsLabel.test(managedClusterName) ? `${gatewayRoot}/clustergateways/${managedClusterName}/proxy` : undefined
