import { AuthorizerToken } from '../../core/authz/ports.ts'
import { makeChangeCluster } from '../../core/clusters/change-cluster.ts'
import { makeCheckCluster, makeValidateImport } from '../../core/clusters/check-cluster.ts'
import { makeIdentify, makeSealCredential } from '../../core/clusters/identify.ts'
import { makeImportCluster } from '../../core/clusters/import-cluster.ts'
import { makeListUserClusters } from '../../core/clusters/list-clusters.ts'
import { makeClusterConnections } from '../../core/clusters/open-connection.ts'
import {
  ClusterApiToken,
  ClusterStoreToken,
  ClusterTransportToken,
  ClusterUnitOfWorkToken,
  CredentialCodecToken,
  KubeconfigParserToken,
  PublicAddressToken,
} from '../../core/clusters/ports.ts'
import { makeProxyRequest, makeProxyUpgrade } from '../../core/clusters/proxy-request.ts'
import { makeRefreshStatus } from '../../core/clusters/refresh-status.ts'
import { makeRemoveCluster } from '../../core/clusters/remove-cluster.ts'
import { makeStillAllowed } from '../../core/clusters/still-allowed.ts'
import { makeAnswerWiderForm } from '../../core/clusters/wider-forms.ts'
import { ClusterTokensToken } from '../../core/identity/tokens/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { definePlugin } from '../kit/plugin.ts'
import { clusterAdminRoutes } from './admin.handlers.ts'
import { clusterHandlers } from './clusters.handlers.ts'
import { clusterPermissions } from './permissions.ts'
import { proxyRoutes } from './proxy.routes.ts'
import { clusterObjectTypes } from './relations.ts'

export const clustersPlugin = definePlugin({
  id: 'clusters',
  summary: 'Imported clusters and the way to their Kubernetes API',
  listener: 'api',
  gate: 'always',
  needs: {
    address: PublicAddressToken,
    api: ClusterApiToken,
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    clusterTokens: ClusterTokensToken,
    codec: CredentialCodecToken,
    entropy: EntropyToken,
    parser: KubeconfigParserToken,
    secretBox: SecretBoxToken,
    transport: ClusterTransportToken,
    unitOfWork: ClusterUnitOfWorkToken,
  },
  permissions: clusterPermissions,
  objectTypes: clusterObjectTypes,
  routes: (given) => {
    const connections = makeClusterConnections(given)
    const deps = { ...given, connections, identify: makeIdentify(given), seal: makeSealCredential(given), stillAllowed: makeStillAllowed(given.authorizer) }
    const handlers = clusterHandlers({
      clusters: given.clusters,
      clock: given.clock,
      clusterTokens: given.clusterTokens,
      kubernetesUrl: given.address.kubernetesUrl,
      check: makeCheckCluster(deps),
      validate: makeValidateImport(deps),
      importOne: makeImportCluster(deps),
      change: makeChangeCluster(deps),
      remove: makeRemoveCluster(deps),
      refresh: makeRefreshStatus(deps),
      listOfUser: makeListUserClusters(deps),
    })
    const answerWiderForm = makeAnswerWiderForm({ api: given.api })
    return [...handlers, ...clusterAdminRoutes(given), ...proxyRoutes(makeProxyRequest({ ...deps, answerWiderForm }), makeProxyUpgrade(deps))]
  },
})
