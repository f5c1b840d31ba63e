import { namespaces, type Kind, type KubeObject, type Namespace } from '../api/kinds.ts'
import { KubeRefusal, pathOf, type KubeClient } from '../api/kube-client.ts'
import { watchObjects } from '../api/watched-objects.ts'

interface Resources {
  readonly resources?: readonly {
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs: readonly string[]
  }[]
}

const againMilliseconds = 200

export interface NamespaceFinisher {
  readonly client: KubeClient
  /** The namespaces that this finisher is responsible for. */
  readonly finishes: (namespace: Namespace) => boolean
  readonly signal: AbortSignal
  readonly reconciler: (options: {
    readonly name: string
    readonly reconcile: (key: string) => Promise<number | undefined>
  }) => { add(key: string): void }
}

/**
 * '"Namespace finisher": delete contents, PUT `/finalize` with empty finalizers' (note §12), in place of the namespace
 * controller.
 */
export const runNamespaceFinisher = ({ client, finishes, signal, reconciler }: NamespaceFinisher): void => {
  const { add } = reconciler({
    name: 'namespace',
    reconcile: async (name) => {
      const namespace = await client.get(namespaces, name)
      if (namespace?.metadata.deletionTimestamp === undefined) return undefined
      if (!(await isEmptied(client, name))) return againMilliseconds
      await client.call('PUT', `/api/v1/namespaces/${name}/finalize`, {
        ...namespace,
        apiVersion: 'v1',
        kind: 'Namespace',
        spec: { ...namespace.spec, finalizers: [] },
      })
      return undefined
    },
  })
  watchObjects<Namespace>(client, namespaces, {
    keeps: (namespace) => finishes(namespace),
    onChange: ({ metadata }, isGone) => {
      if (!isGone && metadata.deletionTimestamp !== undefined) add(metadata.name)
    },
    signal,
  })
}

/** Deletes everything in a namespace; true when nothing is left, which finalizers may delay. */
const isEmptied = async (client: KubeClient, namespace: string): Promise<boolean> => {
  const left = await Promise.all(
    (await namespacedKinds(client)).map(async (kind) => {
      const { items } = await client.list(kind, { namespace })
      if (items.some(({ metadata }) => metadata.deletionTimestamp === undefined))
        await client.call('DELETE', pathOf(kind, namespace))
      return items.length
    }),
  )
  return left.every((count) => count === 0)
}

/** What can be listed and deleted in namespaces, in one version of each group. */
const namespacedKinds = async (client: KubeClient): Promise<readonly Kind<KubeObject>[]> => {
  const { groups } = await client.call<{
    readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[]
  }>('GET', '/apis')
  const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)]
  const found = await Promise.all(
    versions.map(async (apiVersion) => {
      const { resources = [] } = await resourcesOf(client, apiVersion)
      return resources
        .filter(
          ({ name, namespaced, verbs }) =>
            namespaced && !name.includes('/') && verbs.includes('list') && verbs.includes('deletecollection'),
        )
        .map(({ name, kind }) => ({ apiVersion, kind, plural: name, isNamespaced: true }))
    }),
  )
  return found.flat()
}

/** The resources of one API version; none where a definition has just been removed. */
const resourcesOf = async (client: KubeClient, apiVersion: string): Promise<Resources> => {
  try {
    return await client.call<Resources>('GET', `${apiVersion === 'v1' ? '/api' : '/apis'}/${apiVersion}`)
  } catch (cause) {
    if (cause instanceof KubeRefusal && cause.status === 404) return {}
    throw cause
  }
}
