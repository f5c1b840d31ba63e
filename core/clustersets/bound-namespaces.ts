import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubObject, HubReadFailure, HubSelection, Hubs } from '../clusters/hubs/ports.ts'
import { clusterSetBindingKind, clusterSetKind, namespaceKind, spokeNameLabel } from '../clusters/hubs/ports.ts'
import type { AccessGrant } from '../kernel/access.ts'
import { defineAudit, recordChange } from '../kernel/unit-of-work.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'

const auditOf = defineAudit('cluster', ['cluster.namespace_bound', 'cluster.namespace_unbound'], ({ id, ownerId, name }: Hub) => ({
  objectId: id,
  objectName: name,
  tenantId: ownerId,
}))

/** The namespace or the cluster set cannot be bound: it does not exist, or is being deleted. */
export const BindingRefused = defineFailure('BindingRefused', 'Unprocessable')

/** The cluster sets that are bound to each namespace, sorted by name. */
export type BoundNamespaces = Readonly<Record<string, readonly string[]>>

/** The hub is the cluster of the grant. The names are DNS-1123 labels. */
export interface NamespaceBinding {
  readonly grant: AccessGrant
  readonly clusterSet: string
  readonly namespace: string
}

interface ChangeDeps {
  readonly hubs: Hubs
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}

/** The name of a binding may differ from that of its cluster set, on a hub without the webhooks of OCM. */
const setOf = ({ body }: HubObject): string => textAt(body, 'spec', 'clusterSet')

/** A hub has a namespace for each of its spokes. */
const ofNoSpoke: HubSelection = { labelSelector: `!${spokeNameLabel}`, isMetadataOnly: true }

/** Returns the namespaces of a hub, except those of its spokes, with the cluster sets that are bound to each. */
export const makeListBoundNamespaces = ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, BoundNamespaces> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [bindings, namespaces] = await Promise.all([hub.right.list(clusterSetBindingKind), hub.right.list(namespaceKind, ofNoSpoke)])
    if (isLeft(bindings)) return bindings
    if (isLeft(namespaces)) return namespaces
    const bound = Map.groupBy(bindings.right, ({ namespace }) => namespace)
    const setsOf = (name: string): readonly string[] => [...new Set((bound.get(name) ?? []).map(setOf))].filter((set) => set !== '').sort()
    return right(Object.fromEntries(namespaces.right.map(({ name }) => [name, setsOf(name)])))
  }

const unusable = (what: string, object: HubObject | undefined): Failure<'BindingRefused'> | undefined => {
  if (object === undefined) return BindingRefused(`The ${what} does not exist on the hub.`)
  return object.isDeleting ? BindingRefused(`The ${what} is being deleted.`) : undefined
}

/** Binds a cluster set to a namespace, so that the namespace can place workloads on its spokes. Binding it again succeeds. */
export const makeBindNamespace = ({ hubs, unitOfWork }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, namespace }: NamespaceBinding): Outcome<HubChangeFailure | Failure<'BindingRefused'>, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [set, place] = await Promise.all([hub.get(clusterSetKind, { name: clusterSet }), hub.get(namespaceKind, { name: namespace })])
    if (isLeft(set)) return set
    if (isLeft(place)) return place
    const refused = unusable(`namespace ${namespace}`, place.right) ?? unusable(`cluster set ${clusterSet}`, set.right)
    if (refused !== undefined) return left(refused)
    const key = { namespace, name: clusterSet }
    const created = await hub.create(clusterSetBindingKind, key, { spec: { clusterSet } })
    if (isLeft(created)) return created
    if (created.right === 'unplaced') return left(BindingRefused(`The namespace ${namespace} was deleted during the request.`))
    const existing = created.right === 'exists' ? await hub.get(clusterSetBindingKind, key) : right(undefined)
    if (isLeft(existing)) return existing
    if (existing.right !== undefined && setOf(existing.right) !== clusterSet)
      return left(BindingRefused(`The binding ${clusterSet} of the namespace ${namespace} is for another cluster set.`))
    const entry = created.right === 'created' ? auditOf(hub, 'cluster.namespace_bound', { clusterSet, namespace }) : undefined
    return recordChange(unitOfWork, call, entry)
  }

/** Unbinds a cluster set from a namespace, by all bindings for it. Unbinding one that is not bound succeeds. */
export const makeUnbindNamespace = ({ hubs, unitOfWork }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, namespace }: NamespaceBinding): Outcome<HubChangeFailure, void> => {
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const listed = await hub.list(clusterSetBindingKind, { namespace })
    if (isLeft(listed)) return listed
    let isChanged = false
    for (const each of listed.right.filter((candidate) => setOf(candidate) === clusterSet)) {
      const removed = await hub.remove(clusterSetBindingKind, each)
      if (isLeft(removed)) return removed
      isChanged ||= removed.right
    }
    return recordChange(unitOfWork, call, isChanged ? auditOf(hub, 'cluster.namespace_unbound', { clusterSet, namespace }) : undefined)
  }
