import type { ServerResponse } from 'node:http'
import type { ResourceKind } from './kinds.ts'
import { apiVersionOf } from './kinds.ts'
import type { KubeObject } from './kube-object.ts'
import type { ObjectStore, WatchEvent } from './object-store.ts'
import type { Selects } from './selectors.ts'

export interface WatchAsked {
  readonly kind: ResourceKind
  readonly namespace: string | undefined
  readonly selects: Selects
  readonly query: URLSearchParams
  /** Full objects, or their metadata alone. */
  readonly shape: (object: KubeObject) => object
}

/** Streams what happens from the asked version on. Answers how to end it. */
export const answerWatch = (
  res: ServerResponse,
  store: ObjectStore,
  { kind, namespace, selects, query, shape }: WatchAsked,
): (() => void) => {
  const sent = new Set<string>()
  const write = (type: string, object: object): void => void res.write(`${JSON.stringify({ type, object })}\n`)
  const tell = ({ type, kind: which, object }: WatchEvent): void => {
    if (which.resource !== kind.resource || which.group !== kind.group) return
    if (namespace !== undefined && object.metadata.namespace !== namespace) return
    const uid = object.metadata.uid ?? ''
    if (!selects(object) || type === 'DELETED') {
      // An object that is no longer selected is gone, for this watcher.
      if (sent.delete(uid) || (type === 'DELETED' && selects(object))) write('DELETED', shape(object))
      return
    }
    write(sent.has(uid) || type === 'MODIFIED' ? 'MODIFIED' : 'ADDED', shape(object))
    sent.add(uid)
  }
  res.writeHead(200, { 'content-type': 'application/json' })
  res.flushHeaders()
  const from = query.get('resourceVersion') ?? ''
  const wantsAll = query.get('sendInitialEvents') === 'true'
  if (wantsAll || from === '' || from === '0') {
    for (const object of store.list(kind, namespace).filter(selects)) {
      write('ADDED', shape(object))
      sent.add(object.metadata.uid ?? '')
    }
    if (wantsAll) write('BOOKMARK', bookmark(kind, store.version))
  } else {
    for (const event of store.since(Number(from))) tell(event)
  }
  const unsubscribe = store.onEvent(tell)
  const seconds = Number(query.get('timeoutSeconds') ?? 0)
  const timer = seconds > 0 ? setTimeout(() => res.end(), seconds * 1000) : undefined
  const end = (): void => {
    unsubscribe()
    clearTimeout(timer)
  }
  res.on('close', end)
  return () => {
    end()
    res.end()
  }
}

const bookmark = (kind: ResourceKind, version: number): object => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } },
})
