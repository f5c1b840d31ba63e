import * as t from 'io-ts'
import type { NamespaceReport } from '../../core/usage/views/namespace-report.ts'
import { answer, freeText, noted, request, SafeInteger } from '../kit/codecs.ts'

const Uid = freeText(253, 1)
export const NamespacePath = request({ clusterID: noted(Uid, { description: 'The UID of the cluster.' }), namespaceName: Uid }, 'UsageNamespacePath')

const seconds = noted(SafeInteger, { description: 'Seconds since the epoch, UTC.' })
const secondsOrNull = t.union([seconds, t.null])
const size = noted(t.string, { description: 'A quantity of Kubernetes: `10Gi`.' })
const texts = t.record(t.string, t.string)

const PodDetails = answer({ flavor: answer({ cpu: t.string, memory: size }, 'PodFlavor'), count: SafeInteger, age: noted(SafeInteger, { description: 'Seconds.' }) }, 'PodDetails')
const VolumeDetails = answer(
  { name: t.string, initialSize: size, expansions: t.readonlyArray(answer({ size, at: seconds }, 'VolumeExpansion')), createdAt: seconds, deletedAt: secondsOrNull },
  'VolumeDetails',
)
const DatabaseUsageReport = answer(
  {
    databaseInfo: answer({ kind: t.string, group: t.string, product: t.string, name: t.string, uid: t.string, createdAt: seconds, deletedAt: secondsOrNull }, 'DatabaseInfo'),
    podDetails: t.readonlyArray(PodDetails),
    volumeDetails: t.readonlyArray(VolumeDetails),
  },
  'DatabaseUsageReport',
)
export const NamespaceUsageReport: t.Type<NamespaceReport, unknown> = answer(
  {
    clusterInfo: answer({ uid: t.string, name: t.string, kubernetesVersion: t.string, provider: t.string, capacity: answer({ nodes: SafeInteger }, 'ClusterCapacity') }, 'ReportedClusterInfo'),
    namespaceInfo: answer({ name: t.string, uid: t.string, labels: texts, annotations: texts, createdAt: secondsOrNull }, 'ReportedNamespaceInfo'),
    databases: t.readonlyArray(DatabaseUsageReport),
  },
  'NamespaceUsageReport',
)
export const NamespaceUsageReports = answer({ generatedAt: seconds, items: t.readonlyArray(NamespaceUsageReport) }, 'NamespaceUsageReports')

export const namespaceExample = {
  clusterInfo: { uid: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44', name: 'production', kubernetesVersion: 'v1.35.0', provider: 'EKS', capacity: { nodes: 5 } },
  namespaceInfo: { name: 'shop', uid: '6f2e5a0c-7e54-4f0c-9a86-b8a10b7a54f5', labels: { team: 'shop' }, annotations: {}, createdAt: 1779262200 },
  databases: [
    {
      databaseInfo: { kind: 'Postgres', group: 'kubedb.com', product: 'dbProduct', name: 'orders', uid: '5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1', createdAt: 1779262200, deletedAt: null },
      podDetails: [{ flavor: { cpu: '500m', memory: '2Gi' }, count: 3, age: 86400 }],
      volumeDetails: [{ name: 'data-orders-0', initialSize: '10Gi', expansions: [{ size: '20Gi', at: 1781000000 }], createdAt: 1779262200, deletedAt: null }],
    },
  ],
}
