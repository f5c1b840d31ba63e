import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { ProxyBodyRefused } from './ports.ts'
import { encodedResourcePath, parseProxyPath, type ResourceRef } from './proxy-path.ts'
import { listAt, readSmallJson, textAt } from './small-body.ts'
import { jsonAnswer, type Ask, type Computed } from './wider-types.ts'

const maxResources = 100

/** A resource of the request, by the same rules as a path. An empty group is the legacy group. */
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
  const words = [ref.group, ref.version, ...(ref.namespace === undefined ? [] : ['namespaces', ref.namespace]), ref.resource, ref.name ?? '']
  const parsed = parseProxyPath(`/${words.map(encodeURIComponent).join('/')}`)
  const isSame = !isLeft(parsed) && parsed.right.form === 'resource' && encodedResourcePath(parsed.right.ref) === encodedResourcePath(ref)
  return isSame && ref.name !== '' ? right(ref) : left(ProxyBodyRefused('`resources` must hold version, resource and name of Kubernetes objects.'))
}

/** Deletes each resource and tells each one's Status. One that fails does not stop the others. */
export const batchDelete = async (ask: Ask, body: AsyncIterable<Uint8Array> | undefined): Computed => {
  const read = await readSmallJson(body)
  if (isLeft(read)) return read
  const items = listAt(read.right, 'resources')
  if (items.length === 0 || items.length > maxResources) return left(ProxyBodyRefused(`\`resources\` must hold 1 to ${maxResources} entries.`))
  const refs: ResourceRef[] = []
  for (const item of items) {
    const ref = readRef(item)
    if (isLeft(ref)) return ref
    refs.push(ref.right)
  }
  const resourcesStatus: unknown[] = []
  for (const [index, ref] of refs.entries()) {
    const deleted = await ask({ method: 'DELETE', target: encodedResourcePath(ref) })
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
      // Kubernetes answers some deletions with the object itself.
      status: isStatus ? json : { kind: 'Status', apiVersion: 'v1', metadata: {}, status: status < 300 ? 'Success' : 'Failure', code: status, ...(status < 300 ? {} : { message: text.slice(0, 500) }) },
    })
  }
  return right(jsonAnswer(200, { resourcesStatus }))
}
