import { texts } from '../texts.js'
import { ApiError, refusalOf, send } from '../kit/client.js'

/**
 * An object of a cluster. A cluster can answer anything, so nothing but its name is taken for granted.
 *
 * @typedef {{ metadata: { name: string, namespace: string, uid: string, creationTimestamp: string }, [key: string]: any }} KubernetesObject
 */

/** At most so many objects of a kind are read. */
const mostObjects = 500

/** @param {unknown} value @returns {KubernetesObject[]} */
const objectsIn = (value) => {
  const items = /** @type {any} */ (value)?.items
  if (!Array.isArray(items)) throw new ApiError(502, texts.cluster.garbage)
  return items
    .filter((item) => typeof item?.metadata?.name === 'string')
    .map((item) => ({
      ...item,
      metadata: {
        ...item.metadata,
        namespace: typeof item.metadata.namespace === 'string' ? item.metadata.namespace : '',
        uid:
          typeof item.metadata.uid === 'string'
            ? item.metadata.uid
            : `${item.metadata.namespace}/${item.metadata.name}`,
        creationTimestamp: typeof item.metadata.creationTimestamp === 'string' ? item.metadata.creationTimestamp : '',
      },
    }))
}

/** @param {string} owner @param {string} cluster @param {string} path */
const proxied = (owner, cluster, path) =>
  `/clusters/${encodeURIComponent(owner)}/${encodeURIComponent(cluster)}/proxy${path}`

/**
 * Lists objects of a cluster with the caller's own rights.
 *
 * @param {{ owner: string, cluster: string, path: string, signal: AbortSignal }} asked `path`: as `/api/v1/pods`
 */
export const listObjects = async ({ owner, cluster, path, signal }) => {
  const reply = await send(
    'GET',
    proxied(owner, cluster, `${path}${path.includes('?') ? '&' : '?'}limit=${mostObjects}`),
    { signal },
  )
  if (!reply.ok) throw await refusalOf(reply)
  const text = await reply.text()
  try {
    return objectsIn(JSON.parse(text))
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError(502, texts.cluster.garbage)
  }
}

/**
 * Reads the end of the log of a container.
 *
 * @param {{ owner: string, cluster: string, namespace: string, pod: string, container: string, signal: AbortSignal }} asked
 */
export const readLog = async ({ owner, cluster, namespace, pod, container, signal }) => {
  const query = new URLSearchParams({ container, tailLines: '500', limitBytes: '1000000' })
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query}`
  const reply = await send('GET', proxied(owner, cluster, path), { signal, headers: { Accept: '*/*' } })
  if (!reply.ok) throw await refusalOf(reply)
  // Characters that turn the direction of what follows are shown as such.
  return (await reply.text()).replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}
