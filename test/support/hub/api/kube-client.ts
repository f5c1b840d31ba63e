import { Agent, request as send, type Dispatcher } from 'undici'
import type { Kind, KubeObject } from './kinds.ts'

/** How a client proves who it is. */
export type Credential = { readonly token: string } | { readonly certificatePem: string; readonly keyPem: string }

export interface ServerAddress {
  readonly url: string
  readonly caPem: string
}

/** An answer that is neither a success nor the absence of the object. */
export class KubeRefusal extends Error {
  readonly status: number
  constructor(status: number, what: string, message: string) {
    super(`${what}: ${status} ${message}`)
    this.status = status
  }
}

interface WatchEvent<Object> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Object
}

interface ObjectName {
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

export interface Selection {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

interface PatchOptions {
  readonly subresource?: 'status'
  /** Server-side apply under this name, instead of a merge patch. */
  readonly applyAs?: string
}

/**
 * The few calls that the controllers and agents of the test hub make, under one identity. A missing object is
 * `undefined`.
 */
export interface KubeClient {
  readonly server: ServerAddress
  get<A extends KubeObject>(kind: Kind<A>, name: string, namespace?: string): Promise<A | undefined>
  list<A extends KubeObject>(
    kind: Kind<A>,
    selection?: Selection,
  ): Promise<{ readonly items: readonly A[]; readonly resourceVersion: string }>
  create<A extends KubeObject>(kind: Kind<A>, object: A): Promise<A>
  /** Leaves an object of this name as it is; true when there was none. */
  createIfMissing<A extends KubeObject>(kind: Kind<A>, object: A): Promise<boolean>
  patch<A extends KubeObject>(
    kind: Kind<A>,
    object: ObjectName,
    change: object,
    options?: PatchOptions,
  ): Promise<A | undefined>
  replace<A extends KubeObject>(kind: Kind<A>, object: A, subresource?: 'status'): Promise<A>
  remove<A extends KubeObject>(kind: Kind<A>, object: ObjectName): Promise<void>
  watch<A extends KubeObject>(
    kind: Kind<A>,
    selection: Selection,
    from: string,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<A>>
  /** Any other call: a subresource, a review, discovery. Throws a KubeRefusal for 400 and above. */
  call<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
  close(): Promise<void>
}

/** The path of a collection, or of an object in it. */
export const pathOf = (kind: Kind<KubeObject>, namespace?: string, name?: string): string =>
  [
    kind.apiVersion.includes('/') ? '/apis' : '/api',
    kind.apiVersion,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    kind.plural,
    ...(name === undefined ? [] : [name]),
  ].join('/')

const pageSize = 500

export const makeKubeClient = (server: ServerAddress, credential: Credential): KubeClient => {
  const dispatcher = new Agent({
    connect: {
      ca: server.caPem,
      ...('token' in credential ? {} : { cert: credential.certificatePem, key: credential.keyPem }),
    },
    bodyTimeout: 0,
  })
  const authorization = 'token' in credential ? { authorization: `Bearer ${credential.token}` } : {}

  const call = async <Answer>(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<Answer> => {
    const answer = await send(`${server.url}${path}`, {
      method: method as Dispatcher.HttpMethod,
      dispatcher,
      headers: { ...authorization, ...(body === undefined ? {} : { 'content-type': contentType }) },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 400) throw new KubeRefusal(answer.statusCode, `${method} ${path}`, messageOf(text))
    return (text === '' ? undefined : JSON.parse(text)) as Answer
  }
  const unlessMissing = async <A>(work: Promise<A>): Promise<A | undefined> => {
    try {
      return await work
    } catch (cause) {
      if (cause instanceof KubeRefusal && cause.status === 404) return undefined
      throw cause
    }
  }
  const listPage = (
    kind: Kind<KubeObject>,
    { namespace, labelSelector, fieldSelector }: Selection,
    place: string,
  ): Promise<{ items: object[]; metadata: { resourceVersion: string; continue?: string } }> => {
    const query = new URLSearchParams({ limit: String(pageSize) })
    if (labelSelector !== undefined) query.set('labelSelector', labelSelector)
    if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector)
    if (place !== '') query.set('continue', place)
    return call('GET', `${pathOf(kind, namespace)}?${query.toString()}`)
  }
  const typed = <A extends KubeObject>(kind: Kind<A>, object: A): A => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    ...object,
  })

  const client: KubeClient = {
    server,
    get: (kind, name, namespace) => unlessMissing(call('GET', pathOf(kind, namespace, name))),
    list: async <A extends KubeObject>(kind: Kind<A>, selection: Selection = {}) => {
      const items: A[] = []
      let place = ''
      let resourceVersion = ''
      do {
        const page = await listPage(kind, selection, place)
        items.push(...(page.items as A[]))
        resourceVersion = page.metadata.resourceVersion
        place = page.metadata.continue ?? ''
      } while (place !== '')
      return { items, resourceVersion }
    },
    create: (kind, object) => call('POST', pathOf(kind, object.metadata.namespace), typed(kind, object)),
    createIfMissing: async (kind, object) => {
      try {
        await client.create(kind, object)
        return true
      } catch (cause) {
        if (!(cause instanceof KubeRefusal && cause.status === 409)) throw cause
        return false
      }
    },
    patch: (kind, { metadata }, change, { subresource, applyAs } = {}) => {
      const path = `${pathOf(kind, metadata.namespace, metadata.name)}${subresource === undefined ? '' : `/${subresource}`}`
      if (applyAs === undefined) return unlessMissing(call('PATCH', path, change, 'application/merge-patch+json'))
      return call('PATCH', `${path}?fieldManager=${applyAs}&force=true`, change, 'application/apply-patch+yaml')
    },
    replace: (kind, object, subresource) =>
      call(
        'PUT',
        `${pathOf(kind, object.metadata.namespace, object.metadata.name)}${subresource === undefined ? '' : `/${subresource}`}`,
        typed(kind, object),
      ),
    remove: async (kind, { metadata }) =>
      void (await unlessMissing(call('DELETE', pathOf(kind, metadata.namespace, metadata.name)))),
    watch: async function* <A extends KubeObject>(
      kind: Kind<A>,
      { namespace, labelSelector, fieldSelector }: Selection,
      from: string,
      signal: AbortSignal,
    ) {
      const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion: from })
      if (labelSelector !== undefined) query.set('labelSelector', labelSelector)
      if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector)
      const path = `${pathOf(kind, namespace)}?${query.toString()}`
      const answer = await send(`${server.url}${path}`, { dispatcher, headers: authorization, signal })
      if (answer.statusCode >= 400)
        throw new KubeRefusal(answer.statusCode, `GET ${path}`, messageOf(await answer.body.text()))
      let rest = ''
      for await (const part of answer.body.setEncoding('utf8')) {
        const lines = (rest + String(part)).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent<A>
      }
    },
    call: (method, path, body) => call(method, path, body),
    close: () => dispatcher.destroy(),
  }
  return client
}

const messageOf = (text: string): string => {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text
  } catch {
    return text
  }
}
