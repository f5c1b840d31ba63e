import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { ProxyBodyRefused, type ClusterAnswer } from './ports.ts'
import { encodedResourcePath, type ResourceRef } from './proxy-path.ts'
import { at, listAt, readSmallJson, textAt } from './small-body.ts'
import { jsonAnswer, notFound, type Ask, type Computed, type WiderAnswer } from './wider-types.ts'

/** Lists are read in one piece of at most so many. */
const listLimit = 500
const metadataOnly = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'

const isOk = (answer: ClusterAnswer): boolean => answer.status === 200
const asIs = (answer: ClusterAnswer): WiderAnswer => ({ status: answer.status, text: answer.text })
const groupPath = (group: string, version: string): string => (group === 'core' ? `/api/${version}` : `/apis/${group}/${version}`)

const getObject = (ask: Ask, ref: ResourceRef) => ask({ method: 'GET', target: encodedResourcePath({ ...ref, subresource: undefined }) })

/** The events about one object, as the cluster lists them. */
export const eventsOf = async (ask: Ask, ref: ResourceRef): Computed => {
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const selector = encodeURIComponent(`involvedObject.uid=${textAt(found.right.json, 'metadata', 'uid')}`)
  const events = encodedResourcePath({ group: 'core', version: 'v1', namespace: ref.namespace, resource: 'events', name: undefined, subresource: undefined })
  const listed = await ask({ method: 'GET', target: `${events}?fieldSelector=${selector}` })
  return isLeft(listed) ? listed : right(asIs(listed.right))
}

/** The object that manages this one: its owner reference with `controller: true`. */
export const controllerOf = async (ask: Ask, ref: ResourceRef): Computed => {
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const owner = listAt(found.right.json, 'metadata', 'ownerReferences').find((each) => at(each, 'controller') === true)
  if (owner === undefined) return right(notFound('The object has no controller.'))
  const [version = '', group = 'core'] = textAt(owner, 'apiVersion').split('/').reverse()
  const discovered = await ask({ method: 'GET', target: groupPath(group, version) })
  if (isLeft(discovered)) return discovered
  const type = listAt(discovered.right.json, 'resources').find((each) => textAt(each, 'kind') === textAt(owner, 'kind') && !textAt(each, 'name').includes('/'))
  if (type === undefined) return right(notFound("The cluster does not serve the controller's kind."))
  const namespace = at(type, 'namespaced') === true ? ref.namespace : undefined
  const target = encodedResourcePath({ group, version, namespace, resource: textAt(type, 'name'), name: textAt(owner, 'name'), subresource: undefined })
  const controller = await ask({ method: 'GET', target })
  return isLeft(controller) ? controller : right(asIs(controller.right))
}

/** The autoscalers of the namespace that scale this object. */
export const horizontalPodAutoscalersOf = async (ask: Ask, ref: ResourceRef): Computed => {
  const found = await getObject(ask, ref)
  if (isLeft(found)) return found
  if (!isOk(found.right)) return right(asIs(found.right))
  const kind = textAt(found.right.json, 'kind')
  const target = encodedResourcePath({ group: 'autoscaling', version: 'v2', namespace: ref.namespace, resource: 'horizontalpodautoscalers', name: undefined, subresource: undefined })
  const listed = await ask({ method: 'GET', target: `${target}?limit=${listLimit}` })
  if (isLeft(listed)) return listed
  if (!isOk(listed.right)) return right(asIs(listed.right))
  const items = listAt(listed.right.json, 'items').filter(
    (each) => textAt(each, 'spec', 'scaleTargetRef', 'kind') === kind && textAt(each, 'spec', 'scaleTargetRef', 'name') === ref.name,
  )
  return right(jsonAnswer(200, { ...(listed.right.json as object), items }))
}

/** `{replicas}` alone sets the number; a whole Scale is put as it is. */
export const setReplicas = async (ask: Ask, target: string, body: AsyncIterable<Uint8Array> | undefined): Computed => {
  const read = await readSmallJson(body)
  if (isLeft(read)) return read
  const replicas = at(read.right, 'replicas')
  const isWhole = at(read.right, 'spec') !== undefined
  if (!isWhole && !(Number.isInteger(replicas) && (replicas as number) >= 0 && (replicas as number) < 2 ** 31))
    return left(ProxyBodyRefused('`replicas` must be a whole number from 0.'))
  const sent = isWhole ? read.right : { spec: { replicas } }
  const contentType = isWhole ? 'application/json' : 'application/merge-patch+json'
  const put = await ask({
    method: isWhole ? 'PUT' : 'PATCH',
    target,
    headers: [['content-type', contentType]],
    body: new TextEncoder().encode(JSON.stringify(sent)),
  })
  return isLeft(put) ? put : right(asIs(put.right))
}

/** The names of every object of a group and version that the caller may list, by kind. */
export const allAvailable = async (ask: Ask, group: string, version: string): Computed => {
  const base = groupPath(group, version)
  const discovered = await ask({ method: 'GET', target: base })
  if (isLeft(discovered)) return discovered
  if (!isOk(discovered.right)) return right(asIs(discovered.right))
  const listable = listAt(discovered.right.json, 'resources').filter(
    (each) => !textAt(each, 'name').includes('/') && listAt(each, 'verbs').includes('list'),
  )
  const found: Record<string, readonly string[]> = {}
  for (const type of listable) {
    const listed = await ask({ method: 'GET', target: `${base}/${textAt(type, 'name')}?limit=${listLimit}`, headers: [['accept', metadataOnly]] })
    if (isLeft(listed)) return listed
    // What the caller may not list is left out, as if it were not there.
    if (!isOk(listed.right)) continue
    const names = listAt(listed.right.json, 'items').map((each) => textAt(each, 'metadata', 'name'))
    if (names.length > 0) found[textAt(type, 'kind')] = names
  }
  return right(jsonAnswer(200, found))
}
