import { makeTokenReviews } from '../../../adapters/kubernetes/token-reviews.ts'
import { WorkloadClustersPort } from '../../../core/authorization-server/workloads/ports.ts'
import { clustersMigrations } from '../../../adapters/sql/clusters/migrations.ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { jsonCredentialCodec, makeKubeconfigParser } from '../../../adapters/kubernetes/kubeconfig.ts'
import type { ClusterReads } from '../../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterApi } from '../../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../../adapters/kubernetes/cluster-transport.ts'
import type { ConnectionPools } from '../../../adapters/kubernetes/connections.ts'
import { makeConnectionPools } from '../../../adapters/kubernetes/connections.ts'
import type { EgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import type { JsonReader } from '../../../adapters/outbound/json-reader.ts'
import { makeJsonReader } from '../../../adapters/outbound/json-reader.ts'
import { clusterObjectRows } from '../../../adapters/sql/clusters/rows.ts'
import { makeSqlClusterStore } from '../../../adapters/sql/clusters/cluster-store.ts'
import type { SqlRunner } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlTaskChanges } from '../../../adapters/sql/tasks/task-store.ts'
import { AuthorizerPort } from '../../../core/authz/ports.ts'
import { makeHubs, makeOwnSpokes } from '../../../core/clusters/hubs/hubs.ts'
import { HubsPort, OwnSpokesPort } from '../../../core/clusters/hubs/ports.ts'
import { makeClustersAsCaller, makeMemberClusters } from '../../../core/clusters/member-clusters.ts'
import { withImportWatcher } from '../../../core/clusters/imports.ts'
import type { ClusterImportWatcher } from '../../../core/clusters/ports.ts'
import { makeClusterConnections, makeClusterSurveyor, makeSealCredential } from '../../../core/clusters/connections.ts'
import {
  AddressRefused,
  ClusterAddressesPort,
  ClusterApiPort,
  ClusterConnectionsPort,
  ClusterStorePort,
  ClusterSurveyorPort,
  ClusterTaskUnitOfWorkPort,
  ClusterTransportPort,
  ClusterUnitOfWorkPort,
  MemberTokensPort,
  ClustersAsCallerPort,
  CredentialCodecPort,
  CredentialSealerPort,
  KubeconfigParserPort,
  MemberClustersPort,
  PublicAddressPort,
} from '../../../core/clusters/ports.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { PausePort } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { OwnAddress } from '../../../core/kernel/principal.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { operatorCall } from '../../part/operator.ts'
import { optional, portKey } from '../../../core/kernel/port-key.ts'
import type { AuditTrail } from '../../../core/kernel/unit-of-work.ts'
import type { Boot } from '../../part/boot.ts'
import { withDefault } from '../../part/setting.ts'
import { listOf, wordOf } from '../../part/setting-type.ts'
import { makeClusterTasks } from '../../../core/cluster-tasks/cluster-tasks.ts'
import { ClusterTasksPort } from '../../../core/cluster-tasks/ports.ts'
import type { PortOf } from '../../../core/kernel/port-key.ts'
import type { SpanAttributes } from '../../../core/platform/ports.ts'
import { TasksPort } from '../../../core/tasks/ports.ts'
import { clustersPlugin } from '../../../plugins/clusters/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
import { makeComputeResponse } from '../../../adapters/kubernetes/computed-responses.ts'
import { ComputeResponsePort } from '../../../core/clusters/proxy/ports.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { ClusterAnswersPort, clusterGauges, countedApi, countedTransport, makeClusterAnswers } from './answers.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

const ClusterEgressPort = portKey<EgressPolicy>('clusters.Egress')
const ConnectionPoolsPort = portKey<ConnectionPools>('clusters.ConnectionPools')
const JsonReaderPort = portKey<JsonReader>('clusters.JsonReader')
const ClusterReadsPort = portKey<ClusterReads>('clusters.Reads')
/** What every connection to a cluster is made of. */
const wires = { pools: ConnectionPoolsPort, egress: ClusterEgressPort, reads: ClusterReadsPort }

/** Binds what takes part in imports of clusters to their transaction. */
export const BindImportWatcherPort =
  portKey<(tx: SqlRunner, audit: AuditTrail) => ClusterImportWatcher>('clusters.BindImportWatcher')

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

/** A refused address names the setting. */
const allow = 'MOORAGE_KUBERNETES_ALLOW'

/** A record without a credential: no connection is made to its cluster. */
const demoRecord = {
  externalId: '',
  provider: 'Generic',
  vendor: '',
  endpoint: 'https://192.0.2.1',
  location: '',
  project: '',
  kubernetesVersion: 'v1.34.2',
  nodeCount: 3,
  managers: [],
  hubClusterUid: '',
  managedClusterName: '',
  infraNamespace: '',
  status: { phase: 'Active', reason: undefined, message: '' },
  impersonatesUsers: false,
  checkedAt: undefined,
  importedBy: undefined,
  sealedCredential: undefined,
} as const

const toCluster = ([connection]: readonly unknown[]): SpanAttributes => ({
  'moorage.cluster_id': (connection as { readonly link: { readonly id: number } }).link.id,
  'moorage.upstream': 'cluster',
})

interface WithHeaders {
  readonly headers?: readonly (readonly [string, string])[]
}

const traceHeaders: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** The caller's own headers continued its trace up to here. */
const inSecond = (args: readonly unknown[], headers: Readonly<Record<string, string>>): readonly unknown[] => {
  const [first, second, ...rest] = args
  const sent = second as WithHeaders
  const others = (sent.headers ?? []).filter(([name]) => !traceHeaders.has(name.toLowerCase()))
  return [first, { ...sent, headers: [...others, ...Object.entries(headers)] }, ...rest]
}

/** What spans of requests to a cluster have in common. */
const clusterSpan = { kind: 'client', attributes: toCluster, passOn: inSecond } as const

/** Clusters and the connections to them. */
export const part = definePart({
  plugin: clustersPlugin,
  spans: [
    spansOf(ClusterApiPort, {
      request: { name: 'cluster request', ...clusterSpan },
      survey: { name: 'cluster survey', kind: 'client' },
    }),
    spansOf(ClusterTransportPort, {
      relay: { name: 'cluster relay', ...clusterSpan },
      tunnel: { name: 'cluster tunnel', ...clusterSpan },
    }),
  ],
  migrations: clustersMigrations,
  settings: {
    kubernetesAllow: withDefault(
      allow,
      listOf(wordOf('public', 'private', 'loopback')),
      'public,private',
      "Where a cluster's API server may live: public, private, loopback. With private, any account can make " +
        'this service connect to the private ranges that it reaches.',
      { after: 'MOORAGE_HELM' },
    ),
  },
  objectRows: clusterObjectRows,
  metrics: [clusterGauges],
  tags: [
    {
      name: 'Cluster Management v1',
      description: 'Clusters under /clusters/{owner}/{cluster}.',
      after: 'Helm',
    },
    { name: 'Cluster Management v2', description: 'Import, list, check, reconfigure and remove clusters.' },
    {
      name: 'Kubernetes Proxy',
      description: 'Requests to a cluster through the proxy; bodies are objects of the orchestrator.',
    },
  ],
  async demo({ customers, container, idOf, now, tell }) {
    const [unitOfWork, entropy] = [container.resolve(ClusterUnitOfWorkPort), container.resolve(EntropyPort)]
    for (const { name: owner, clusters } of customers) {
      const ownerId = (await idOf(owner)) as AccountId
      for (const { name, displayName, uid } of clusters) {
        tell(`cluster ${owner}/${name}`)
        const record = { ...demoRecord, ownerId, name, displayName, uid, ref: entropy.uuid(), createdAt: now }
        const inserted = await unitOfWork.run(operatorCall('demo.seed'), ({ clusters: store }) => store.insert(record))
        if (isLeft(inserted)) throw new Error(inserted.left.message)
      }
    }
  },
  provide(boot) {
    const { database, settings } = boot
    const store = lazily(() => makeSqlClusterStore(database))
    const taskChanges = lazily(() => makeSqlTaskChanges(database, boot.instanceId))
    const ofChanges = { watcher: optional(BindImportWatcherPort) }
    /** The records of a transaction. What is imported in it is reported in it. */
    const records = (tx: SqlRunner, audit: AuditTrail, watcher: PortOf<typeof ofChanges.watcher>) =>
      watcher === undefined ? store()(tx) : withImportWatcher(store()(tx), watcher(tx, audit))
    return [
      bind(ClusterEgressPort, {}, () =>
        makeEgressPolicy(new Set(settings.kubernetesAllow), boot.resolver.lookup, allow),
      ),
      bind(
        ConnectionPoolsPort,
        { egress: ClusterEgressPort },
        ({ egress }) => makeConnectionPools(egress),
        (pools) => pools.close(),
      ),
      bind(
        JsonReaderPort,
        {},
        () => {
          const json = makeJsonReader()
          boot.pools.watch('json', json.load)
          return json
        },
        (json) => json.close(),
      ),
      bind(ClusterReadsPort, { json: JsonReaderPort }, ({ json }) => ({
        budgets: boot.readings,
        json,
        report: (problem) => boot.log.info({ ...problem }, 'a cluster cannot be reached'),
        traceHeaders: boot.tracing.headers,
      })),
      bind(PublicAddressPort, {}, () => ({ kubernetesUrl: ({ ownAddress }) => kubernetesAddress(boot, ownAddress) })),
      bind(CredentialCodecPort, {}, () => jsonCredentialCodec),
      bind(KubeconfigParserPort, {}, () => makeKubeconfigParser()),
      bind(ClusterAddressesPort, { egress: ClusterEgressPort }, ({ egress }) => ({
        check: ({ server }) => {
          const refused = egress.refusal(new URL(server))
          return refused === undefined ? right(undefined) : left(AddressRefused(refused))
        },
      })),
      bind(ClusterAnswersPort, {}, () => makeClusterAnswers()),
      bind(ClusterApiPort, { ...wires, answers: ClusterAnswersPort }, ({ pools, egress, reads, answers }) =>
        countedApi(makeUndiciClusterApi(pools, egress, reads), answers),
      ),
      bind(ClusterTransportPort, { ...wires, answers: ClusterAnswersPort }, ({ pools, egress, reads, answers }) =>
        countedTransport(makeUndiciClusterTransport(pools, egress, reads), answers),
      ),
      bind(ClusterStorePort, {}, () => store()(database)),
      bind(
        ClusterConnectionsPort,
        {
          clusters: ClusterStorePort,
          codec: CredentialCodecPort,
          caches: CachesPort,
          memberTokens: optional(MemberTokensPort),
        },
        ({ clusters, codec, caches, memberTokens }) =>
          makeClusterConnections({ clusters, secretBox: boot.secretBox, codec, caches, memberTokens }),
      ),
      bind(CredentialSealerPort, { codec: CredentialCodecPort, entropy: EntropyPort }, ({ codec, entropy }) =>
        makeSealCredential({ secretBox: boot.secretBox, codec, entropy }),
      ),
      bind(
        WorkloadClustersPort,
        { clusters: ClusterStorePort, connections: ClusterConnectionsPort, api: ClusterApiPort },
        makeTokenReviews,
      ),
      bind(ClusterSurveyorPort, { connections: ClusterConnectionsPort, api: ClusterApiPort }, makeClusterSurveyor),
      bind(
        ClustersAsCallerPort,
        {
          clusters: ClusterStorePort,
          connections: ClusterConnectionsPort,
          authorizer: AuthorizerPort,
          api: ClusterApiPort,
        },
        makeClustersAsCaller,
      ),
      bind(
        MemberClustersPort,
        {
          clusters: ClusterStorePort,
          connections: ClusterConnectionsPort,
          api: ClusterApiPort,
          transport: ClusterTransportPort,
        },
        makeMemberClusters,
      ),
      bind(ComputeResponsePort, { api: ClusterApiPort }, makeComputeResponse),
      bind(OwnSpokesPort, { api: ClusterApiPort, pause: PausePort, entropy: EntropyPort }, makeOwnSpokes),
      bind(
        HubsPort,
        { connections: ClusterConnectionsPort, api: ClusterApiPort, pause: PausePort, entropy: EntropyPort },
        makeHubs,
      ),

      bindUnitOfWork(
        database,
        ClusterTaskUnitOfWorkPort,
        ({ watcher }) =>
          (tx, audit) => ({ clusters: records(tx, audit, watcher), tasks: taskChanges()(tx) }),
        ofChanges,
      ),
      bindUnitOfWork(
        database,
        ClusterUnitOfWorkPort,
        ({ watcher }) =>
          (tx, audit) => ({ clusters: records(tx, audit, watcher) }),
        ofChanges,
      ),
      bind(
        ClusterTasksPort,
        { tasks: TasksPort, authorizer: AuthorizerPort, memberClusters: MemberClustersPort, pause: PausePort },
        makeClusterTasks,
      ),
    ]
  },
})
