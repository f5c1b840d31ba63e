/** The name of an account in a fixture. */
export const nameOf = (accountId: number): string => `account${accountId}`
export const clusterNameOf = (clusterId: number): string => `cluster-${clusterId}`
