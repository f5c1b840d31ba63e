import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { ClusterId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { at, definedFields, isObject, listAt, textAt, toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import type { ClusterAnswer, ClusterApi, ClusterConnections, ClusterRequest } from '../ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../ports.ts'
import { asUpstream, impersonated, makeRequestAs } from '../proxy/requests.ts'
import type {
  Edited,
  Hub,
  HubChangeFailure,
  HubEdit,
  HubKey,
  HubKind,
  HubObject,
  HubReadFailure,
  HubRight,
  HubSelection,
  Hubs,
  OwnSpokes,
} from './ports.ts'
import { HubConflict, HubDenied, HubRefused, NotAHub } from './ports.ts'

/**
 * A page of managed clusters has about one megabyte, whole or as metadata: other requests wait while it is parsed.
 * Smaller pages would be slower: an API server reads those after the first one from etcd, not from its memory.
 */
const [wholePageSize, metadataPageSize] = [500, 1000]
/** More objects than a hub has of any kind. */
const maxObjects = 20_000
/** In bytes, for one page and for a whole list. */
const maxPageBytes = 8 * 1024 * 1024
const maxListBytes = 64 * 1024 * 1024

/** Returns the path of an object, or of all objects of its kind, with every name encoded. @internal */
export const hubPath = ({ apiVersion, plural }: HubKind, { namespace, name }: Partial<HubKey> = {}): string => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${within}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

const secretForms =
  /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|\bBearer\s+\S+|-----BEGIN [\s\S]*?(?:-----END [^-]*-----|$)/gi
const maxMessage = 500

/** Returns the message of a Kubernetes Status without tokens and certificates; empty for any other answer. @internal */
export const statusMessage = (json: unknown): string =>
  textAt(json, 'kind') === 'Status'
    ? textAt(json, 'message').replace(secretForms, '***').slice(0, maxMessage).toWellFormed()
    : ''

/** A missing object is reported by a Status, a kind that is not served by plain text. */
const isMissing = ({ status, json }: ClusterAnswer): boolean => status === 404 && textAt(json, 'kind') === 'Status'
const isTerminating = ({ status, json }: ClusterAnswer): boolean =>
  status === 403 &&
  listAt(json, 'details', 'causes').some((cause) => textAt(cause, 'reason') === 'NamespaceTerminating')

const toObject = (body: unknown): HubObject | undefined => {
  const name = textAt(body, 'metadata', 'name')
  if (!isObject(body) || name === '') return undefined
  const isDeleting = textAt(body, 'metadata', 'deletionTimestamp') !== ''
  const [namespace, uid, resourceVersion] = [
    textAt(body, 'metadata', 'namespace'),
    textAt(body, 'metadata', 'uid'),
    textAt(body, 'metadata', 'resourceVersion'),
  ]
  return { name, namespace, uid, resourceVersion, isDeleting, body }
}

/**
 * Reports whether a policy of the cluster, not a missing right, is the reason why a change was denied. Webhooks may
 * answer 400 or 403.
 */
const isPolicyDenial = ({ json }: ClusterAnswer): boolean => {
  const message = textAt(json, 'message')
  return (
    /(?:^admission webhook "|ValidatingAdmissionPolicy ').*? denied (?:the )?request\b/.test(message) &&
    !/ is forbidden: user "/i.test(message)
  )
}

/**
 * Returns the right that the webhooks of OCM found missing, such as `managedclustersets/join edge`. It is beside those
 * of the request itself.
 */
const missingRight = ({ json }: ClusterAnswer): string => {
  const kind = textAt(json, 'details', 'kind')
  return /^[a-z]+\/[a-z]+$/.test(kind)
    ? ` It needs the right on ${kind} ${textAt(json, 'details', 'name')}`.trimEnd() + '.'
    : ''
}

/** Returns which webhook of the hub failed, and why; empty if none did. */
const failedWebhook = ({ json }: ClusterAnswer): string => {
  const message = statusMessage(json)
  return /failed calling webhook "/.test(message) ? ` ${message}` : ''
}

/** How failures are reported. */
interface Wording {
  readonly what: 'hub' | 'spoke'
  /** The cluster sees the caller's identity, not that of the stored credential. */
  readonly isCaller: boolean
}

/** Returns the failure of an answer that a read does not expect. */
const readFailure = (
  verb: string,
  { plural }: HubKind,
  { what, isCaller }: Wording,
  answer: ClusterAnswer,
): HubReadFailure => {
  const { status } = answer
  if (status === 404)
    return NotAHub(
      what === 'hub' ? `The cluster is not a hub: it does not serve ${plural}.` : `The spoke does not serve ${plural}.`,
    )
  if (status === 403)
    return isCaller
      ? HubDenied(`The ${what} does not let you ${verb} ${plural}.${missingRight(answer)}`)
      : CredentialRefused(`The ${what} does not let the stored credential ${verb} ${plural}.${missingRight(answer)}`)
  if (status === 429) return ClusterUnreachable(`The ${what} is overloaded. Try again later.`)
  return ClusterUnreachable(`The ${what} answered ${status} to a request to ${verb} ${plural}.${failedWebhook(answer)}`)
}

/** Returns the failure of an answer that a change does not expect. */
const changeFailure = (verb: string, kind: HubKind, wording: Wording, answer: ClusterAnswer): HubChangeFailure => {
  if (answer.status === 409)
    return HubConflict(`The object was changed on the ${wording.what} by another request. Try again.`)
  if (answer.status === 422 || isPolicyDenial(answer))
    return HubRefused(statusMessage(answer.json) || `The ${wording.what} refused to ${verb} ${kind.plural}.`)
  return readFailure(verb, kind, wording, answer)
}

type Send = (request: ClusterRequest) => Outcome<HubReadFailure, ClusterAnswer>

const jsonBody = (value: object, type = 'application/json'): Pick<ClusterRequest, 'headers' | 'body'> => ({
  headers: [['content-type', type]],
  body: new TextEncoder().encode(toWireJson(value)),
})

/** Reports whether an answer is a page of a list. Without objects, `items` may be null. */
const isPage = ({ status, json }: ClusterAnswer): boolean =>
  status === 200 && (Array.isArray(at(json, 'items')) || at(json, 'items') === null)

/**
 * Asks for the metadata of objects without the rest of them. A server that does not know this form returns whole
 * objects.
 */
const metadataForm = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'

/**
 * Reads pages until the last one, and returns what `take` returns for each of them. If the hub no longer knows the
 * place after a page, the list starts again.
 */
const listPages = async <A>(
  send: Send,
  kind: HubKind,
  selection: HubSelection,
  wording: Wording,
  take: (page: ClusterAnswer) => A,
): Outcome<HubReadFailure, readonly A[]> => {
  const { namespace, labelSelector, fieldSelector, isMetadataOnly = false } = selection
  const { pageSize = isMetadataOnly ? metadataPageSize : wholePageSize } = selection
  const query = new URLSearchParams({ limit: `${pageSize}`, ...definedFields({ labelSelector, fieldSelector }) })
  const path = `${hubPath(kind, definedFields({ namespace }))}?${query.toString()}`
  const headers: ClusterRequest['headers'] = isMetadataOnly ? [['accept', metadataForm]] : []
  let found: A[] = []
  let after = ''
  let bytesLeft = maxListBytes
  for (let page = 0; page < maxObjects / pageSize && bytesLeft > 0; page += 1) {
    const target = `${path}${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`
    const answer = await send({ method: 'GET', target, headers, limitBytes: Math.min(maxPageBytes, bytesLeft) })
    if (isLeft(answer)) return answer
    const { status, json, text } = answer.right
    bytesLeft -= text.length
    const isExpired = status === 410 && after !== ''
    if (!isExpired && !isPage(answer.right)) return left(readFailure('list', kind, wording, answer.right))
    if (isExpired) found = []
    else found.push(take(answer.right))
    after = isExpired ? '' : textAt(json, 'metadata', 'continue')
    if (after === '' && !isExpired) return right(found)
  }
  return left(ClusterUnreachable(`The ${wording.what} has more ${kind.plural} than can be listed.`))
}

const objectsOf = ({ json }: ClusterAnswer): readonly HubObject[] =>
  listAt(json, 'items')
    .map(toObject)
    .filter((object) => object !== undefined)

const makeCount =
  (read: Send, wording: Wording): Hub['count'] =>
  async (kind) => {
    const answer = await read({ method: 'GET', target: `${hubPath(kind)}?limit=1`, limitBytes: maxPageBytes })
    if (isLeft(answer)) return answer
    if (!isPage(answer.right)) return left(readFailure('list', kind, wording, answer.right))
    const { json } = answer.right
    const [items, more] = [listAt(json, 'items').length, at(json, 'metadata', 'remainingItemCount')]
    if (textAt(json, 'metadata', 'continue') === '') return right(items)
    if (typeof more === 'number') return right(items + more)
    const pages = await listPages(
      read,
      kind,
      { isMetadataOnly: true },
      wording,
      (page) => listAt(page.json, 'items').length,
    )
    return isLeft(pages) ? pages : right(pages.right.reduce((sum, objects) => sum + objects, 0))
  }

const accessReviewKind: HubKind = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
}

const reviewOf = ({ verb, kind: { apiVersion, plural }, namespace, name }: HubRight): FreeObject => {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const { apiVersion: version, kind } = accessReviewKind
  return {
    apiVersion: version,
    kind,
    spec: { resourceAttributes: { verb, group, resource: plural, ...definedFields({ namespace, name }) } },
  }
}

const makeLacking =
  (read: Send, wording: Wording): Hub['lacking'] =>
  async (rights) => {
    const target = hubPath(accessReviewKind)
    const answers = await Promise.all(
      rights.map((each) => read({ method: 'POST', target, limitBytes: maxPageBytes, ...jsonBody(reviewOf(each)) })),
    )
    const lacking: HubRight[] = []
    for (const [index, answer] of answers.entries()) {
      if (isLeft(answer)) return answer
      const allowed = at(answer.right.json, 'status', 'allowed')
      if (typeof allowed !== 'boolean') return left(readFailure('create', accessReviewKind, wording, answer.right))
      if (!allowed) lacking.push(rights[index] as HubRight)
    }
    return right(lacking)
  }

interface HubAccess {
  /** Ends when the client disconnects. */
  readonly read: Send
  /** Continues to its own time limit when the client disconnects, so that the result can be recorded. */
  readonly change: Send
  readonly wording: Wording
  /** Waits a short random time before an attempt is repeated. */
  readonly backOff: () => Promise<void>
}

/** How often an edit is judged and sent before another writer wins. */
const maxAttempts = 5

/** Returns the patch that takes effect only on the version that was read: on another one the answer is 409. */
const guardedPatch = (edit: HubEdit, { resourceVersion }: HubObject): Pick<ClusterRequest, 'headers' | 'body'> =>
  'merge' in edit
    ? jsonBody(
        { ...edit.merge, metadata: { ...metadataIn(edit.merge), resourceVersion } },
        'application/merge-patch+json',
      )
    : jsonBody(
        [...edit.operations, { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }],
        'application/json-patch+json',
      )

/** The name under which server-side apply records the fields of this service. */
const fieldManager = 'moorage'

const keyOf = ({ namespace, name }: HubObject): HubKey => ({
  name,
  ...definedFields({ namespace: namespace === '' ? undefined : namespace }),
})

const metadataIn = (content: FreeObject): FreeObject => (isObject(content['metadata']) ? content['metadata'] : {})

/** Returns the whole object that is sent to create it. */
const objectOf = ({ apiVersion, kind }: HubKind, { namespace, name }: HubKey, content: FreeObject): FreeObject => ({
  ...content,
  apiVersion,
  kind,
  metadata: { ...metadataIn(content), ...definedFields({ namespace }), name },
})

const makeGet =
  (read: Send, wording: Wording): Hub['get'] =>
  async (kind, key) => {
    const answer = await read({ method: 'GET', target: hubPath(kind, key), limitBytes: maxPageBytes })
    if (isLeft(answer)) return answer
    if (isMissing(answer.right)) return right(undefined)
    const object = answer.right.status === 200 ? toObject(answer.right.json) : undefined
    return object === undefined ? left(readFailure('get', kind, wording, answer.right)) : right(object)
  }

const hubOf = (
  about: Pick<Hub, 'id' | 'ownerId' | 'name'>,
  { read, change: send, wording, backOff }: HubAccess,
): Hub => {
  const get = makeGet(read, wording)

  /** Returns undefined if the object does not exist, or its namespace does not. */
  const sendObject = async (
    kind: HubKind,
    verb: string,
    request: ClusterRequest,
  ): Outcome<HubChangeFailure, HubObject | undefined> => {
    const answer = await send({ ...request, limitBytes: maxPageBytes })
    if (isLeft(answer)) return answer
    if (isMissing(answer.right)) return right(undefined)
    const object = answer.right.status === 200 || answer.right.status === 201 ? toObject(answer.right.json) : undefined
    return object === undefined ? left(changeFailure(verb, kind, wording, answer.right)) : right(object)
  }

  return {
    ...about,
    get,
    count: makeCount(read, wording),
    lacking: makeLacking(read, wording),

    async list(kind, selection = {}) {
      const pages = await listPages(read, kind, selection, wording, objectsOf)
      return isLeft(pages) ? pages : right(pages.right.flat())
    },

    pages: (kind, take) => listPages(read, kind, {}, wording, ({ text }) => take(text)),

    async create(kind, key, content) {
      const target = hubPath(kind, definedFields({ namespace: key.namespace }))
      const answer = await send({ method: 'POST', target, ...jsonBody(objectOf(kind, key, content)) })
      if (isLeft(answer)) return answer
      const { status, json } = answer.right
      if (status === 201) return right('created')
      if (status === 409 && textAt(json, 'reason') === 'AlreadyExists') return right('exists')
      return isMissing(answer.right) || isTerminating(answer.right)
        ? right('unplaced')
        : left(changeFailure('create', kind, wording, answer.right))
    },

    async edit<F extends Failure>(
      kind: HubKind,
      key: HubKey,
      change: (object: HubObject) => Either<F, HubEdit | undefined>,
      known?: HubObject,
    ): Outcome<HubChangeFailure | F, Edited> {
      for (let attempt = 1; ; attempt += 1) {
        const found = known !== undefined && attempt === 1 ? right(known) : await get(kind, key)
        if (isLeft(found)) return found
        if (found.right === undefined) return right('missing')
        const edit = change(found.right)
        if (isLeft(edit)) return edit
        if (edit.right === undefined) return right('unchanged')
        const changed = await sendObject(kind, 'patch', {
          method: 'PATCH',
          target: hubPath(kind, key),
          ...guardedPatch(edit.right, found.right),
        })
        if (!isLeft(changed)) return right(changed.right === undefined ? 'missing' : 'changed')
        if (changed.left.tag !== 'HubConflict' || attempt === maxAttempts) return changed
        await backOff()
      }
    },

    apply: (kind, key, content) =>
      sendObject(kind, 'apply', {
        method: 'PATCH',
        target: `${hubPath(kind, key)}?fieldManager=${fieldManager}`,
        ...jsonBody(objectOf(kind, key, content), 'application/apply-patch+yaml'),
      }),

    async createWithin(kind, key, subresource, content) {
      const answer = await send({
        method: 'POST',
        target: `${hubPath(kind, key)}/${subresource}`,
        ...jsonBody(content),
      })
      if (isLeft(answer)) return answer
      if (isMissing(answer.right)) return right(undefined)
      const { status, json } = answer.right
      return (status === 200 || status === 201) && isObject(json)
        ? right(json)
        : left(changeFailure('create', kind, wording, answer.right))
    },

    replaceWithin: (kind, object, subresource, body) =>
      sendObject(kind, 'update', {
        method: 'PUT',
        target: `${hubPath(kind, keyOf(object))}/${subresource}`,
        ...jsonBody(body),
      }),

    async remove(kind, object, { asRead } = { asRead: false }) {
      const preconditions = { uid: object.uid, ...(asRead ? { resourceVersion: object.resourceVersion } : {}) }
      const answer = await send({
        method: 'DELETE',
        target: hubPath(kind, keyOf(object)),
        ...jsonBody({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions }),
      })
      if (isLeft(answer)) return answer
      if (answer.right.status === 200 || answer.right.status === 202) return right(true)
      return isMissing(answer.right) || answer.right.status === 409
        ? right(false)
        : left(changeFailure('delete', kind, wording, answer.right))
    },
  }
}

/** Names the cluster that did not answer in time: a page, or a task, asks several. */
const naming =
  (what: Wording['what'], name: string, send: Send): Send =>
  async (request) => {
    const answer = await send(request)
    return isLeft(answer) && answer.left.kind === 'GatewayTimeout'
      ? left({ ...answer.left, message: answer.left.message.replace(/^The cluster\b/, `The ${what} ${name}`) })
      : answer
  }

interface HubDeps {
  readonly connections: ClusterConnections
  readonly api: Pick<ClusterApi, 'request'>
  readonly pause: Pause
  readonly entropy: Entropy
}

/** Hubs with the connections, the credential and the impersonation of the proxy routes. */
export const makeHubs = (deps: HubDeps): Hubs => {
  const requestAs = makeRequestAs(deps)
  const open = async (
    what: Wording['what'],
    call: SignedInCall<never>,
    grant: AccessGrant,
  ): ReturnType<Hubs['open']> => {
    // An object of a hub has no row: authorization found the record of the hub.
    const { id, name, version } = grant.container ?? {
      id: grant.objectId,
      name: grant.objectName,
      version: grant.objectVersion,
    }
    const clusterId = id as ClusterId
    const opened = await deps.connections.open(clusterId, version, call.principal.userId)
    if (isLeft(opened)) return opened
    const { link } = opened.right
    const sendWithin = (signal: AbortSignal): Send =>
      naming(what, name, (request) =>
        requestAs({ ...call, signal }, { clusterId, clusterVersion: link.version }, request),
      )
    return right(
      hubOf(
        { id: clusterId, ownerId: link.ownerId, name },
        {
          read: sendWithin(call.signal),
          change: sendWithin(new AbortController().signal),
          wording: { what, isCaller: impersonated(opened.right, call.principal) !== undefined },
          backOff: () => deps.pause(20 + (deps.entropy.bytes(1)[0] ?? 0), call.signal),
        },
      ),
    )
  }
  return { open: (call, grant) => open('hub', call, grant), openSpoke: (call, grant) => open('spoke', call, grant) }
}

/** OwnSpokes with the connections of records. */
export const makeOwnSpokes = ({ api, pause, entropy }: Omit<HubDeps, 'connections'>): OwnSpokes => ({
  open(connection, signal) {
    const { id, ownerId, name } = connection.link
    const send = naming('spoke', name, async (request) => {
      const asked = await api.request(connection, request, signal)
      return isLeft(asked) ? left(asUpstream(asked.left)) : asked
    })
    return hubOf(
      { id, ownerId, name },
      {
        read: send,
        change: send,
        wording: { what: 'spoke', isCaller: false },
        backOff: () => pause(20 + (entropy.bytes(1)[0] ?? 0), signal),
      },
    )
  },
})
