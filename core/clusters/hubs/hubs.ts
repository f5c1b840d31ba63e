import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../../kernel/failure.ts'
import type { ClusterId } from '../../kernel/ids.ts'
import { at, isObject, listAt, textAt } from '../../kernel/json.ts'
import type { ClusterAnswer, ClusterApi, ClusterConnections, ClusterRequest } from '../ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../ports.ts'
import { impersonated, makeRequestAs } from '../proxy/requests.ts'
import type { Hub, HubChangeFailure, HubKey, HubKind, HubObject, HubReadFailure, Hubs } from './ports.ts'
import { HubConflict, HubDenied, HubRefused, NotAHub } from './ports.ts'

const pageSize = 500
/** Together with the page size: more objects than a hub has of any kind. */
const maxPages = 40
/** In bytes, for one page and for a whole list. */
const maxPageBytes = 8 * 1024 * 1024
const maxListBytes = 64 * 1024 * 1024

/** Returns the path of an object, or of all objects of its kind, with every name encoded. */
export const hubPath = ({ apiVersion, plural }: HubKind, { namespace, name }: Partial<HubKey> = {}): string => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${within}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

const secretForms = /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|\bBearer\s+\S+|-----BEGIN [\s\S]*?(?:-----END [^-]*-----|$)/gi
const maxMessage = 500

/** Returns the message of a Kubernetes Status without tokens and certificates; empty for any other answer. */
export const statusMessage = (json: unknown): string =>
  textAt(json, 'kind') === 'Status' ? textAt(json, 'message').replace(secretForms, '***').slice(0, maxMessage).toWellFormed() : ''

/** A missing object is reported by a Status, a kind that is not served by plain text. */
const isMissing = ({ status, json }: ClusterAnswer): boolean => status === 404 && textAt(json, 'kind') === 'Status'
const isTerminating = ({ status, json }: ClusterAnswer): boolean =>
  status === 403 && listAt(json, 'details', 'causes').some((cause) => textAt(cause, 'reason') === 'NamespaceTerminating')

const toObject = (body: unknown): HubObject | undefined => {
  const name = textAt(body, 'metadata', 'name')
  if (!isObject(body) || name === '') return undefined
  const isDeleting = textAt(body, 'metadata', 'deletionTimestamp') !== ''
  return { name, namespace: textAt(body, 'metadata', 'namespace'), uid: textAt(body, 'metadata', 'uid'), isDeleting, body }
}

/** Returns the failure of an answer that a read does not expect. */
const readFailure = (verb: string, { plural }: HubKind, isCaller: boolean, { status }: ClusterAnswer): HubReadFailure => {
  if (status === 404) return NotAHub(`The cluster is not a hub: it does not serve ${plural}.`)
  if (status === 403)
    return isCaller ? HubDenied(`The hub does not let you ${verb} ${plural}.`) : CredentialRefused(`The hub does not let the stored credential ${verb} ${plural}.`)
  if (status === 429) return ClusterUnreachable('The hub is overloaded. Try again later.')
  return ClusterUnreachable(`The hub answered ${status} to a request to ${verb} ${plural}.`)
}

/** Returns the failure of an answer that a change does not expect. */
const changeFailure = (verb: string, kind: HubKind, isCaller: boolean, answer: ClusterAnswer): HubChangeFailure => {
  if (answer.status === 409) return HubConflict('The object was changed on the hub by another request. Try again.')
  if (answer.status === 422) return HubRefused(statusMessage(answer.json) || `The hub refused to ${verb} ${kind.plural}.`)
  return readFailure(verb, kind, isCaller, answer)
}

type Send = (request: ClusterRequest) => Outcome<HubReadFailure, ClusterAnswer>

const jsonBody = (value: object): Pick<ClusterRequest, 'headers' | 'body'> => ({
  headers: [['content-type', 'application/json']],
  body: new TextEncoder().encode(JSON.stringify(value)),
})

/** Reads pages until the last one. If the hub no longer knows the place after a page, the list starts again. */
const listAll = async (send: Send, kind: HubKind, path: string, isCaller: boolean): Outcome<HubReadFailure, readonly HubObject[]> => {
  let found: HubObject[] = []
  let after = ''
  let bytesLeft = maxListBytes
  for (let page = 0; page < maxPages && bytesLeft > 0; page += 1) {
    const target = `${path}?limit=${pageSize}${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`
    const answer = await send({ method: 'GET', target, limitBytes: Math.min(maxPageBytes, bytesLeft) })
    if (isLeft(answer)) return answer
    const { status, json, text } = answer.right
    bytesLeft -= text.length
    const isExpired = status === 410 && after !== ''
    if (!isExpired && (status !== 200 || !Array.isArray(at(json, 'items')))) return left(readFailure('list', kind, isCaller, answer.right))
    found = isExpired ? [] : [...found, ...listAt(json, 'items').map(toObject).filter((object) => object !== undefined)]
    after = isExpired ? '' : textAt(json, 'metadata', 'continue')
    if (after === '' && !isExpired) return right(found)
  }
  return left(ClusterUnreachable(`The hub has more ${kind.plural} than can be listed.`))
}

interface HubAccess {
  /** Ends when the client disconnects. */
  readonly read: Send
  /** Continues to its own time limit when the client disconnects, so that the result can be recorded. */
  readonly change: Send
  /** The hub sees the caller's identity, not that of the stored credential. */
  readonly isCaller: boolean
}

const hubOf = (about: Pick<Hub, 'id' | 'ownerId' | 'name'>, { read, change, isCaller }: HubAccess): Hub => ({
  ...about,
  list: (kind, within) => listAll(read, kind, hubPath(kind, within), isCaller),

  async get(kind, key) {
    const answer = await read({ method: 'GET', target: hubPath(kind, key), limitBytes: maxPageBytes })
    if (isLeft(answer)) return answer
    if (isMissing(answer.right)) return right(undefined)
    const object = answer.right.status === 200 ? toObject(answer.right.json) : undefined
    return object === undefined ? left(readFailure('get', kind, isCaller, answer.right)) : right(object)
  },

  async create(kind, { namespace, name }, content) {
    const { apiVersion } = kind
    const object = { apiVersion, kind: kind.kind, metadata: { name, namespace }, ...content }
    const answer = await change({ method: 'POST', target: hubPath(kind, namespace === undefined ? {} : { namespace }), ...jsonBody(object) })
    if (isLeft(answer)) return answer
    const { status, json } = answer.right
    if (status === 201) return right('created')
    if (status === 409 && textAt(json, 'reason') === 'AlreadyExists') return right('exists')
    return isMissing(answer.right) || isTerminating(answer.right) ? right('unplaced') : left(changeFailure('create', kind, isCaller, answer.right))
  },

  async remove(kind, { namespace, name, uid }) {
    const target = hubPath(kind, { name, ...(namespace === '' ? {} : { namespace }) })
    const answer = await change({ method: 'DELETE', target, ...jsonBody({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }) })
    if (isLeft(answer)) return answer
    if (answer.right.status === 200 || answer.right.status === 202) return right(true)
    return isMissing(answer.right) || answer.right.status === 409 ? right(false) : left(changeFailure('delete', kind, isCaller, answer.right))
  },
})

/** Hubs with the connections, the credential and the impersonation of the proxy routes. */
export const makeHubs = (deps: { readonly connections: ClusterConnections; readonly api: Pick<ClusterApi, 'request'> }): Hubs => {
  const requestAs = makeRequestAs(deps)
  return {
    async open(call, grant) {
      const clusterId = grant.objectId as ClusterId
      const opened = await deps.connections.open(clusterId, grant.objectVersion)
      if (isLeft(opened)) return opened
      const { link } = opened.right
      const sendWithin = (signal: AbortSignal): Send => (request) => requestAs({ ...call, signal }, { clusterId, clusterVersion: link.version }, request)
      return right(
        hubOf(
          { id: clusterId, ownerId: link.ownerId, name: grant.objectName },
          { read: sendWithin(call.signal), change: sendWithin(new AbortController().signal), isCaller: impersonated(link, call.principal) !== undefined },
        ),
      )
    },
  }
}
