import { setTimeout as delay } from 'node:timers/promises'
import type { Kind, KubeObject } from './kinds.ts'
import type { KubeClient, Selection } from './kube-client.ts'

/** A copy of the objects of one kind that is kept up to date by a watch. */
export interface WatchedObjects<A extends KubeObject> {
  /** By `name`, or `namespace/name`. */
  get(key: string): A | undefined
  all(): readonly A[]
  /** Resolves when the objects that exist now have been read. */
  readonly ready: Promise<void>
}

export interface WatchOptions<A extends KubeObject> {
  readonly selection?: Selection
  /** Objects that are left out. */
  readonly keeps?: (object: A) => boolean
  /** Called for each object that is new, has changed, or is gone (with its last state). */
  readonly onChange?: (object: A, isGone: boolean) => void
  readonly signal: AbortSignal
}

const [firstPause, longestPause] = [200, 2_000]

export const keyOf = ({ metadata: { name, namespace } }: KubeObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/**
 * Lists and watches until the signal; lists again when the watch ends or is refused, as a client without the right is
 * at first.
 */
export const watchObjects = <A extends KubeObject>(
  client: KubeClient,
  kind: Kind<A>,
  { selection = {}, keeps = () => true, onChange = () => undefined, signal }: WatchOptions<A>,
): WatchedObjects<A> => {
  const objects = new Map<string, A>()
  let announce = (): void => undefined
  const ready = new Promise<void>((go) => {
    announce = go
  })
  signal.addEventListener('abort', () => announce(), { once: true })

  const put = (object: A, isGone: boolean): void => {
    if (!keeps(object)) return
    if (isGone) objects.delete(keyOf(object))
    else objects.set(keyOf(object), object)
    onChange(object, isGone)
  }
  const relist = async (): Promise<string> => {
    const { items, resourceVersion } = await client.list(kind, selection)
    const found = new Set(items.map(keyOf))
    for (const [key, object] of [...objects]) if (!found.has(key)) put(object, true)
    for (const item of items)
      if (objects.get(keyOf(item))?.metadata.resourceVersion !== item.metadata.resourceVersion) put(item, false)
    announce()
    return resourceVersion
  }
  const follow = async (): Promise<void> => {
    let pause = firstPause
    while (!signal.aborted) {
      try {
        const place = await relist()
        pause = firstPause
        for await (const { type, object } of client.watch(kind, selection, place, signal)) {
          if (type === 'ERROR') break
          if (type !== 'BOOKMARK') put(object, type === 'DELETED')
        }
      } catch {
        // The server has ended the watch or refuses the list: it is tried again, less and less often.
        pause = Math.min(2 * pause, longestPause)
      }
      await delay(pause, undefined, { signal }).catch(() => undefined)
    }
  }
  void follow()
  return { get: (key) => objects.get(key), all: () => [...objects.values()], ready }
}
