import type * as t from 'io-ts'
import { ClusterInfoReaderToken, HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterConnectionsToken, ClusterStoreToken, ClusterUnitOfWorkToken } from '../../core/clusters/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { makeAcceptSpokes } from '../../core/spokes/acceptance.ts'
import { makeSyncAccounts } from '../../core/spokes/accounts.ts'
import type { StatedCluster } from '../../core/spokes/join-command.ts'
import { makeGetJoinCommand } from '../../core/spokes/join-command.ts'
import { CertificateRequestReaderToken, HubMembersToken } from '../../core/spokes/ports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { acceptSpokes, getJoinCommand, syncAccounts } from './acceptance.routes.ts'
import type { ClusterOptions } from './codecs.ts'

/** Clients send an empty text, or 0, for what they do not state. */
const stated = (name: string | undefined, uid: string | undefined, ownerId: number | undefined): StatedCluster => ({
  name: name === '' ? undefined : name,
  uid: uid === '' ? undefined : uid,
  ownerId: ownerId === 0 ? undefined : ownerId,
})
const clustersOf = (options: t.TypeOf<typeof ClusterOptions>): { readonly hub: StatedCluster; readonly host: StatedCluster } => ({
  hub: stated(options.hubClusterName, options.hubClusterUID, options.hubClusterOwnerID),
  host: stated(options.hostClusterName, options.hostClusterUID, options.hostClusterOwnerID),
})

export const acceptanceGroup = defineGroup({
  needs: {
    clock: ClockToken,
    clusterInfo: ClusterInfoReaderToken,
    clusters: ClusterStoreToken,
    connections: ClusterConnectionsToken,
    hubs: HubsToken,
    members: HubMembersToken,
    requests: CertificateRequestReaderToken,
    unitOfWork: ClusterUnitOfWorkToken,
  },
  routes: (given) => [
    handle(acceptSpokes, makeAcceptSpokes(given), {
      input: ({ grant, body: { clusters, skipApproveCheck = false, requesters = [] } }) => ({ grant, clusters, skipsApproveCheck: skipApproveCheck, requesters }),
    }),
    handle(getJoinCommand, makeGetJoinCommand(given), {
      input: ({ grant, query: { installer = 'clusteradm' }, body }) => ({ grant, installer, clusterName: body.clusterName, ...clustersOf(body) }),
      reply: (command) => ({ spoke: command.reveal() }),
    }),
    handle(syncAccounts, makeSyncAccounts(given), { input: ({ grant }) => grant }),
  ],
})
