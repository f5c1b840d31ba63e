import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiPath } from './api-path.ts'
import { isWatch } from './api-path.ts'
import { apiVersionOf, isBuiltIn, type ResourceKind } from './kinds.ts'
import { isTree, type KubeObject } from './kube-object.ts'
import type { ObjectStore, Propagation } from './object-store.ts'
import { fieldSelector, labelSelector, type Selects } from './selectors.ts'
import { sendBytes, sendJson, StatusError } from './status-answer.ts'
import { answerWatch } from './watch-answer.ts'
import {
  createObject,
  patchObject,
  readObject,
  updateObject,
  type AppliedBefore,
  type Written,
} from './write-object.ts'

export interface ResourceRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: ApiPath
  readonly query: URLSearchParams
  readonly body: Buffer
}

/** Answers requests for objects; ends every watch when closed. */
export class ResourceAnswers {
  readonly #store: ObjectStore
  readonly #applied: AppliedBefore = new Map()
  readonly #watches = new Set<() => void>()

  constructor(store: ObjectStore) {
    this.#store = store
  }

  get openWatches(): number {
    return this.#watches.size
  }

  close(): void {
    for (const end of this.#watches) end()
  }

  answer(request: ResourceRequest): void {
    const { req, path, query, body } = request
    const store = this.#store
    if (req.method === 'GET') return path.name === undefined ? this.#collection(request) : this.#one(request)
    if (req.method === 'POST') return this.#written(request, createObject(store, path, body, query.has('dryRun')))
    if (req.method === 'PUT') return this.#written(request, updateObject(store, path, body, query.has('dryRun')))
    if (req.method === 'PATCH')
      return this.#written(
        request,
        patchObject(store, this.#applied, path, req.headers['content-type'] ?? '', query, body),
      )
    if (req.method === 'DELETE')
      return path.name === undefined ? this.#removeCollection(request) : this.#removeOne(request)
    throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')
  }

  #one({ req, res, path }: ResourceRequest): void {
    const object = this.#store.mustGet(path.kind, path.namespace, path.name ?? '')
    if (path.subresource === 'log') return sendBytes(res, 200, 'text/plain', `log of ${object.metadata.name}\n`)
    sendJson(res, 200, shapeFor(req)(object))
  }

  #collection(request: ResourceRequest): void {
    const { req, res, path, query } = request
    const selects = selectsOf(query)
    if (isWatch(query)) {
      const end = answerWatch(res, this.#store, {
        kind: path.kind,
        namespace: path.namespace,
        selects,
        query,
        shape: shapeFor(req),
      })
      this.#watches.add(end)
      res.on('close', () => this.#watches.delete(end))
      return
    }
    const found = this.#store.list(path.kind, path.namespace).filter(selects)
    const limit = Number(query.get('limit') ?? 0)
    const from = Number(Buffer.from(query.get('continue') ?? '', 'base64url').toString() || 0)
    const items = found.slice(from, limit > 0 ? from + limit : undefined)
    const left = found.length - from - items.length
    const metadata = {
      resourceVersion: String(this.#store.version),
      ...(left > 0
        ? { continue: Buffer.from(String(from + items.length)).toString('base64url'), remainingItemCount: left }
        : {}),
    }
    const isMetadataOnly = wantsMetadata(req)
    if (!isMetadataOnly) return this.#sendList(res, path.kind, metadata, items)
    // The real server says null for an empty list of metadata alone.
    const shaped = items.length === 0 ? null : items.map(shapeFor(req))
    sendJson(res, 200, { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items: shaped })
  }

  /** Of built-in kinds the items do not say what they are, as the real server's do not. */
  #sendList(res: ServerResponse, kind: ResourceKind, metadata: object, items: readonly KubeObject[]): void {
    const shaped = isBuiltIn(kind) ? items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item) : items
    sendJson(res, 200, { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata, items: shaped })
  }

  #written({ req, res }: ResourceRequest, { object, isNew }: Written): void {
    sendJson(res, isNew ? 201 : 200, shapeFor(req)(object))
  }

  #removeOne({ res, path, query, body }: ResourceRequest): void {
    const options = body.length > 0 ? readObject(body) : {}
    const object = this.#store.mustGet(path.kind, path.namespace, path.name ?? '')
    const wanted = isTree(options) && isTree(options['preconditions']) ? options['preconditions'] : {}
    for (const key of ['uid', 'resourceVersion'] as const) {
      if (wanted[key] !== undefined && wanted[key] !== object.metadata[key])
        throw new StatusError(409, 'Conflict', `Precondition failed: ${key}`)
    }
    const left = query.has('dryRun') ? object : this.#store.remove(path.kind, object, propagationOf(options, query))
    if (left.metadata.deletionTimestamp !== undefined) return sendJson(res, 200, left)
    const { name, uid } = object.metadata
    sendJson(res, 200, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, kind: path.kind.resource, uid },
    })
  }

  #removeCollection({ res, path, query, body }: ResourceRequest): void {
    const options = body.length > 0 ? readObject(body) : {}
    const removed = this.#store.list(path.kind, path.namespace).filter(selectsOf(query))
    for (const object of removed) this.#store.remove(path.kind, object, propagationOf(options, query))
    this.#sendList(res, path.kind, { resourceVersion: String(this.#store.version) }, removed)
  }
}

const selectsOf = (query: URLSearchParams): Selects => {
  const [byLabel, byField] = [labelSelector(query.get('labelSelector')), fieldSelector(query.get('fieldSelector'))]
  return (object) => byLabel(object) && byField(object)
}

const propagationOf = (options: unknown, query: URLSearchParams): Propagation => {
  const wanted = isTree(options) ? options['propagationPolicy'] : query.get('propagationPolicy')
  return wanted === 'Orphan' || wanted === 'Foreground' ? wanted : 'Background'
}

const wantsMetadata = (req: IncomingMessage): boolean =>
  /as=PartialObjectMetadata/.test((req.headers.accept ?? '').split(',')[0] ?? '')

const shapeFor =
  (req: IncomingMessage) =>
  (object: KubeObject): object =>
    wantsMetadata(req)
      ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }
      : object
