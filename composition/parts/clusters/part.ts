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
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { clusterObjectRows } from '../../../adapters/sql/clusters/rows.ts'
import { makeSqlClusterStore } from '../../../adapters/sql/clusters/cluster-store.ts'
import type { SqlRunner } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlTaskChanges } from '../../../adapters/sql/tasks/task-store.ts'
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { AuthorizerToken } from '../../../core/authz/ports.ts'
import { makeHubs, makeOwnSpokes } from '../../../core/clusters/hubs/hubs.ts'
import { HubsToken, OwnSpokesPort } from '../../../core/clusters/hubs/ports.ts'
import { makeClustersAsCaller, makeMemberClusters } from '../../../core/clusters/member-clusters.ts'
import { withImportWatcher } from '../../../core/clusters/imports.ts'
import type { ClusterImportWatcher } from '../../../core/clusters/ports.ts'
import { makeClusterConnections, makeClusterSurveyor, makeSealCredential } from '../../../core/clusters/connections.ts'
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
  MemberTokensPort,
  ClustersAsCallerToken,
  CredentialCodecToken,
  CredentialSealerToken,
  KubeconfigParserToken,
  MemberClustersToken,
  PublicAddressToken,
} from '../../../core/clusters/ports.ts'
import { CachesToken } from '../../../core/kernel/cache.ts'
import { PauseToken } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { OwnAddress } from '../../../core/kernel/principal.ts'
import { EntropyToken } from '../../../core/kernel/secret.ts'
import { operatorCall } from '../../part/operator.ts'
import { optional, token } from '../../../core/kernel/token.ts'
import type { AuditTrail } from '../../../core/kernel/unit-of-work.ts'
import type { Boot } from '../../part/boot.ts'
import { withDefault } from '../../part/setting.ts'
import { listOf, wordOf } from '../../part/setting-type.ts'
import { makeClusterTasks } from '../../../core/cluster-tasks/cluster-tasks.ts'
import { ClusterTasksToken } from '../../../core/cluster-tasks/ports.ts'
import type { PortOf } from '../../../core/kernel/token.ts'
import type { SpanAttributes } from '../../../core/platform/ports.ts'
import { TasksToken } from '../../../core/tasks/ports.ts'
import { clustersPlugin } from '../../../plugins/clusters/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { ClusterAnswersToken, clusterGauges, countedApi, countedTransport, makeClusterAnswers } from './answers.ts'

const ClusterEgressToken = token<EgressPolicy>('clusters.Egress')
const ConnectionPoolsToken = token<ConnectionPools>('clusters.ConnectionPools')
const JsonReaderToken = token<JsonReader>('clusters.JsonReader')
const ClusterReadsToken = token<ClusterReads>('clusters.Reads')
/** What every connection to a cluster is made of. */
const wires = { pools: ConnectionPoolsToken, egress: ClusterEgressToken, reads: ClusterReadsToken }

/** Binds what takes part in imports of clusters to their transaction. */
export const BindImportWatcherToken =
  token<(tx: SqlRunner, audit: AuditTrail) => ClusterImportWatcher>('clusters.BindImportWatcher')

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

/** Clusters and the connections to them. */
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

export const part = definePart({
  plugin: clustersPlugin,
  spans: [
    spansOf(ClusterApiToken, {
      request: { name: 'cluster request', ...clusterSpan },
      survey: { name: 'cluster survey', kind: 'client' },
    }),
    spansOf(ClusterTransportToken, {
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
    const [unitOfWork, entropy] = [container.resolve(ClusterUnitOfWorkToken), container.resolve(EntropyToken)]
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
    const ofChanges = { chain: AuditChainToken, watcher: optional(BindImportWatcherToken) }
    /** The records of a transaction. What is imported in it is reported in it. */
    const records = (tx: SqlRunner, audit: AuditTrail, watcher: PortOf<typeof ofChanges.watcher>) =>
      watcher === undefined ? store()(tx) : withImportWatcher(store()(tx), watcher(tx, audit))
    return [
      bind(ClusterEgressToken, {}, () =>
        makeEgressPolicy(new Set(settings.kubernetesAllow), boot.resolver.lookup, allow),
      ),
      bind(
        ConnectionPoolsToken,
        { egress: ClusterEgressToken },
        ({ egress }) => makeConnectionPools(egress),
        (pools) => pools.close(),
      ),
      bind(
        JsonReaderToken,
        {},
        () => {
          const json = makeJsonReader()
          boot.pools.watch('json', json.load)
          return json
        },
        (json) => json.close(),
      ),
      bind(ClusterReadsToken, { json: JsonReaderToken }, ({ json }) => ({
        budgets: boot.readings,
        json,
        report: (problem) => boot.log.info({ ...problem }, 'a cluster cannot be reached'),
        traceHeaders: boot.tracing.headers,
      })),
      bind(PublicAddressToken, {}, () => ({ kubernetesUrl: ({ ownAddress }) => kubernetesAddress(boot, ownAddress) })),
      bind(CredentialCodecToken, {}, () => jsonCredentialCodec),
      bind(KubeconfigParserToken, {}, () => makeKubeconfigParser()),
      bind(ClusterAddressesToken, { egress: ClusterEgressToken }, ({ egress }) => ({
        check: ({ server }) => {
          const refused = egress.refusal(new URL(server))
          return refused === undefined ? right(undefined) : left(AddressRefused(refused))
        },
      })),
      bind(ClusterAnswersToken, {}, () => makeClusterAnswers()),
      bind(ClusterApiToken, { ...wires, answers: ClusterAnswersToken }, ({ pools, egress, reads, answers }) =>
        countedApi(makeUndiciClusterApi(pools, egress, reads), answers),
      ),
      bind(ClusterTransportToken, { ...wires, answers: ClusterAnswersToken }, ({ pools, egress, reads, answers }) =>
        countedTransport(makeUndiciClusterTransport(pools, egress, reads), answers),
      ),
      bind(ClusterStoreToken, {}, () => store()(database)),
      bind(
        ClusterConnectionsToken,
        {
          clusters: ClusterStoreToken,
          codec: CredentialCodecToken,
          caches: CachesToken,
          memberTokens: optional(MemberTokensPort),
        },
        ({ clusters, codec, caches, memberTokens }) =>
          makeClusterConnections({ clusters, secretBox: boot.secretBox, codec, caches, memberTokens }),
      ),
      bind(CredentialSealerToken, { codec: CredentialCodecToken, entropy: EntropyToken }, ({ codec, entropy }) =>
        makeSealCredential({ secretBox: boot.secretBox, codec, entropy }),
      ),
      bind(ClusterSurveyorToken, { connections: ClusterConnectionsToken, api: ClusterApiToken }, makeClusterSurveyor),
      bind(
        ClustersAsCallerToken,
        {
          clusters: ClusterStoreToken,
          connections: ClusterConnectionsToken,
          authorizer: AuthorizerToken,
          api: ClusterApiToken,
        },
        makeClustersAsCaller,
      ),
      bind(
        MemberClustersToken,
        {
          clusters: ClusterStoreToken,
          connections: ClusterConnectionsToken,
          api: ClusterApiToken,
          transport: ClusterTransportToken,
        },
        makeMemberClusters,
      ),
      bind(OwnSpokesPort, { api: ClusterApiToken, pause: PauseToken, entropy: EntropyToken }, makeOwnSpokes),
      bind(
        HubsToken,
        { connections: ClusterConnectionsToken, api: ClusterApiToken, pause: PauseToken, entropy: EntropyToken },
        makeHubs,
      ),

      bind(ClusterTaskUnitOfWorkToken, ofChanges, ({ chain, watcher }) =>
        makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ clusters: records(tx, audit, watcher), tasks: taskChanges()(tx), audit }),
          makeSqlAuditTrail(database, chain),
        ),
      ),
      bind(ClusterUnitOfWorkToken, ofChanges, ({ chain, watcher }) =>
        makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ clusters: records(tx, audit, watcher), audit }),
          makeSqlAuditTrail(database, chain),
        ),
      ),
      bind(
        ClusterTasksToken,
        { tasks: TasksToken, authorizer: AuthorizerToken, memberClusters: MemberClustersToken, pause: PauseToken },
        makeClusterTasks,
      ),
    ]
  },
})
