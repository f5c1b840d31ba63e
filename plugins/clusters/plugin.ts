import { AuthorizerToken } from '../../core/authz/ports.ts'
import { makeChangeCluster, makeListUserClusters, makeRemoveCluster, makeStillAllowed } from '../../core/clusters/clusters.ts'
import { makeCheckCluster, makeValidateImport, makeImportCluster } from '../../core/clusters/imports.ts'
import { makeIdentify, makeSealCredential, makeClusterConnections } from '../../core/clusters/connections.ts'
import {
  ClusterApiToken,
  ClusterStoreToken,
  ClusterTransportToken,
  ClusterUnitOfWorkToken,
  CredentialCodecToken,
  KubeconfigParserToken,
  PublicAddressToken,
} from '../../core/clusters/ports.ts'
import { makeProxyRequest, makeProxyUpgrade } from '../../core/clusters/proxy/requests.ts'
import { makeRefreshStatus } from '../../core/clusters/status.ts'
import { makeAnswerWiderForm } from '../../core/clusters/proxy/computed-responses.ts'
import { ClusterTokensToken } from '../../core/identity/tokens/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { definePlugin } from '../kit/plugin.ts'
import { clusterAdminRoutes, clusterHandlers } from './clusters.handlers.ts'
import { clusterPermissions, clusterObjectTypes } from './relations.ts'
import { proxyRoutes } from './proxy.routes.ts'

export const clustersPlugin = definePlugin({
  id: 'clusters',
  summary: 'Imported clusters and access to their Kubernetes API',
  listener: 'api',
  gate: 'always',
  needs: {
    address: PublicAddressToken,
    api: ClusterApiToken,
    authorizer: AuthorizerToken,
    caches: CachesToken,
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
