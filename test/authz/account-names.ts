/** The name of an account in a world. */
export const nameOf = (accountId: number): string => `account${accountId}`
export const clusterNameOf = (clusterId: number): string => `cluster-${clusterId}`
