import { sample as identity } from '../identity/sample.ts'
import { accountIds, sample as organizations } from '../organizations/sample.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { defineSample, must, refusedFor, type Bodies, type Tenant } from '../support/part-sample.ts'
import { importCluster } from './cluster-fixture.ts'

/** The access to the cluster of a tenant. */
export const kubeconfigOf = (tenant: Tenant): string => tenant.of(sample).kubernetes.kubeconfig()

/** A body that imports the cluster of a tenant. */
export const importing = (mine: Tenant, basicInfo: object = {}): object => ({
  basicInfo: { name: 'second', ...basicInfo },
  provider: { accessConfig: kubeconfigOf(mine) },
})

const imports: Bodies = (mine, theirs) => ({
  own: importing(mine),
  'basicInfo.ownerID': importing(mine, { ownerID: theirs.id('organization') }),
  'basicInfo.managerID': importing(mine, { managerID: theirs.id('user') }),
  'basicInfo.userID': importing(mine, { userID: theirs.id('user') }),
  'basicInfo.clusterUID': importing(mine, { clusterUID: theirs.key('cluster', 'uid') }),
  'basicInfo.hubClusterID': importing(mine, { hubClusterID: theirs.key('cluster', 'uid') }),
})

/** A cluster of the organization, which is no hub. */
export const sample = defineSample({
  part: 'clusters',
  make: async (tenant) => {
    const { service, org, prefix, text, clusterUid } = tenant
    const { owner } = await tenant.of(identity)
    await tenant.of(organizations)
    const kubernetes = await startFakeKubernetes()
    if (clusterUid !== undefined) kubernetes.uid = clusterUid
    const cluster = `${prefix}pier`
    const config = kubernetes.kubeconfig()
    const { json } = await must(
      'import',
      importCluster(service.send, owner.token, org, cluster, config, { displayName: text }),
    )
    return { cluster, clusterId: json.id as number, kubernetes }
  },
  stop: ({ kubernetes }) => kubernetes.stop(),
  names: ({ cluster, clusterId, kubernetes }) => ({
    cluster: { id: clusterId, name: cluster, uid: kubernetes.uid },
  }),
  bodies: {
    'clusters.checkCluster': imports,
    'clusters.validateImport': imports,
    'clusters.importCluster': imports,
    'clusters.updateCluster': (mine, theirs) => ({
      own: { displayName: 'Changed', provider: 'Generic', accessConfig: kubeconfigOf(mine) },
      name: { name: theirs.key('cluster'), provider: 'Generic', accessConfig: kubeconfigOf(mine) },
    }),
    'clusters.connectCluster': () => ({ own: {} }),
    'clusters.reconfigureCluster': (_, theirs) => ({
      own: { basicInfo: { displayName: 'Changed' } },
      'basicInfo.ownerID': { basicInfo: { displayName: 'Changed', ownerID: theirs.id('organization') } },
      'basicInfo.userID': { basicInfo: { displayName: 'Changed', userID: theirs.id('user') } },
      'basicInfo.clusterUID': { basicInfo: { displayName: 'Changed', clusterUID: theirs.key('cluster', 'uid') } },
      'basicInfo.name': { basicInfo: { name: theirs.key('cluster') } },
    }),
    'clusters.removeCluster': (mine, theirs) => ({
      own: { name: mine.key('cluster') },
      name: { name: theirs.key('cluster') },
    }),
  },
  queries: { 'clusters.listUserClusters': { all: 'true' } },
  tables: (_, tenant) => ({ clusters: { owner_id: accountIds(tenant) } }),
  secrets: ({ cluster, kubernetes }) => [cluster, kubernetes.uid, kubernetes.url, kubernetes.token],
  // No request reaches the cluster.
  traces: ({ kubernetes }) => kubernetes.seen.length,
  harmless: {
    'clusters.clusterExists [path cluster]': {
      why: 'there is no such cluster of the own organization',
      says: /"exist":false/,
    },
    'clusters.checkCluster [body basicInfo.managerID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.checkCluster [body basicInfo.userID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.checkCluster [body basicInfo.hubClusterID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.validateImport [body basicInfo.managerID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.validateImport [body basicInfo.userID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.validateImport [body basicInfo.hubClusterID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
    'clusters.reconfigureCluster [body basicInfo.userID]': {
      why: 'the key has no meaning in this deployment and no effect',
      says: /"ownerName":"north"|"alreadyImported":true/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', ['clusters.consoleListClusters']),
    'clusters.importCluster []': 'the cluster is imported already',
    'clusters.deleteCluster []': 'the cluster was removed before',
    'clusters.proxy DELETE []': 'the cluster was removed before',
  },
})
