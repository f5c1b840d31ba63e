import type { ObjectDetails } from '../events/types.ts'
import type { UnixSeconds } from '../types.ts'
import type { ReportedChange, ReportedCluster, ReportedDatabase, ReportedNamespace } from './namespace-ports.ts'

/** The pods of a database that are alike. */
export interface PodDetail {
  readonly flavor: { readonly cpu: string; readonly memory: string }
  readonly count: number
  /** Seconds since the database has had these pods. */
  readonly age: number
}

export interface VolumeDetail {
  readonly name: string
  readonly initialSize: string
  readonly expansions: readonly { readonly size: string; readonly at: number }[]
  readonly createdAt: number
  readonly deletedAt: number | null
}

export interface DatabaseReport {
  readonly databaseInfo: { readonly kind: string; readonly group: string; readonly product: string; readonly name: string; readonly uid: string; readonly createdAt: number; readonly deletedAt: number | null }
  readonly podDetails: readonly PodDetail[]
  readonly volumeDetails: readonly VolumeDetail[]
}

/** A namespace of a cluster with its databases. Instants are seconds since the epoch; sizes are quantities of Kubernetes. */
export interface NamespaceReport {
  readonly clusterInfo: { readonly uid: string; readonly name: string; readonly kubernetesVersion: string; readonly provider: string; readonly capacity: { readonly nodes: number } }
  readonly namespaceInfo: { readonly name: string; readonly uid: string; readonly labels: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>>; readonly createdAt: number | null }
  readonly databases: readonly DatabaseReport[]
}

/** Returns mebibytes as a quantity of Kubernetes: `512Mi`, `10Gi`. */
export const sizeQuantity = (mebibytes: number): string => (mebibytes > 0 && mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`)

/** Returns milli-CPU as a quantity of Kubernetes: `500m`, `2`. */
export const cpuQuantity = (milliCpu: number): string => (milliCpu % 1000 === 0 ? String(milliCpu / 1000) : `${milliCpu}m`)

const detailsOf = ({ details }: ReportedChange): ObjectDetails | undefined => (details === '' ? undefined : (JSON.parse(details) as ObjectDetails))

const inOrder = (a: ReportedChange, b: ReportedChange): number => a.at - b.at || a.generation - b.generation

/** Returns the pods of a database; none once it is deleted. Where its cluster reported no pods, they are what it occupies in all, divided by its replicas. */
export const podDetails = ({ deletedAt, changes }: Pick<ReportedDatabase, 'deletedAt' | 'changes'>, now: UnixSeconds): readonly PodDetail[] => {
  const last = [...changes].sort(inOrder).findLast(({ type }) => type !== 'object.deleted')
  if (deletedAt !== undefined || last === undefined) return []
  const { milliCpu, memoryMib, replicas, at } = last
  const count = Math.max(1, replicas)
  const pods = detailsOf(last)?.pods ?? [{ milliCpu: Math.floor(milliCpu / count), memoryMib: Math.floor(memoryMib / count), count: replicas }]
  return pods.map((pod) => ({ flavor: { cpu: cpuQuantity(pod.milliCpu), memory: sizeQuantity(pod.memoryMib) }, count: pod.count, age: Math.max(0, now - at) }))
}

/** Returns the volumes of a database by name, with the sizes that they had. A volume that a later change does not name was deleted then. */
export const volumeDetails = ({ deletedAt, changes }: Pick<ReportedDatabase, 'deletedAt' | 'changes'>): readonly VolumeDetail[] => {
  const volumes = new Map<string, VolumeDetail & { readonly size: number }>()
  for (const change of [...changes].sort(inOrder)) {
    const reported = change.type === 'object.deleted' ? undefined : detailsOf(change)?.volumes
    if (reported === undefined) continue
    const named = new Set(reported.map(({ name }) => name))
    for (const [name, volume] of volumes) if (!named.has(name) && volume.deletedAt === null) volumes.set(name, { ...volume, deletedAt: change.at })
    for (const { name, sizeMib, createdAt } of reported) {
      const known = volumes.get(name)
      if (known === undefined) volumes.set(name, { name, initialSize: sizeQuantity(sizeMib), size: sizeMib, expansions: [], createdAt, deletedAt: null })
      else volumes.set(name, { ...known, size: sizeMib, deletedAt: null, expansions: known.size === sizeMib ? known.expansions : [...known.expansions, { size: sizeQuantity(sizeMib), at: change.at }] })
    }
  }
  return [...volumes.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ size: _, ...volume }) => ({ ...volume, deletedAt: volume.deletedAt ?? deletedAt ?? null }))
}

const databaseReport = (database: ReportedDatabase, now: UnixSeconds): DatabaseReport => ({
  databaseInfo: {
    kind: database.kind, group: database.group, product: database.product, name: database.name, uid: database.uid, createdAt: database.createdAt, deletedAt: database.deletedAt ?? null,
  },
  podDetails: podDetails(database, now),
  volumeDetails: volumeDetails(database),
})

const textsOf = (json: string | undefined): Readonly<Record<string, string>> => (json === undefined ? {} : (JSON.parse(json) as Record<string, string>))

/** Returns the report of a namespace. `observed` is the newest namespace of this name that the cluster reported, if it did. */
export const namespaceReport = (cluster: ReportedCluster, name: string, observed: ReportedNamespace | undefined, databases: readonly ReportedDatabase[], now: UnixSeconds): NamespaceReport => ({
  clusterInfo: { uid: cluster.uid, name: cluster.name, kubernetesVersion: cluster.kubernetesVersion, provider: cluster.provider, capacity: { nodes: cluster.nodeCount } },
  namespaceInfo: {
    name,
    uid: observed?.uid ?? databases[0]?.namespaceUid ?? '',
    labels: textsOf(observed?.labels),
    annotations: textsOf(observed?.annotations),
    createdAt: observed?.createdAt ?? null,
  },
  databases: databases.map((database) => databaseReport(database, now)),
})
