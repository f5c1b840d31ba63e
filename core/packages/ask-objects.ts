import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import { apiRootOf, pluralOf, type ManifestObject } from './manifest-objects.ts'
import { asTable } from './value-tables.ts'

/** Bytes of one answer that are read. */
const limitBytes = 4 * 1024 * 1024

/** What the cluster answers to a GET, as the caller; undefined for everything but an object with 200. */
export const askObject = async (cluster: MemberCluster, target: string, signal: AbortSignal): Promise<FreeObject | undefined> => {
  const answer = await cluster.request({ method: 'GET', target, limitBytes }, signal)
  return isLeft(answer) || answer.right.status !== 200 ? undefined : asTable(answer.right.json as Json)
}

/** `items` of a list; empty when it cannot be had. */
export const askItems = async (cluster: MemberCluster, target: string, signal: AbortSignal): Promise<readonly FreeObject[]> => {
  const list = await askObject(cluster, target, signal)
  return Array.isArray(list?.items) ? (list.items as readonly Json[]).map(asTable).filter((item) => item !== undefined) : []
}

/** Path of an object of one of the kinds that every cluster has and that live in a namespace. */
export const pathOf = (object: Pick<ManifestObject, 'apiVersion' | 'kind' | 'namespace' | 'name'>, home: string): string =>
  `${apiRootOf(object.apiVersion)}/namespaces/${encodeURIComponent(object.namespace || home)}/${pluralOf(object.kind)}/${encodeURIComponent(object.name)}`

/** A query value. */
export const queryValue = encodeURIComponent
