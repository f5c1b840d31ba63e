/** Names that Open Cluster Management fixes: note §3, 'Keys'. */
export const clusterNameLabel = 'open-cluster-management.io/cluster-name'
export const clusterSetLabel = 'cluster.open-cluster-management.io/clusterset'
export const addOnNameLabel = 'open-cluster-management.io/addon-name'
export const cleanupPriorityAnnotation = 'open-cluster-management.io/cleanup-priority'
export const apiCleanupFinalizer = 'cluster.open-cluster-management.io/api-resource-cleanup'
export const resourceCleanupFinalizer = 'cluster.open-cluster-management.io/resource-cleanup'
export const workCleanupFinalizer = 'cluster.open-cluster-management.io/manifest-work-cleanup'

export const acceptedCondition = 'HubAcceptedManagedCluster'
export const joinedCondition = 'ManagedClusterJoined'
export const availableCondition = 'ManagedClusterConditionAvailable'
export const clockCondition = 'ManagedClusterConditionClockSynced'
export const deletingCondition = 'Deleting'

export const leaseName = 'managed-cluster-lease'
export const defaultLeaseSeconds = 60

/** Where the hub's operator and the bootstrap service account are; on a spoke, where the operator is. */
export const hubNamespace = 'open-cluster-management'
export const agentNamespace = 'open-cluster-management-agent'
export const bootstrapAccount = 'agent-registration-bootstrap'
export const bootstrapSecret = 'bootstrap-hub-kubeconfig'
export const hubKubeconfigSecret = 'hub-kubeconfig-secret'

const subjectPrefix = 'system:open-cluster-management:'
export const managedClustersGroup = 'system:open-cluster-management:managed-clusters'
export const clientSigner = 'kubernetes.io/kube-apiserver-client'

/** The group of all agents of a cluster. */
export const groupOf = (cluster: string): string => `${subjectPrefix}${cluster}`
