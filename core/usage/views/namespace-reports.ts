import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { unixSeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnixSeconds } from '../types.ts'
import type { DatabaseInventory, ReportedCluster, ReportedDatabase } from './namespace-ports.ts'
import { ClientBillingDisabled, UsageNamespaceMissing } from './namespace-ports.ts'
import type { NamespaceReport } from './namespace-report.ts'
import { namespaceReport } from './namespace-report.ts'

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
  return unixSeconds(since) as UnixSeconds
}

const refuseDisabled = async ({ inventory }: ReportDeps, ownerId: AccountId, now: Date) =>
  (await inventory.isEnabled(ownerId, now)) ? right(undefined) : left(disabled('No active contract of this account includes reports for the bills of clients (enableClientBilling).'))

/** The reports of all namespaces with databases, as the JSON text of an object, and the time at which they are read. */
export interface NamespaceReportsAnswer {
  readonly generatedAt: Date
  json(): AsyncIterable<string>
}

/** Returns the reports of the namespaces in all clusters whose contracts allow it. They are read cluster by cluster. */
export const makeReportNamespaces =
  (deps: ReportDeps) =>
  async (_call: SignedInCall<never>, { ownerId }: { readonly ownerId: AccountId }): Outcome<Failure<'ClientBillingDisabled'>, NamespaceReportsAnswer> => {
    const now = deps.clock.now()
    const refused = await refuseDisabled(deps, ownerId, now)
    if (isLeft(refused)) return refused
    const clusters = (await deps.inventory.clustersOf(ownerId, now)).filter(({ isEnabled }) => isEnabled)
    return right({ generatedAt: now, json: () => reportsText(deps.inventory, clusters, now) })
  }

const reportsText = async function* (inventory: DatabaseInventory, clusters: readonly ReportedCluster[], now: Date): AsyncGenerator<string> {
  let before = `{"generatedAt":${unixSeconds(now)},"items":[`
  for (const cluster of clusters) {
    for (const report of await reportsOf(inventory, cluster, now)) {
      yield before + toWireJson(report)
      before = ','
    }
  }
  yield before === ',' ? ']}' : `${before}]}`
}

/** Returns the reports of the namespaces with databases in a cluster, by name. */
const reportsOf = async (inventory: DatabaseInventory, cluster: ReportedCluster, now: Date): Promise<readonly NamespaceReport[]> => {
  const databases = new Map<string, ReportedDatabase[]>()
  for await (const batch of inventory.databasesOf(cluster.id, sinceOf(now))) {
    for (const database of batch) {
      const inNamespace = databases.get(database.namespace) ?? []
      inNamespace.push(database)
      databases.set(database.namespace, inNamespace)
    }
  }
  // The newest of a name replaces the others.
  const observed = new Map((await inventory.namespacesOf(cluster.id)).map((namespace) => [namespace.name, namespace]))
  return [...databases].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, own]) => namespaceReport(cluster, name, observed.get(name), own, unixSeconds(now) as UnixSeconds))
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
  async (_call: SignedInCall<never>, { ownerId, clusterUid, namespace }: ReportNamespaceInput): Outcome<ReportFailure, NamespaceReport> => {
    const { inventory, clock } = deps
    const now = clock.now()
    const refused = await refuseDisabled(deps, ownerId, now)
    if (isLeft(refused)) return refused
    const missing = UsageNamespaceMissing(`The cluster ${clusterUid} has reported no namespace "${namespace}".`)
    const cluster = (await inventory.clustersOf(ownerId, now)).find(({ uid }) => uid === clusterUid)
    if (cluster === undefined) return left(missing)
    if (!cluster.isEnabled) return left(disabled(`No active contract for the cluster ${clusterUid} includes reports for the bills of clients (enableClientBilling).`))
    const observed = (await inventory.namespacesOf(cluster.id, namespace)).at(-1)
    const databases: ReportedDatabase[] = []
    for await (const batch of inventory.databasesOf(cluster.id, sinceOf(now), namespace)) databases.push(...batch)
    if (observed === undefined && databases.length === 0) return left(missing)
    return right(namespaceReport(cluster, namespace, observed, databases, unixSeconds(now) as UnixSeconds))
  }
