import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterAnswer, ClusterApi, ClusterConnections, ClusterRequest } from './ports.ts'
import { impersonation } from './proxy-headers.ts'
import { impersonated, type ProxyInput } from './proxy-request.ts'
import { asUpstream } from './wider-types.ts'

type RequestFailure = Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'> | Failure<'ClusterUnreachable'> | Failure<'CredentialRefused'>

/** One bounded request to a cluster that the caller may connect to, as the cluster sees the caller. */
export const makeRequestAs = (deps: { readonly connections: ClusterConnections; readonly api: Pick<ClusterApi, 'request'> }) =>
  async (
    { principal, signal }: SignedInCall<never>,
    { clusterId, clusterVersion }: Omit<ProxyInput<unknown>, 'exchange'>,
    request: ClusterRequest,
  ): Outcome<RequestFailure, ClusterAnswer> => {
    const connection = await deps.connections.open(clusterId, clusterVersion)
    if (isLeft(connection)) return connection
    const as = impersonated(connection.right.link, principal)
    const headers = [...(request.headers ?? []), ...(as === undefined ? [] : impersonation(as))]
    const asked = await deps.api.request(connection.right, { ...request, headers }, signal)
    return isLeft(asked) ? left(asUpstream(asked.left)) : asked
  }
