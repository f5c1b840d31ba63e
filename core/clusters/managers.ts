import type { ClusterManager, ClusterSurvey } from './types.ts'

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
