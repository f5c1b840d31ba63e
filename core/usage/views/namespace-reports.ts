import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { unixSeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ObjectDetails } from '../events/types.ts'
import type { UnixSeconds } from '../types.ts'
import type {
  DatabaseInventory,
  ReportedChange,
  ReportedCluster,
  ReportedDatabase,
  ReportedNamespace,
} from './ports.ts'
import { ClientBillingDisabled, UsageNamespaceMissing } from './ports.ts'

/** Databases that were deleted longer ago are left out. */
const shownMonths = 6

interface ReportDeps {
  readonly inventory: DatabaseInventory
  readonly clock: Clock
}

const disabled = (message: string): Failure<'ClientBillingDisabled'> => ClientBillingDisabled(message)

const sinceOf = (now: Date): UnixSeconds => {
  const since = new Date(now)
  since.setUTCMonth(since.getUTCMonth() - shownMonths)
  // A month without this day: its last one, not one of the next month.
  if (since.getUTCDate() !== now.getUTCDate()) since.setUTCDate(0)
  return unixSeconds(since) as UnixSeconds
}

const refuseDisabled = async ({ inventory }: ReportDeps, ownerId: AccountId, now: Date) =>
  (await inventory.isEnabled(ownerId, now))
    ? right(undefined)
    : left(
        disabled('No active contract of this account includes reports for the bills of clients (enableClientBilling).'),
      )

/** The reports of all namespaces with databases, as the JSON text of an object, and the time at which they are read. */
export interface NamespaceReportsAnswer {
  readonly generatedAt: Date
  json(): AsyncIterable<string>
}

/** Returns the reports of the namespaces in all clusters whose contracts allow it. They are read cluster by cluster. */
export const makeReportNamespaces =
  (deps: ReportDeps) =>
  async (
    _call: SignedInCall<never>,
    { ownerId }: { readonly ownerId: AccountId },
  ): Outcome<Failure<'ClientBillingDisabled'>, NamespaceReportsAnswer> => {
    const now = deps.clock.now()
    const refused = await refuseDisabled(deps, ownerId, now)
    if (isLeft(refused)) return refused
    const clusters = (await deps.inventory.clustersOf(ownerId, now)).filter(({ isEnabled }) => isEnabled)
    return right({ generatedAt: now, json: () => reportsText(deps.inventory, clusters, now) })
  }

const reportsText = async function* (
  inventory: DatabaseInventory,
  clusters: readonly ReportedCluster[],
  now: Date,
): AsyncGenerator<string> {
  let before = `{"generatedAt":${unixSeconds(now)},"items":[`
  for (const cluster of clusters) {
    for await (const report of reportsOf(inventory, cluster, now)) {
      yield before + toWireJson(report)
      before = ','
    }
  }
  yield before === ',' ? ']}' : `${before}]}`
}

const gathered = async (batches: AsyncIterable<readonly ReportedDatabase[]>): Promise<readonly ReportedDatabase[]> => {
  const databases: ReportedDatabase[] = []
  for await (const batch of batches) databases.push(...batch)
  return databases
}

/**
 * Returns the reports of the namespaces with databases in a cluster, by name. Only the databases of one namespace are
 * in memory.
 */
const reportsOf = async function* (
  inventory: DatabaseInventory,
  cluster: ReportedCluster,
  now: Date,
): AsyncGenerator<NamespaceReport> {
  const ids = await inventory.databaseIdsOf(cluster.id, sinceOf(now))
  // The newest of a name replaces the others.
  const observed = new Map((await inventory.namespacesOf(cluster.id)).map((namespace) => [namespace.name, namespace]))
  for (const name of [...ids.keys()].sort()) {
    const databases = await gathered(inventory.databases(ids.get(name) ?? []))
    yield namespaceReport(cluster, name, observed.get(name), databases, unixSeconds(now) as UnixSeconds)
  }
}

export interface ReportNamespaceInput {
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly namespace: string
}
type ReportFailure = Failure<'ClientBillingDisabled'> | Failure<'UsageNamespaceMissing'>

/** Returns the report of one namespace, which may have no databases. */
export const makeReportNamespace =
  (deps: ReportDeps) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, clusterUid, namespace }: ReportNamespaceInput,
  ): Outcome<ReportFailure, NamespaceReport> => {
    const { inventory, clock } = deps
    const now = clock.now()
    const refused = await refuseDisabled(deps, ownerId, now)
    if (isLeft(refused)) return refused
    const missing = UsageNamespaceMissing(`The cluster ${clusterUid} has reported no namespace "${namespace}".`)
    const cluster = (await inventory.clustersOf(ownerId, now)).find(({ uid }) => uid === clusterUid)
    if (cluster === undefined) return left(missing)
    if (!cluster.isEnabled)
      return left(
        disabled(
          `No active contract for the cluster ${clusterUid} includes reports for the bills of clients ` +
            '(enableClientBilling).',
        ),
      )
    const observed = (await inventory.namespacesOf(cluster.id, namespace)).at(-1)
    const databases = await gathered(inventory.databasesIn(cluster.id, namespace, sinceOf(now)))
    if (observed === undefined && databases.length === 0) return left(missing)
    return right(namespaceReport(cluster, namespace, observed, databases, unixSeconds(now) as UnixSeconds))
  }

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
  readonly databaseInfo: {
    readonly kind: string
    readonly group: string
    readonly product: string
    readonly name: string
    readonly uid: string
    readonly createdAt: number
    readonly deletedAt: number | null
  }
  readonly podDetails: readonly PodDetail[]
  readonly volumeDetails: readonly VolumeDetail[]
}

/**
 * A namespace of a cluster with its databases. Instants are seconds since the epoch; sizes are quantities of
 * Kubernetes.
 */
export interface NamespaceReport {
  readonly clusterInfo: {
    readonly uid: string
    readonly name: string
    readonly kubernetesVersion: string
    readonly provider: string
    readonly capacity: { readonly nodes: number }
  }
  readonly namespaceInfo: {
    readonly name: string
    readonly uid: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly createdAt: number | null
  }
  readonly databases: readonly DatabaseReport[]
}

/** Returns mebibytes as a quantity of Kubernetes: `512Mi`, `10Gi`. @internal */
export const sizeQuantity = (mebibytes: number): string =>
  mebibytes > 0 && mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`

/** Returns milli-CPU as a quantity of Kubernetes: `500m`, `2`. @internal */
export const cpuQuantity = (milliCpu: number): string =>
  milliCpu % 1000 === 0 ? String(milliCpu / 1000) : `${milliCpu}m`

const detailsOf = ({ details }: ReportedChange): ObjectDetails | undefined =>
  details === '' ? undefined : (JSON.parse(details) as ObjectDetails)

const inOrder = (a: ReportedChange, b: ReportedChange): number => a.at - b.at || a.generation - b.generation

/**
 * Returns the pods of a database; none once it is deleted. Where its cluster reported no pods, they are what it
 * occupies in all, divided by its replicas.
 *
 * @internal
 */
export const podDetails = (
  { deletedAt, changes }: Pick<ReportedDatabase, 'deletedAt' | 'changes'>,
  now: UnixSeconds,
): readonly PodDetail[] => {
  const last = [...changes].sort(inOrder).findLast(({ type }) => type !== 'object.deleted')
  if (deletedAt !== undefined || last === undefined) return []
  const { milliCpu, memoryMib, replicas, at } = last
  const count = Math.max(1, replicas)
  const pods = detailsOf(last)?.pods ?? [
    { milliCpu: Math.floor(milliCpu / count), memoryMib: Math.floor(memoryMib / count), count: replicas },
  ]
  return pods.map((pod) => ({
    flavor: { cpu: cpuQuantity(pod.milliCpu), memory: sizeQuantity(pod.memoryMib) },
    count: pod.count,
    age: Math.max(0, now - at),
  }))
}

/**
 * Returns the volumes of a database by name, with the sizes that they had. A volume that a later change does not name
 * was deleted then.
 *
 * @internal
 */
export const volumeDetails = ({
  deletedAt,
  changes,
}: Pick<ReportedDatabase, 'deletedAt' | 'changes'>): readonly VolumeDetail[] => {
  const volumes = new Map<
    string,
    VolumeDetail & { readonly size: number; readonly expansions: { readonly size: string; readonly at: number }[] }
  >()
  for (const change of [...changes].sort(inOrder)) {
    const reported = change.type === 'object.deleted' ? undefined : detailsOf(change)?.volumes
    if (reported === undefined) continue
    const named = new Set(reported.map(({ name }) => name))
    for (const [name, volume] of volumes)
      if (!named.has(name) && volume.deletedAt === null) volumes.set(name, { ...volume, deletedAt: change.at })
    for (const { name, sizeMib, createdAt } of reported) {
      const known = volumes.get(name)
      if (known === undefined)
        volumes.set(name, {
          name,
          initialSize: sizeQuantity(sizeMib),
          size: sizeMib,
          expansions: [],
          createdAt,
          deletedAt: null,
        })
      else {
        if (known.size !== sizeMib) known.expansions.push({ size: sizeQuantity(sizeMib), at: change.at })
        volumes.set(name, { ...known, size: sizeMib, deletedAt: null })
      }
    }
  }
  return [...volumes.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ size: _, ...volume }) => ({ ...volume, deletedAt: volume.deletedAt ?? deletedAt ?? null }))
}

const databaseReport = (database: ReportedDatabase, now: UnixSeconds): DatabaseReport => ({
  databaseInfo: {
    kind: database.kind,
    group: database.group,
    product: database.product,
    name: database.name,
    uid: database.uid,
    createdAt: database.createdAt,
    deletedAt: database.deletedAt ?? null,
  },
  podDetails: podDetails(database, now),
  volumeDetails: volumeDetails(database),
})

const textsOf = (json: string | undefined): Readonly<Record<string, string>> =>
  json === undefined ? {} : (JSON.parse(json) as Record<string, string>)

/**
 * Returns the report of a namespace. `observed` is the newest namespace of this name that the cluster reported, if it
 * did.
 */
const namespaceReport = (
  cluster: ReportedCluster,
  name: string,
  observed: ReportedNamespace | undefined,
  databases: readonly ReportedDatabase[],
  now: UnixSeconds,
): NamespaceReport => ({
  clusterInfo: {
    uid: cluster.uid,
    name: cluster.name,
    kubernetesVersion: cluster.kubernetesVersion,
    provider: cluster.provider,
    capacity: { nodes: cluster.nodeCount },
  },
  namespaceInfo: {
    name,
    uid: observed?.uid ?? databases[0]?.namespaceUid ?? '',
    labels: textsOf(observed?.labels),
    annotations: textsOf(observed?.annotations),
    createdAt: observed?.createdAt ?? null,
  },
  databases: databases.map((database) => databaseReport(database, now)),
})
