import { ClusterConnectionsPort, ClusterTransportPort } from '../../core/clusters/ports.ts'
import { ComputeResponsePort } from '../../core/clusters/proxy/ports.ts'
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
    computeResponse: ComputeResponsePort,
    connections: ClusterConnectionsPort,
    transport: ClusterTransportPort,
  },
  routes: (given) => {
    const relay = makeProxyRequest(given)
    const upgrade = makeProxyUpgrade(given)
    return [
      handleStream(proxyRoute, {
        handler: (input) => relay(input.call, inputOf(input)),
        upgrade: (input) => upgrade(input.call, inputOf(input)),
      }),
    ]
  },
})
