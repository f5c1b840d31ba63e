import { certificateRequestReader } from '../../adapters/kubernetes/certificate-requests.ts'
import { clusterInfoReader } from '../../adapters/kubernetes/cluster-info.ts'
import { makeSqlHubMembers } from '../../adapters/sql/spokes/hub-members.ts'
import { CertificateRequestReaderToken, ClusterInfoReaderToken, HubMembersToken } from '../../core/spokes/ports.ts'
import type { Provide } from '../boot.ts'

/** Provides what hubs and spokes need beside the connections to clusters. */
export const provideSpokes: Provide = (container, { database }) => {
  container.provideValue(CertificateRequestReaderToken, certificateRequestReader)
  container.provideValue(ClusterInfoReaderToken, clusterInfoReader)
  container.provide(HubMembersToken, () => makeSqlHubMembers(database)(database))
}
