import { at, listAt, textAt } from '../../kernel/json.ts'
import type { HubObject } from './ports.ts'

/** The claim of a ManagedCluster with the UID of the namespace kube-system of its cluster. */
export const uidClaim = 'id.k8s.io'

/** Returns the value of a claim that a spoke reported to its hub; undefined if there is none. */
export const claimText = ({ body }: Pick<HubObject, 'body'>, name: string): string | undefined => {
  const claim = listAt(body, 'status', 'clusterClaims').find((each) => textAt(each, 'name') === name)
  return claim === undefined ? undefined : textAt(claim, 'value')
}

/** Returns the UID that a spoke claims; empty if its agent does not publish it, as that of a plain spoke. */
export const claimedUid = (cluster: Pick<HubObject, 'body'>): string => claimText(cluster, uidClaim) ?? ''

/** Returns the address that a spoke states for its own API server; empty if it states none. */
export const statedUrl = ({ body }: Pick<HubObject, 'body'>): string => textAt(listAt(body, 'spec', 'managedClusterClientConfigs')[0], 'url')

/** Reports whether the hub has accepted a spoke. The condition of that name is later than the decision. */
export const isAccepted = ({ body }: Pick<HubObject, 'body'>): boolean => at(body, 'spec', 'hubAcceptsClient') === true
