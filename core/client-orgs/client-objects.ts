import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubKind, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { namespaceKind } from '../clusters/hubs/ports.ts'
import { configMapKind, distribution } from '../clusters/hub-types.ts'
import type { Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { textAt, toWireJson } from '../kernel/json.ts'
import type { Blocked, Client } from './places.ts'
import { ClientObjectBlocked, isOf, marked } from './places.ts'
import type { ClusterPlan } from './types.ts'
import { gatewayNamespaceOf, monitoringNamespaceOf, namespacesOf } from './types.ts'

const gatewayMap = 'client-gateway'
const telemetryMap = 'client-telemetry'
/** The annotation with the node selector and tolerations of databases, as JSON. */
const dbProductKey = 'client.ace.appscode.com/db-product-config'
const monitoringLabel = 'ace.appscode.com/client-org-monitoring'
const { clientOrgLabel } = distribution

/** Returns the namespaces of a client organization that exist on a cluster, also those that are being deleted. */
export const presentNamespaces = async (
  spoke: Hub,
  client: Pick<Client, 'orgId' | 'name'>,
): Outcome<HubReadFailure, ReadonlyMap<string, HubObject>> => {
  const present = new Map<string, HubObject>()
  for (const name of namespacesOf(client.name, { useGateway: true })) {
    const found = await spoke.get(namespaceKind, { name })
    if (isLeft(found)) return found
    // A namespace that this service has not made for this client organization is no part of it.
    if (found.right !== undefined && isOf(found.right, client)) present.set(name, found.right)
  }
  return right(present)
}

const metadataOfNamespace = (client: Client, namespace: string, plan: ClusterPlan): FreeObject => {
  if (namespace === client.name)
    return marked(client, {
      labels: { [clientOrgLabel]: 'true' },
      annotations: {
        ...plan.annotations,
        ...(plan.dbProductConfig && { [dbProductKey]: toWireJson(plan.dbProductConfig) }),
      },
    })
  return marked(
    client,
    namespace === monitoringNamespaceOf(client.name) ? { labels: { [monitoringLabel]: 'true' } } : {},
  )
}

/** Writes the namespaces of a client organization. One of another program stays as it is, and fails. */
export const writeNamespaces = async (
  spoke: Hub,
  client: Client,
  plan: ClusterPlan,
): Outcome<HubChangeFailure | Blocked, void> => {
  for (const name of namespacesOf(client.name, plan)) {
    const metadata = metadataOfNamespace(client, name, plan)
    const created = await spoke.create(namespaceKind, { name }, { metadata })
    if (isLeft(created)) return created
    if (created.right === 'created') continue
    const edited = await spoke.edit<Blocked>(namespaceKind, { name }, (object) => {
      if (!isOf(object, client))
        return left(ClientObjectBlocked(`The cluster has a namespace ${name} that is not of this client organization.`))
      return object.isDeleting
        ? left(ClientObjectBlocked(`The namespace ${name} of the cluster is being deleted.`))
        : right({ merge: { metadata } })
    })
    if (isLeft(edited)) return edited
    if (edited.right === 'missing') return left(ClientObjectBlocked(`The namespace ${name} was deleted by others.`))
  }
  return right(undefined)
}

/** Writes an object by server-side apply; fails if its namespace does not exist. */
export const applied = async (
  spoke: Hub,
  kind: HubKind,
  key: { readonly namespace?: string; readonly name: string },
  content: FreeObject,
): Outcome<HubChangeFailure | Blocked, void> => {
  const done = await spoke.apply(kind, key, content)
  if (isLeft(done)) return done
  return done.right === undefined
    ? left(ClientObjectBlocked(`The namespace ${key.namespace ?? ''} of the cluster does not exist.`))
    : right(undefined)
}

/** Writes what the vendor's controllers read about the gateway and the telemetry of a client organization. */
export const writeSupplies = async (
  spoke: Hub,
  client: Client,
  { useGateway, gatewayConfig, gatewayRef, telemetry }: ClusterPlan,
): Outcome<HubChangeFailure | Blocked, void> => {
  const maps: readonly (readonly [string, string, FreeObject])[] = [
    ...(useGateway
      ? [
          [
            gatewayNamespaceOf(client.name),
            gatewayMap,
            { 'config.json': toWireJson(gatewayConfig ?? {}), 'reference.json': toWireJson(gatewayRef ?? {}) },
          ] as const,
        ]
      : []),
    [monitoringNamespaceOf(client.name), telemetryMap, { 'telemetry.json': toWireJson(telemetry ?? {}) }],
  ]
  for (const [namespace, name, data] of maps) {
    const written = await applied(spoke, configMapKind, { namespace, name }, { metadata: marked(client), data })
    if (isLeft(written)) return written
  }
  return right(undefined)
}

/** Marks the main namespace as terminating, so that programs that watch it take down what they have. */
export const markTerminating = async (
  spoke: Hub,
  client: Pick<Client, 'name'>,
  namespaces: ReadonlyMap<string, HubObject>,
): Outcome<HubChangeFailure, void> => {
  const main = namespaces.get(client.name)
  if (main === undefined || main.isDeleting) return right(undefined)
  const edited = await spoke.edit(namespaceKind, { name: client.name }, ({ body }) =>
    right(
      textAt(body, 'metadata', 'labels', clientOrgLabel) === 'terminating'
        ? undefined
        : { merge: { metadata: { labels: { [clientOrgLabel]: 'terminating' } } } },
    ),
  )
  return isLeft(edited) ? edited : right(undefined)
}

/** Requests the deletion of namespaces, and does not wait. */
export const removeNamespaces = async (
  spoke: Hub,
  namespaces: ReadonlyMap<string, HubObject>,
): Outcome<HubChangeFailure, void> => {
  for (const namespace of namespaces.values()) {
    const removed = namespace.isDeleting ? right(true) : await spoke.remove(namespaceKind, namespace)
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}
