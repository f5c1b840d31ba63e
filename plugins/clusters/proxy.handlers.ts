import { makeClusterConnections } from '../../core/clusters/connections.ts'
import { ClusterApiToken, ClusterStoreToken, ClusterTransportToken, CredentialCodecToken } from '../../core/clusters/ports.ts'
import { makeComputeResponse } from '../../core/clusters/proxy/computed-responses.ts'
import { makeProxyRequest, makeProxyUpgrade } from '../../core/clusters/proxy/requests.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { objectIdOf } from '../kit/grant.ts'
import { defineGroup } from '../kit/group.ts'
import { handleStream } from '../kit/route.ts'
import { proxyRoute } from './proxy.routes.ts'

const inputOf = <E>({ grant, exchange }: { readonly grant: AccessGrant; readonly exchange: E }) => ({
  clusterId: objectIdOf<ClusterId>(grant),
  clusterVersion: grant.objectVersion,
  exchange,
})

export const proxyGroup = defineGroup({
  needs: {
    api: ClusterApiToken,
    caches: CachesToken,
    clusters: ClusterStoreToken,
    codec: CredentialCodecToken,
    secretBox: SecretBoxToken,
    transport: ClusterTransportToken,
  },
  routes: (given) => {
    const deps = { ...given, connections: makeClusterConnections(given) }
    const relay = makeProxyRequest({ ...deps, computeResponse: makeComputeResponse(given) })
    const upgrade = makeProxyUpgrade(deps)
    return [
      handleStream(proxyRoute, {
        handler: (input) => relay(input.call, inputOf(input)),
        upgrade: (input) => upgrade(input.call, inputOf(input)),
      }),
    ]
  },
})
