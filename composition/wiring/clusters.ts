import { left, right } from 'fp-ts/lib/Either.js'
import { jsonCredentialCodec, makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import type { ClusterReads } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connections.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeJsonReader } from '../../adapters/outbound/json-reader.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { clusterObjectRows } from '../../adapters/sql/clusters/rows.ts'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlTaskChanges } from '../../adapters/sql/tasks/task-store.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { AuthorizerToken } from '../../core/authz/ports.ts'
import { makeHubs } from '../../core/clusters/hubs/hubs.ts'
import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { makeClustersAsCaller, makeMemberClusters } from '../../core/clusters/member-clusters.ts'
import { withImportWatcher } from '../../core/clusters/imports.ts'
import type { ClusterImportWatcher } from '../../core/clusters/ports.ts'
import { makeClusterConnections, makeClusterSurveyor, makeSealCredential } from '../../core/clusters/connections.ts'
import {
  AddressRefused,
  ClusterAddressesToken,
  ClusterApiToken,
  ClusterConnectionsToken,
  ClusterStoreToken,
  ClusterSurveyorToken,
  ClusterTaskUnitOfWorkToken,
  ClusterTransportToken,
  ClusterUnitOfWorkToken,
  ClustersAsCallerToken,
  CredentialCodecToken,
  CredentialSealerToken,
  KubeconfigParserToken,
  MemberClustersToken,
  PublicAddressToken,
} from '../../core/clusters/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { PauseToken } from '../../core/kernel/clock.ts'
import type { OwnAddress } from '../../core/kernel/principal.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { token } from '../../core/kernel/token.ts'
import type { AuditTrail } from '../../core/kernel/unit-of-work.ts'
import type { Boot, Provide } from '../boot.ts'
import type { Resolve } from '../container.ts'

/** Binds what takes part in imports of clusters to their transaction. */
export const BindImportWatcherToken =
  token<(tx: SqlRunner, audit: AuditTrail) => ClusterImportWatcher>('clusters.BindImportWatcher')

/** Provides clusters and the connections to them. */
export const provideClusters: Provide = (container, boot) => {
  const { database, settings } = boot
  boot.objectRows.add(...clusterObjectRows)
  const bindStore = makeSqlClusterStore(database)
  const egress = makeEgressPolicy(new Set(settings.kubernetesAllow), boot.resolver.lookup)
  const pools = makeConnectionPools(egress)
  const json = makeJsonReader()
  const reads: ClusterReads = {
    budgets: boot.readings,
    json,
    report: (problem) => boot.log.info({ ...problem }, 'a cluster cannot be reached'),
  }
  boot.onStop('connections to clusters', async () => {
    await pools.close()
    await json.close()
  })
  container.provideValue(PublicAddressToken, { kubernetesUrl: ({ ownAddress }) => kubernetesAddress(boot, ownAddress) })
  container.provideValue(CredentialCodecToken, jsonCredentialCodec)
  container.provideValue(KubeconfigParserToken, makeKubeconfigParser())
  container.provideValue(ClusterAddressesToken, {
    check: ({ server }) => {
      const refused = egress.refusal(new URL(server))
      return refused === undefined ? right(undefined) : left(AddressRefused(refused))
    },
  })
  container.provide(ClusterApiToken, () => makeUndiciClusterApi(pools, egress, reads))
  container.provide(ClusterTransportToken, () => makeUndiciClusterTransport(pools, egress, reads))
  container.provide(ClusterStoreToken, () => bindStore(database))
  container.provide(ClusterConnectionsToken, (resolve) =>
    makeClusterConnections({
      clusters: resolve(ClusterStoreToken),
      secretBox: boot.secretBox,
      codec: resolve(CredentialCodecToken),
      caches: resolve(CachesToken),
    }),
  )
  container.provide(CredentialSealerToken, (resolve) =>
    makeSealCredential({
      secretBox: boot.secretBox,
      codec: resolve(CredentialCodecToken),
      entropy: resolve(EntropyToken),
    }),
  )
  container.provide(ClusterSurveyorToken, (resolve) =>
    makeClusterSurveyor({ connections: resolve(ClusterConnectionsToken), api: resolve(ClusterApiToken) }),
  )
  container.provide(ClustersAsCallerToken, (resolve) =>
    makeClustersAsCaller({
      clusters: resolve(ClusterStoreToken),
      connections: resolve(ClusterConnectionsToken),
      authorizer: resolve(AuthorizerToken),
      api: resolve(ClusterApiToken),
    }),
  )
  container.provide(MemberClustersToken, (resolve) =>
    makeMemberClusters({
      clusters: resolve(ClusterStoreToken),
      connections: resolve(ClusterConnectionsToken),
      api: resolve(ClusterApiToken),
      transport: resolve(ClusterTransportToken),
    }),
  )
  container.provide(HubsToken, (resolve) =>
    makeHubs({
      connections: resolve(ClusterConnectionsToken),
      api: resolve(ClusterApiToken),
      pause: resolve(PauseToken),
      entropy: resolve(EntropyToken),
    }),
  )
  const taskChanges = makeSqlTaskChanges(database, boot.instanceId)
  /** The records of a transaction. What is imported in it is reported in it. */
  const changedRecords = (resolve: Resolve) => (tx: SqlRunner, audit: AuditTrail) =>
    withImportWatcher(bindStore(tx), resolve(BindImportWatcherToken)(tx, audit))
  container.provide(ClusterTaskUnitOfWorkToken, (resolve) => {
    const records = changedRecords(resolve)
    return makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ clusters: records(tx, audit), tasks: taskChanges(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
  })
  container.provide(ClusterUnitOfWorkToken, (resolve) => {
    const records = changedRecords(resolve)
    return makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ clusters: records(tx, audit), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
  })
}

/**
 * Returns the address that the caller uses, over https where the port speaks it: kubectl sends its token over no other
 * protocol. A proxy before the service has its own certificate, which this service does not hand out.
 */
const kubernetesAddress = (
  boot: Boot,
  ownAddress: OwnAddress | undefined,
): { readonly url: string; readonly caPem: string | undefined } => {
  const { url, isDirect } = ownAddress ?? { url: boot.baseUrl(), isDirect: !boot.baseUrl().startsWith('https:') }
  if (boot.tls === undefined || !isDirect) return { url, caPem: undefined }
  return { url: byHttps(url), caPem: boot.tls.isSelfSigned ? boot.tls.certificatePem : undefined }
}

/** Returns the same port over https. The port must be written when it is the default of http. */
const byHttps = (url: string): string => {
  const { protocol, hostname, port } = new URL(url)
  return protocol === 'https:' ? url : `https://${hostname}:${port === '' ? '80' : port}`
}
