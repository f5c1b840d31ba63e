import * as t from 'io-ts'
import type { NamespaceReport } from '../../core/usage/views/namespace-reports.ts'
import { answer, described, naming, noted, request, SafeInteger } from '../kit/codecs.ts'
import { Uid, apiGroup } from './view-codecs.ts'

export const NamespacePath = request(
  {
    clusterID: noted(naming(Uid, 'cluster', 'uid'), { description: 'The UID of the cluster.' }),
    namespaceName: described(naming(Uid, 'namespace', 'name'), 'The name of the namespace.'),
  },
  'UsageNamespacePath',
)

/** An instant in seconds since the epoch, UTC. */
const seconds = (meaning: string) => described(SafeInteger, `${meaning}, in seconds since the epoch, UTC.`)
const secondsOrNull = (meaning: string, otherwise: string) =>
  described(t.union([SafeInteger, t.null]), `${meaning}, in seconds since the epoch, UTC; null if ${otherwise}.`)
const size = (meaning: string) => described(t.string, `${meaning}, as a quantity of Kubernetes: \`10Gi\`.`)
const texts = t.record(t.string, t.string)

const PodFlavor = answer(
  {
    cpu: described(t.string, 'The CPU of one pod, as a quantity of Kubernetes: `500m`.'),
    memory: size('The memory of one pod'),
  },
  'PodFlavor',
)
const PodDetails = answer(
  {
    flavor: described(PodFlavor, 'What one pod occupies.'),
    count: described(SafeInteger, 'How many pods occupy that.'),
    age: described(SafeInteger, 'For how long they have done so, in seconds.'),
  },
  'PodDetails',
)
const VolumeExpansion = answer(
  { size: size('The size after the expansion'), at: seconds('When the volume was expanded') },
  'VolumeExpansion',
)
const VolumeDetails = answer(
  {
    name: described(t.string, 'The name of the volume.'),
    initialSize: size('The first size of the volume'),
    expansions: described(t.readonlyArray(VolumeExpansion), 'Its later sizes, in the order of time.'),
    createdAt: seconds('When the volume was created'),
    deletedAt: secondsOrNull('When the volume was deleted', 'it was not'),
  },
  'VolumeDetails',
)
const DatabaseInfo = answer(
  {
    kind: described(t.string, 'The kind of the database.'),
    group: apiGroup,
    product: described(t.string, 'The product that the database belongs to.'),
    name: described(t.string, 'The name of the database.'),
    uid: described(t.string, 'The UID of the database.'),
    createdAt: seconds('When the database was created'),
    deletedAt: secondsOrNull('When the database was deleted', 'it was not'),
  },
  'DatabaseInfo',
)
const DatabaseUsageReport = answer(
  {
    databaseInfo: described(DatabaseInfo, 'Which database it is.'),
    podDetails: described(t.readonlyArray(PodDetails), 'What its pods occupy.'),
    volumeDetails: described(t.readonlyArray(VolumeDetails), 'Its volumes, with their sizes over time.'),
  },
  'DatabaseUsageReport',
)
const ClusterInfo = answer(
  {
    uid: described(t.string, 'The UID of the cluster.'),
    name: described(t.string, 'The name of the record of the cluster; empty without one.'),
    kubernetesVersion: described(t.string, 'The version of Kubernetes; empty if it is not known.'),
    provider: described(t.string, 'The provider of the cluster; empty if it is not known.'),
    capacity: described(
      answer({ nodes: described(SafeInteger, 'How many nodes the cluster has.') }, 'ClusterCapacity'),
      'The size of the cluster.',
    ),
  },
  'ReportedClusterInfo',
)
const NamespaceInfo = answer(
  {
    name: described(t.string, 'The name of the namespace.'),
    uid: described(t.string, 'The UID of the namespace.'),
    labels: described(texts, 'The labels that were reported last.'),
    annotations: described(texts, 'The annotations that were reported last.'),
    createdAt: secondsOrNull('When the namespace was created', 'it was not reported'),
  },
  'ReportedNamespaceInfo',
)
export const NamespaceUsageReport: t.Type<NamespaceReport, unknown> = answer(
  {
    clusterInfo: described(ClusterInfo, 'The cluster of the namespace.'),
    namespaceInfo: described(NamespaceInfo, 'Which namespace it is.'),
    databases: described(t.readonlyArray(DatabaseUsageReport), 'The databases of the namespace.'),
  },
  'NamespaceUsageReport',
)
export const NamespaceUsageReports = answer(
  {
    generatedAt: seconds('When the reports were made'),
    items: described(t.readonlyArray(NamespaceUsageReport), 'One for each namespace with databases.'),
  },
  'NamespaceUsageReports',
)

export const namespaceExample = {
  clusterInfo: {
    uid: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44',
    name: 'production',
    kubernetesVersion: 'v1.35.0',
    provider: 'EKS',
    capacity: { nodes: 5 },
  },
  namespaceInfo: {
    name: 'shop',
    uid: '6f2e5a0c-7e54-4f0c-9a86-b8a10b7a54f5',
    labels: { team: 'shop' },
    annotations: {},
    createdAt: 1779262200,
  },
  databases: [
    {
      databaseInfo: {
        kind: 'Postgres',
        group: 'kubedb.com',
        product: 'dbProduct',
        name: 'orders',
        uid: '5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1',
        createdAt: 1779262200,
        deletedAt: null,
      },
      podDetails: [{ flavor: { cpu: '500m', memory: '2Gi' }, count: 3, age: 86400 }],
      volumeDetails: [
        {
          name: 'data-orders-0',
          initialSize: '10Gi',
          expansions: [{ size: '20Gi', at: 1781000000 }],
          createdAt: 1779262200,
          deletedAt: null,
        },
      ],
    },
  ],
}
