import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { Exchange } from '../../core/kernel/exchange.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import {
  at,
  isObject,
  listAt,
  parseJson,
  reservedKey,
  textAt,
  toWireJson,
  withoutKeys,
} from '../../core/kernel/json.ts'
import type { ClusterAnswer, ClusterApi, ClusterRequest, ReachFailure } from '../../core/clusters/ports.ts'
import { ClusterUnreachable, ProxyBodyRefused } from '../../core/clusters/ports.ts'
import type { ComputeResponse } from '../../core/clusters/proxy/ports.ts'
import { impersonation } from '../../core/formats/kubernetes/proxy-headers.ts'
import type { ProxyTarget, ResourceRef } from '../../core/formats/kubernetes/proxy-path.ts'
import { encodedResourcePath, parseProxyPath } from '../../core/formats/kubernetes/proxy-path.ts'

type ComputedFailure = ReachFailure | Failure<'ProxyBodyRefused'>

/** Sends one request as the caller. */
type Ask = (request: ClusterRequest) => Outcome<ReachFailure, ClusterAnswer>

/** A computed response. The text is JSON, made by this service or by the cluster. */
interface ComputedAnswer {
  readonly status: number
  readonly text: string
}
type Computed = Outcome<ComputedFailure, ComputedAnswer>

const jsonAnswer = (status: number, value: unknown): ComputedAnswer => ({ status, text: toWireJson(value) })

/** Returns a Kubernetes Status for a missing object, as a cluster would. */
const notFound = (message: string): ComputedAnswer =>
  jsonAnswer(404, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'NotFound',
    code: 404,
  })

/** In bytes. */
const limit = 256 * 1024

/** Reads the JSON body of a computed form. @internal */
export const readSmallJson = async (
  body: AsyncIterable<Uint8Array> | undefined,
): Outcome<Failure<'ProxyBodyRefused'>, unknown> => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength
      if (bytes > limit) return left(ProxyBodyRefused('The body is larger than 256 KiB.'))
      text += decoder.decode(chunk, { stream: true })
    }
    const parsed = parseJson(text + decoder.decode())
    if (parsed.ok) return right(parsed.value)
    if (parsed.why === 'repeated-key')
      return left(ProxyBodyRefused(`The key "${parsed.key.slice(0, 64)}" is repeated in one object of the body.`))
    return left(
      ProxyBodyRefused(
        parsed.why === 'reserved-key' ? `The key "${reservedKey}" is reserved.` : 'The body is not JSON.',
      ),
    )
  } catch {
    return left(ProxyBodyRefused('The body is not JSON.'))
  }
}

/** Maximum number of items in a list, which is read in one request. */
const listLimit = 500
const metadataOnly = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'

const isOk = (answer: ClusterAnswer): boolean => answer.status === 200
const asIs = (answer: ClusterAnswer): ComputedAnswer => ({ status: answer.status, text: answer.text })
const groupPath = (group: string, version: string): string =>
  group === 'core' ? `/api/${version}` : `/apis/${group}/${version}`

const getObject = (ask: Ask, ref: ResourceRef) =>
  ask({ method: 'GET', target: encodedResourcePath({ ...ref, subresource: undefined }) })

/** Returns the query of a list with one more field selector. A list that is filtered here cannot be watched. */
const listQuery = (
  query: string,
  { fieldSelector, limit }: { readonly fieldSelector?: string; readonly limit?: number },
): Either<Failure<'ProxyBodyRefused'>, string> => {
  const params = new URLSearchParams(query)
  if (params.has('watch')) return left(ProxyBodyRefused('A list that is computed cannot be watched: omit `watch`.'))
  params.delete('convertToTable')
  const own = fieldSelector === undefined ? [] : [fieldSelector]
  const selectors = [...params.getAll('fieldSelector'), ...own].filter((each) => each !== '')
  if (selectors.length > 0) params.set('fieldSelector', selectors.join(','))
  if (limit !== undefined && !params.has('limit')) params.set('limit', String(limit))
  return right(params.toString())
}

/** Returns the events about one object, as the cluster lists them. */
const eventsOf = async (ask: Ask, ref: ResourceRef, query: string): Computed => {
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const selected = listQuery(query, {
    fieldSelector: `involvedObject.uid=${textAt(found.right.json, 'metadata', 'uid')}`,
  })
  if (isLeft(selected)) return selected
  const events = encodedResourcePath({
    group: 'core',
    version: 'v1',
    namespace: ref.namespace,
    resource: 'events',
    name: undefined,
    subresource: undefined,
  })
  return map(asIs)(await ask({ method: 'GET', target: `${events}?${selected.right}` }))
}

/** Returns the object's controller: its owner reference with `controller: true`. */
const controllerOf = async (ask: Ask, ref: ResourceRef): Computed => {
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const owner = listAt(found.right.json, 'metadata', 'ownerReferences').find((each) => at(each, 'controller') === true)
  if (owner === undefined) return right(notFound('The object has no controller.'))
  const [version = '', group = 'core'] = textAt(owner, 'apiVersion').split('/').reverse()
  const discovered = await ask({ method: 'GET', target: groupPath(group, version) })
  if (isLeft(discovered)) return discovered
  const type = listAt(discovered.right.json, 'resources').find(
    (each) => textAt(each, 'kind') === textAt(owner, 'kind') && !textAt(each, 'name').includes('/'),
  )
  if (type === undefined) return right(notFound("The cluster does not serve the controller's kind."))
  const namespace = at(type, 'namespaced') === true ? ref.namespace : undefined
  const target = encodedResourcePath({
    group,
    version,
    namespace,
    resource: textAt(type, 'name'),
    name: textAt(owner, 'name'),
    subresource: undefined,
  })
  return map(asIs)(await ask({ method: 'GET', target }))
}

/** Returns the autoscalers of the namespace that scale this object. */
const horizontalPodAutoscalersOf = async (ask: Ask, ref: ResourceRef, query: string): Computed => {
  const selected = listQuery(query, { limit: listLimit })
  if (isLeft(selected)) return selected
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const kind = textAt(found.right.json, 'kind')
  const target = encodedResourcePath({
    group: 'autoscaling',
    version: 'v2',
    namespace: ref.namespace,
    resource: 'horizontalpodautoscalers',
    name: undefined,
    subresource: undefined,
  })
  const listed = await ask({ method: 'GET', target: `${target}?${selected.right}` })
  if (isLeft(listed)) return listed
  if (!isOk(listed.right)) return right(asIs(listed.right))
  const items = listAt(listed.right.json, 'items').filter(
    (each) =>
      textAt(each, 'spec', 'scaleTargetRef', 'kind') === kind &&
      textAt(each, 'spec', 'scaleTargetRef', 'name') === ref.name,
  )
  return right(jsonAnswer(200, { ...(listed.right.json as object), items }))
}

const withQuery = (target: string, query: string): string => (query === '' ? target : `${target}?${query}`)
const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(toWireJson(value))

/**
 * Sets the number of replicas for `{replicas}`, with everything else that the body says; puts a whole Scale unchanged.
 */
const setReplicas = async (ask: Ask, target: string, body: AsyncIterable<Uint8Array> | undefined): Computed => {
  const read = await readSmallJson(body)
  if (isLeft(read)) return read
  const replicas = at(read.right, 'replicas')
  const isWhole = at(read.right, 'spec') !== undefined
  if (isWhole && replicas !== undefined) return left(ProxyBodyRefused('`replicas` and `spec` must not both be set.'))
  if (!isWhole && !(Number.isInteger(replicas) && (replicas as number) >= 0 && (replicas as number) < 2 ** 31))
    return left(ProxyBodyRefused('`replicas` must be a whole number from 0.'))
  // What else is there restricts the change, as `metadata.resourceVersion` does.
  const sent = isWhole
    ? read.right
    : { ...withoutKeys(read.right as FreeObject, new Set(['replicas'])), spec: { replicas } }
  const contentType = isWhole ? 'application/json' : 'application/merge-patch+json'
  const put = await ask({
    method: isWhole ? 'PUT' : 'PATCH',
    target,
    headers: [['content-type', contentType]],
    body: jsonBytes(sent),
  })
  return map(asIs)(put)
}

/** A group of Kubernetes or of an operator has some dozens of kinds. */
const maxKinds = 200
/** In bytes, for one list and for all lists of one response. */
const maxPageBytes = 4 * 1024 * 1024
const maxListBytes = 32 * 1024 * 1024

/** The cluster answers, and with more than one answer of this service combines. */
const tooMuch = (message: string): Failure<'ClusterUnreachable'> => ({
  ...ClusterUnreachable(message),
  kind: 'BadGateway',
})

/** Returns the names of all objects of a group and version that the caller may list, by kind. */
const allAvailable = async (ask: Ask, group: string, version: string): Computed => {
  const base = groupPath(group, version)
  const discovered = await ask({ method: 'GET', target: base })
  if (isLeft(discovered)) return discovered
  if (!isOk(discovered.right)) return right(asIs(discovered.right))
  const listable = listAt(discovered.right.json, 'resources').filter(
    (each) => !textAt(each, 'name').includes('/') && listAt(each, 'verbs').includes('list'),
  )
  if (listable.length > maxKinds)
    return left(tooMuch(`The cluster has more than ${maxKinds} kinds in this group, which are not listed together.`))
  const found: Record<string, readonly string[]> = {}
  let bytesLeft = maxListBytes
  for (const type of listable) {
    const limitBytes = Math.min(maxPageBytes, bytesLeft)
    const listed = await ask({
      method: 'GET',
      target: `${base}/${textAt(type, 'name')}?limit=${listLimit}`,
      headers: [['accept', metadataOnly]],
      limitBytes,
      isReduced: true,
    })
    if (isLeft(listed)) return listed
    bytesLeft -= listed.right.text.length
    if (bytesLeft <= 0) return left(tooMuch('The cluster has more objects in this group than can be listed together.'))
    // Kinds that the caller may not list are omitted.
    if (!isOk(listed.right)) continue
    const names = listAt(listed.right.json, 'items').map((each) => textAt(each, 'metadata', 'name'))
    if (names.length > 0) found[textAt(type, 'kind')] = names
  }
  return right(jsonAnswer(200, found))
}

const maxResources = 100

/** Reads a resource of the request by the rules for paths. An empty group is the legacy group. */
const readRef = (item: unknown): Either<Failure<'ProxyBodyRefused'>, ResourceRef> => {
  const group = textAt(item, 'group')
  const namespace = textAt(item, 'namespace')
  const ref: ResourceRef = {
    group: group === '' ? 'core' : group,
    version: textAt(item, 'version'),
    namespace: namespace === '' ? undefined : namespace,
    resource: textAt(item, 'resource'),
    name: textAt(item, 'name'),
    subresource: undefined,
  }
  const words = [
    ref.group,
    ref.version,
    ...(ref.namespace === undefined ? [] : ['namespaces', ref.namespace]),
    ref.resource,
    ref.name ?? '',
  ]
  const parsed = parseProxyPath(`/${words.map(encodeURIComponent).join('/')}`)
  const isSame =
    !isLeft(parsed) &&
    parsed.right.form === 'resource' &&
    encodedResourcePath(parsed.right.ref) === encodedResourcePath(ref)
  return isSame && ref.name !== ''
    ? right(ref)
    : left(ProxyBodyRefused('`resources` must hold version, resource and name of Kubernetes objects.'))
}

const deleteOptionNames: readonly string[] = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'preconditions',
  'propagationPolicy',
]
const resourceKeys: ReadonlySet<string> = new Set([
  'group',
  'version',
  'resource',
  'namespace',
  'name',
  'kind',
  ...deleteOptionNames,
])
const batchKeys: ReadonlySet<string> = new Set(['resources', ...deleteOptionNames])

const optionsIn = (value: unknown): FreeObject =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => deleteOptionNames.includes(name))) : {}

/** Returns the first key that has no meaning here: what it was to restrict would be deleted without regard to it. */
const unknownKey = (value: unknown, keys: ReadonlySet<string>): string | undefined =>
  isObject(value) ? Object.keys(value).find((key) => !keys.has(key)) : undefined

/**
 * Returns the options of each delete, or undefined if there are none. Kubernetes does not read the query of a delete
 * with options.
 */
const readOptions = (
  body: unknown,
  query: string,
): Either<Failure<'ProxyBodyRefused'>, readonly (FreeObject | undefined)[]> => {
  const items = listAt(body, 'resources')
  const unknown =
    unknownKey(body, batchKeys) ?? items.map((item) => unknownKey(item, resourceKeys)).find((key) => key !== undefined)
  if (unknown !== undefined) return left(ProxyBodyRefused(`The key "${unknown.slice(0, 64)}" is not understood.`))
  const all = items.map((item) => ({ ...optionsIn(body), ...optionsIn(item) }))
  const options = all.map((each) => (Object.keys(each).length === 0 ? undefined : each))
  if (
    options.some((each) => each !== undefined) &&
    deleteOptionNames.some((name) => new URLSearchParams(query).has(name))
  )
    return left(ProxyBodyRefused('Options must be all in the query or all in the body.'))
  return right(options)
}

const deletion = (ref: ResourceRef, query: string, options: FreeObject | undefined): ClusterRequest => {
  const target = withQuery(encodedResourcePath(ref), query)
  if (options === undefined) return { method: 'DELETE', target }
  const body = jsonBytes({ kind: 'DeleteOptions', apiVersion: 'v1', ...options })
  return { method: 'DELETE', target, headers: [['content-type', 'application/json']], body }
}

/**
 * Deletes each resource, with the options of Kubernetes for deletes, and returns a Status for each. A failure does not
 * stop the others.
 */
const batchDelete = async (ask: Ask, query: string, body: AsyncIterable<Uint8Array> | undefined): Computed => {
  const read = await readSmallJson(body)
  if (isLeft(read)) return read
  const items = listAt(read.right, 'resources')
  if (items.length === 0 || items.length > maxResources)
    return left(ProxyBodyRefused(`\`resources\` must hold 1 to ${maxResources} entries.`))
  const refs: ResourceRef[] = []
  for (const item of items) {
    const ref = readRef(item)
    if (isLeft(ref)) return ref
    refs.push(ref.right)
  }
  const options = readOptions(read.right, query)
  if (isLeft(options)) return options
  const resourcesStatus: unknown[] = []
  for (const [index, ref] of refs.entries()) {
    const deleted = await ask(deletion(ref, query, options.right[index]))
    if (isLeft(deleted)) return deleted
    const { json, status, text } = deleted.right
    const isStatus = textAt(json, 'kind') === 'Status'
    const { namespace, name, group, version, resource } = items[index] as Record<string, unknown>
    resourcesStatus.push({
      namespace,
      name,
      group,
      version,
      resource,
      // Kubernetes responds to some deletes with the object itself.
      status: isStatus
        ? json
        : {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: status < 300 ? 'Success' : 'Failure',
            code: status,
            ...(status < 300 ? {} : { message: text.slice(0, 500) }),
          },
    })
  }
  return right(jsonAnswer(200, { resourcesStatus }))
}

const compute = (target: ProxyTarget, exchange: Exchange, ask: Ask): Computed | undefined => {
  const { method } = exchange
  if (target.form === 'batch-delete')
    return method === 'POST' ? batchDelete(ask, exchange.query, exchange.body) : undefined
  if (target.form === 'all-available')
    return method === 'GET' ? allAvailable(ask, target.group, target.version) : undefined
  if (target.form === 'raw' || target.ref.name === undefined) return undefined
  const { subresource } = target.ref
  if (method === 'GET' && subresource === 'events') return eventsOf(ask, target.ref, exchange.query)
  if (method === 'GET' && subresource === 'controller') return controllerOf(ask, target.ref)
  if (method === 'GET' && subresource === 'horizontalpodautoscalers')
    return horizontalPodAutoscalersOf(ask, target.ref, exchange.query)
  if (method === 'PUT' && subresource === 'scale')
    return setReplicas(ask, withQuery(target.path, exchange.query), exchange.body)
  return undefined
}

const answer = (exchange: Exchange, { status, text }: ComputedAnswer): void => {
  const bytes = new TextEncoder().encode(text)
  exchange.respond(status, [
    ['content-type', 'application/json'],
    ['content-length', String(bytes.byteLength)],
  ])
  exchange.write(bytes)
  exchange.end()
}

/** ComputeResponse by several requests to the Kubernetes API. */
export const makeComputeResponse =
  (deps: { readonly api: Pick<ClusterApi, 'request'> }): ComputeResponse =>
  ({ connection, target, exchange, as, signal }) => {
    const identity = as === undefined ? [] : impersonation(as)
    const ask: Ask = (request) =>
      deps.api.request(connection, { ...request, headers: [...(request.headers ?? []), ...identity] }, signal)
    const computed = compute(target, exchange, ask)
    if (computed === undefined) return undefined
    return computed.then((outcome) => {
      if (isLeft(outcome)) return outcome
      answer(exchange, outcome.right)
      return right(undefined)
    })
  }
