import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { IssuerUnavailable, WorkloadTokenRefused } from '../../core/authorization-server/workloads/ports.ts'
import type { WorkloadClusters } from '../../core/authorization-server/workloads/ports.ts'
import type { ClusterApi, ClusterConnections, ClusterStore } from '../../core/clusters/ports.ts'
import { at, listAt, textAt, toWireJson } from '../../core/kernel/json.ts'

const target = '/apis/authentication.k8s.io/v1/tokenreviews'
const answerBytes = 65_536
const never = new AbortController().signal

export interface TokenReviewDeps {
  readonly clusters: Pick<ClusterStore, 'linkByUid'>
  readonly connections: ClusterConnections
  readonly api: ClusterApi
}

/** WorkloadClusters by TokenReview, with the credential of the record of the organization. */
export const makeTokenReviews = ({ clusters, connections, api }: TokenReviewDeps): WorkloadClusters => ({
  async review({ ownerId, uid }, token, audience, signal = never) {
    const link = await clusters.linkByUid(ownerId, uid)
    if (link === undefined)
      return left(WorkloadTokenRefused('The cluster of the federated credential is not connected in the organization.'))
    const connection = await connections.open(link.id, link.version)
    if (isLeft(connection)) return left(IssuerUnavailable('The cluster of the federated credential is not connected.'))
    const review = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: token.reveal(), audiences: [audience] },
    }
    const answer = await api.request(
      connection.right,
      {
        method: 'POST',
        target,
        headers: [['content-type', 'application/json']],
        body: Buffer.from(toWireJson(review)),
        limitBytes: answerBytes,
      },
      signal,
    )
    if (isLeft(answer)) return left(IssuerUnavailable('The cluster of the federated credential does not answer.'))
    const { status, json } = answer.right
    if (status === 403)
      return left(IssuerUnavailable('The access config of the cluster lacks the right to create TokenReviews; add it.'))
    if (status !== 201) return left(IssuerUnavailable(`The cluster of the federated credential answered ${status}.`))
    const isProven =
      at(json, 'status', 'authenticated') === true &&
      listAt(json, 'status', 'audiences').includes(audience) &&
      textAt(json, 'status', 'user', 'username').startsWith('system:serviceaccount:')
    return isProven
      ? right(undefined)
      : left(WorkloadTokenRefused('The cluster does not accept the token of the service account.'))
  },
})
