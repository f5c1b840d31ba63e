import { ClusterApiPort, ClusterConnectionsPort, ClusterTransportPort } from '../../core/clusters/ports.ts'
import { makeComputeResponse } from '../../core/clusters/proxy/computed-responses.ts'
import { makeProxyRequest, makeProxyUpgrade } from '../../core/clusters/proxy/requests.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import { objectIdOf } from '../kit/access.ts'
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
    api: ClusterApiPort,
    connections: ClusterConnectionsPort,
    transport: ClusterTransportPort,
  },
  routes: (given) => {
    const relay = makeProxyRequest({ ...given, computeResponse: makeComputeResponse(given) })
    const upgrade = makeProxyUpgrade(given)
    return [
      handleStream(proxyRoute, {
        handler: (input) => relay(input.call, inputOf(input)),
        upgrade: (input) => upgrade(input.call, inputOf(input)),
      }),
    ]
  },
})
