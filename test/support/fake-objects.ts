import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

interface ConfigMap {
  readonly kind: 'ConfigMap'
  readonly apiVersion: 'v1'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly data?: Readonly<Record<string, string | null>>
}

const collection = /^\/api\/v1\/namespaces\/([^/]+)\/configmaps(?:\/([^/]+))?$/

const readBody = async (req: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

/** ConfigMaps with list, watch, create, merge patch and delete, answered as kube-apiserver does. */
export class FakeObjects {
  readonly #objects = new Map<string, ConfigMap>()
  readonly #watchers = new Set<{ readonly namespace: string; readonly res: ServerResponse }>()
  #version = 100

  /** True when the path is one of its own. */
  serve(req: IncomingMessage, res: ServerResponse): boolean {
    const url = new URL(req.url ?? '/', 'https://fake')
    const match = collection.exec(url.pathname)
    if (match === null) return false
    const [, namespace = '', name] = match
    void this.#answer(req, res, namespace, name, url.searchParams)
    return true
  }

  close(): void {
    for (const { res } of this.#watchers) res.destroy()
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    namespace: string,
    name: string | undefined,
    query: URLSearchParams,
  ): Promise<void> {
    const key = `${namespace}/${name ?? ''}`
    const known = this.#objects.get(key)
    if (name === undefined) {
      if (req.method === 'POST') return this.#create(res, namespace, (await readBody(req)) as ConfigMap)
      return query.get('watch') === 'true' || query.get('watch') === '1'
        ? this.#watch(res, namespace)
        : this.#list(res, namespace)
    }
    if (known === undefined) return this.#status(res, 404, 'NotFound', `configmaps "${name}" not found`)
    if (req.method === 'GET') return this.#json(res, 200, known)
    if (req.method === 'DELETE') {
      this.#objects.delete(key)
      this.#tell('DELETED', known)
      return this.#json(res, 200, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name, kind: 'configmaps', uid: known.metadata.uid },
      })
    }
    if (req.headers['content-type'] !== 'application/merge-patch+json')
      return this.#status(res, 415, 'UnsupportedMediaType', 'the body of the request was in an unknown format')
    const patch = (await readBody(req)) as ConfigMap
    const changed = {
      ...known,
      data: { ...known.data, ...patch.data },
      metadata: { ...known.metadata, resourceVersion: String(++this.#version) },
    }
    this.#objects.set(key, changed)
    this.#tell('MODIFIED', changed)
    this.#json(res, 200, changed)
  }

  #create(res: ServerResponse, namespace: string, wanted: ConfigMap): void {
    const key = `${namespace}/${wanted.metadata.name}`
    if (this.#objects.has(key))
      return this.#status(res, 409, 'AlreadyExists', `configmaps "${wanted.metadata.name}" already exists`)
    const made: ConfigMap = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: wanted.metadata.name, namespace, uid: randomUUID(), resourceVersion: String(++this.#version) },
      ...(wanted.data === undefined ? {} : { data: wanted.data }),
    }
    this.#objects.set(key, made)
    this.#tell('ADDED', made)
    this.#json(res, 201, made)
  }

  #list(res: ServerResponse, namespace: string): void {
    const items = [...this.#objects.values()].filter((object) => object.metadata.namespace === namespace)
    this.#json(res, 200, {
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(this.#version) },
      items,
    })
  }

  #watch(res: ServerResponse, namespace: string): void {
    const watcher = { namespace, res }
    this.#watchers.add(watcher)
    res.on('close', () => this.#watchers.delete(watcher))
    res.writeHead(200, { 'content-type': 'application/json' })
    res.flushHeaders()
  }

  #tell(type: string, object: ConfigMap): void {
    for (const { namespace, res } of this.#watchers)
      if (namespace === object.metadata.namespace) res.write(`${JSON.stringify({ type, object })}\n`)
  }

  #json(res: ServerResponse, code: number, body: unknown): void {
    // Not chained: restify, in the same process, replaces `writeHead` with one that answers nothing.
    res.writeHead(code, { 'content-type': 'application/json', 'audit-id': randomUUID() })
    res.end(JSON.stringify(body))
  }

  #status(res: ServerResponse, code: number, reason: string, message: string): void {
    this.#json(res, code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code })
  }
}
