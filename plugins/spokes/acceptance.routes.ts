import { hubChangeFailures } from '../../core/clusters/hubs/ports.ts'
import { SpokesNotAccepted } from '../../core/spokes/acceptance.ts'
import { BootstrapMissing } from '../../core/spokes/bootstrap-access.ts'
import { JoinCommandRefused } from '../../core/spokes/join-command.ts'
import { ClusterPath, hubInPath } from '../clusters/codecs.ts'
import { requires } from '../kit/access.ts'
import { empty, json } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { AcceptOptions, ClusterOptions, InstallerQuery, SpokeCommand } from './codecs.ts'

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterPath, failures: hubChangeFailures })

export const acceptSpokes = route({
  id: 'spokes.acceptSpokes',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/accept-spoke',
  summary: 'Accept clusters that ask to join a hub',
  description:
    'Approves the certificate requests of the agents of each cluster, and accepts it. A request is approved if its subject is an agent ' +
    'of the cluster and it was sent with a bootstrap identity of the hub; `skipApproveCheck` omits only the second check. If several ' +
    'agents ask to join with one name, `requesters` names the common names to approve. Clusters that cannot be accepted are 422 with ' +
    'the reason of each in `errors`; the others of the request are accepted all the same. Accepting a spoke again succeeds.',
  access: requires('can_accept_spokes', hubInPath),
  body: body(AcceptOptions, { clusters: ['shop-fra'], skipApproveCheck: false, requesters: ['system:open-cluster-management:shop-fra:67b75'] }),
  ok: empty(200),
  failures: [SpokesNotAccepted],
})

export const getJoinCommand = route({
  id: 'spokes.getJoinCommand',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/spoke-command',
  summary: 'Get the command with which a cluster asks to join a hub',
  description:
    'Run it in a POSIX shell with kubectl connected to the cluster. It contains a new token that is valid for one hour and can only ask ' +
    'to join. `hubCluster…` must be the hub in the path, as far as it is stated. `hostCluster…` describes the host of a virtual cluster; ' +
    'it becomes annotations of the ManagedCluster. `installer` is `clusteradm` (the default) or `helm`.',
  access: requires('can_import_spokes', hubInPath),
  query: InstallerQuery,
  body: body(ClusterOptions, { clusterName: 'shop-fra' }),
  ok: json(200, SpokeCommand, { spoke: 'clusteradm join --hub-token eyJh… --hub-apiserver https://hub.example.com:6443 --cluster-name shop-fra' }),
  failures: [BootstrapMissing, JoinCommandRefused],
})

export const syncAccounts = route({
  id: 'spokes.syncAccounts',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/sync-accounts',
  summary: 'Write the accounts of the members to a hub',
  description:
    'Each person who is a member of the account has an Account on the hub, named by id, with login and teams. Accounts of former members ' +
    'are removed. Accounts of other origin are not changed: if one has the name of a member’s, the response is 409 with the names in `errors`.',
  access: requires('can_sync_accounts', hubInPath),
  ok: empty(200),
})
