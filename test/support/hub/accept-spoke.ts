import { until } from '../until.ts'
import { managedClusters, signingRequests, type CertificateSigningRequest } from './api/kinds.ts'
import type { KubeClient } from './api/kube-client.ts'
import { addOnNameLabel, clusterNameLabel } from './api/ocm-names.ts'

/** The signing requests of the agent of a cluster, issued ones among them. */
export const requestsOf = async (client: KubeClient, cluster: string): Promise<readonly CertificateSigningRequest[]> =>
  (await client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${cluster},!${addOnNameLabel}` })).items

/** Does as `clusteradm accept`, when the spoke has registered: approves its request, then accepts the cluster. */
export const acceptSpoke = async (client: KubeClient, cluster: string): Promise<void> => {
  await until(`the registration of ${cluster}`, () => client.get(managedClusters, cluster))
  const request = await until(`a request of ${cluster}`, async () =>
    (await requestsOf(client, cluster)).find(({ status }) => status?.certificate === undefined),
  )
  const approved = {
    type: 'Approved',
    status: 'True',
    reason: 'AcceptedByAdmin',
    message: 'The admin of the test hub accepts it.',
  }
  await client.call(
    'PUT',
    `/apis/certificates.k8s.io/v1/certificatesigningrequests/${request.metadata.name}/approval`,
    { ...request, status: { ...request.status, conditions: [approved] } },
  )
  await client.patch(managedClusters, { metadata: { name: cluster } }, { spec: { hubAcceptsClient: true } })
}
