import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { laterByDays, parseInstant } from '../../kernel/clock.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { isObject, listAt, toWireJson } from '../../kernel/json.ts'
import { secondOf } from '../month.ts'
import type { ResourceAmount, UnixSeconds } from '../types.ts'
import { usageProducts } from '../types.ts'
import type {
  EventRefusal,
  ObjectChange,
  ObjectChangeType,
  ObjectIdentity,
  ObservedNamespace,
  ReportedEvent,
  UsageEvent,
  UsageEventType,
} from './types.ts'
import { eventTypes, objectChangeTypes } from './types.ts'

/** The most events of one request or message. */
export const maxEvents = 1000
/** An event may be reported this long after its time. */
export const maxAgeDays = 35
/** The clock of a sender may be this much ahead of the database's. */
const maxAheadSeconds = 300
const maxAmount = 1_000_000_000
const maxReplicas = 1_000_000
const maxDetails = 100
/** In UTF-16 units of the JSON text; the column holds four times as many bytes. */
const maxJsonLength = 16_000

const earliestCreation = Date.UTC(2000, 0, 1) / 1000

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const apiGroup = /^(?=.{0,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*)?$/
const controls = /\p{Cc}/u
const isObjectName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= 253 && !controls.test(name)
const kindName = /^[A-Za-z][A-Za-z0-9]{0,62}$/

type Parsed<A> = Either<EventRefusal, A>

const invalid = (message: string): Parsed<never> => left({ reason: 'invalid', message })

const parseTime = (text: string, now: Date): Parsed<UnixSeconds> => {
  const at = parseInstant(text)
  if (at === undefined) return invalid('time must be an RFC 3339 instant.')
  if (at.getTime() > now.getTime() + maxAheadSeconds * 1000)
    return left({ reason: 'too-early', message: `time is more than ${maxAheadSeconds} seconds ahead.` })
  if (at.getTime() < laterByDays(now, -maxAgeDays).getTime())
    return left({ reason: 'too-late', message: `time is more than ${maxAgeDays} days ago.` })
  return right(secondOf(at))
}

const parseCreation = (text: string | undefined, at: UnixSeconds): Parsed<UnixSeconds> => {
  const created = text === undefined ? undefined : parseInstant(text)
  if (created === undefined) return invalid('createdAt must be an RFC 3339 instant.')
  const createdAt = secondOf(created)
  return createdAt < earliestCreation || createdAt > at + maxAheadSeconds
    ? invalid('createdAt must be after the year 1999, and not after time.')
    : right(createdAt)
}

const parseUid = (name: string, text: string | undefined): Parsed<string> => {
  const uid = text === undefined ? undefined : uuidOf(text)
  return uid !== undefined ? right(uid) : invalid(`${name} must be a UUID.`)
}

const isOne = <A extends string>(words: readonly A[], text: string | undefined): text is A =>
  (words as readonly (string | undefined)[]).includes(text)

const parseIdentity = (event: ReportedEvent, at: UnixSeconds): Parsed<ObjectIdentity> => {
  const { product, group, kind, namespace, name } = event
  if (!isOne(usageProducts, product)) return invalid(`product must be one of ${usageProducts.join(', ')}.`)
  if (group === undefined || !apiGroup.test(group)) return invalid('group must be the name of an API group.')
  if (kind === undefined || !kindName.test(kind)) return invalid('kind must be the name of a kind.')
  if (namespace === undefined || !dnsLabel.test(namespace)) return invalid('namespace must be a DNS label.')
  if (!isObjectName(name)) return invalid('name must have 1 to 253 characters, without control characters.')
  const uid = parseUid('uid', event.uid)
  if (isLeft(uid)) return uid
  const namespaceUid = parseUid('namespaceUID', event.namespaceUID)
  if (isLeft(namespaceUid)) return namespaceUid
  const createdAt = parseCreation(event.createdAt, at)
  return isLeft(createdAt)
    ? createdAt
    : right({
        product,
        group,
        kind,
        namespace,
        name,
        uid: uid.right,
        namespaceUid: namespaceUid.right,
        createdAt: createdAt.right,
      })
}

const isWithin = (value: unknown, from: number, to: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to

const parsePod = (pod: unknown): Parsed<FreeObject> => {
  const { milliCPU = 0, memoryMiB = 0, count = 1 } = isObject(pod) ? pod : {}
  return isObject(pod) &&
    isWithin(milliCPU, 0, maxAmount) &&
    isWithin(memoryMiB, 0, maxAmount) &&
    isWithin(count, 0, maxReplicas)
    ? right({ milliCpu: milliCPU, memoryMib: memoryMiB, count })
    : invalid('A pod of details has milliCPU, memoryMiB and count.')
}

const parseVolume =
  (at: UnixSeconds) =>
  (volume: unknown): Parsed<FreeObject> => {
    const { name, sizeMiB, createdAt } = isObject(volume) ? volume : {}
    if (!isObjectName(name) || !isWithin(sizeMiB, 0, maxAmount))
      return invalid('A volume of details has name, sizeMiB and createdAt.')
    const created = parseCreation(typeof createdAt === 'string' ? createdAt : undefined, at)
    return isLeft(created) ? created : right({ name, sizeMib: sizeMiB, createdAt: created.right })
  }

const parseEach = (
  items: readonly unknown[],
  parse: (item: unknown) => Parsed<FreeObject>,
): Parsed<readonly FreeObject[]> => {
  if (items.length > maxDetails) return invalid(`details has at most ${maxDetails} pods and ${maxDetails} volumes.`)
  const parsed: FreeObject[] = []
  for (const item of items) {
    const one = parse(item)
    if (isLeft(one)) return one
    parsed.push(one.right)
  }
  return right(parsed)
}

const sumOf = (pods: readonly FreeObject[], measure: 'milliCpu' | 'memoryMib'): number =>
  pods.reduce((sum, pod) => sum + Number(pod[measure]) * Number(pod['count']), 0)

const parseDetails = (details: FreeObject | undefined, at: UnixSeconds, most: ResourceAmount): Parsed<string> => {
  if (details === undefined) return right('')
  const pods = parseEach(listAt(details, 'pods'), parsePod)
  if (isLeft(pods)) return pods
  if (sumOf(pods.right, 'milliCpu') > most.milliCpu)
    return invalid('The pods of details occupy more than milliCPU, which is the sum of all replicas.')
  if (sumOf(pods.right, 'memoryMib') > most.memoryMib)
    return invalid('The pods of details occupy more than memoryMiB, which is the sum of all replicas.')
  const volumes = parseEach(listAt(details, 'volumes'), parseVolume(at))
  if (isLeft(volumes)) return volumes
  const text = toWireJson({ pods: pods.right, volumes: volumes.right })
  return text.length > maxJsonLength ? invalid(`details has more than ${maxJsonLength} characters.`) : right(text)
}

const deletion = { milliCpu: 0, memoryMib: 0, replicas: 0, details: '', isTrial: false }

const parseChange = (type: ObjectChangeType, event: ReportedEvent, at: UnixSeconds): Parsed<ObjectChange> => {
  const { generation, milliCPU, memoryMiB, replicas = 1, trial = false } = event
  if (!isWithin(generation, 0, Number.MAX_SAFE_INTEGER)) return invalid('generation must be an integer from 0.')
  if (type === 'object.deleted') return right({ type, generation, at, ...deletion })
  if (!isWithin(milliCPU, 0, maxAmount)) return invalid(`milliCPU must be an integer from 0 to ${maxAmount}.`)
  if (!isWithin(memoryMiB, 0, maxAmount)) return invalid(`memoryMiB must be an integer from 0 to ${maxAmount}.`)
  if (!isWithin(replicas, 0, maxReplicas)) return invalid(`replicas must be an integer from 0 to ${maxReplicas}.`)
  if (replicas === 0 && milliCPU + memoryMiB > 0)
    return invalid('An object with 0 replicas occupies nothing: milliCPU and memoryMiB must be 0.')
  const details = parseDetails(event.details, at, { milliCpu: milliCPU, memoryMib: memoryMiB })
  if (isLeft(details)) return details
  return right({
    type,
    generation,
    at,
    milliCpu: milliCPU,
    memoryMib: memoryMiB,
    replicas,
    details: details.right,
    isTrial: type === 'object.created' && trial,
  })
}

const parseTexts = (name: string, given: FreeObject = {}): Parsed<string> => {
  const entries = Object.entries(given)
  if (!entries.every(([, value]) => typeof value === 'string')) return invalid(`${name} must be an object of texts.`)
  const text = toWireJson(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))))
  return text.length > maxJsonLength ? invalid(`${name} has more than ${maxJsonLength} characters.`) : right(text)
}

const parseNamespace = (event: ReportedEvent, at: UnixSeconds): Parsed<ObservedNamespace> => {
  const { namespace } = event
  if (namespace === undefined || !dnsLabel.test(namespace)) return invalid('namespace must be a DNS label.')
  const uid = parseUid('namespaceUID', event.namespaceUID)
  if (isLeft(uid)) return uid
  const createdAt = parseCreation(event.createdAt, at)
  if (isLeft(createdAt)) return createdAt
  const labels = parseTexts('labels', event.labels)
  if (isLeft(labels)) return labels
  const annotations = parseTexts('annotations', event.annotations)
  if (isLeft(annotations)) return annotations
  return right({
    uid: uid.right,
    name: namespace,
    createdAt: createdAt.right,
    labels: labels.right,
    annotations: annotations.right,
    observedAt: at,
  })
}

const parseContent = (type: UsageEventType, event: ReportedEvent, at: UnixSeconds): Parsed<UsageEvent> => {
  const { id } = event
  if (type === 'cluster.heartbeat') return right({ kind: 'cluster-heard', id, at })
  if (type === 'cluster.mode-changed') {
    const { mode } = event
    if (mode === undefined || mode.length > 63) return invalid('mode must be a text of at most 63 characters.')
    return right({ kind: 'mode', id, at, mode: mode === 'prod' ? 'prod' : 'non-prod' })
  }
  if (type === 'namespace.observed') {
    const namespace = parseNamespace(event, at)
    return isLeft(namespace) ? namespace : right({ kind: 'namespace', id, at, namespace: namespace.right })
  }
  const object = parseIdentity(event, at)
  if (isLeft(object)) return object
  if (!isOne(objectChangeTypes, type)) return right({ kind: 'object-heard', id, at, object: object.right })
  const change = parseChange(type, event, at)
  return isLeft(change) ? change : right({ kind: 'change', id, at, object: object.right, change: change.right })
}

/** Checks an event that is reported at `now`. Its time is rounded down to the second. */
export const parseEvent = (event: ReportedEvent, now: Date): Parsed<UsageEvent> => {
  const { id, type } = event
  if (id === '' || id.length > 255 || controls.test(id))
    return invalid('id must have 1 to 255 characters, without control characters.')
  if (!isOne(eventTypes, type)) return invalid(`type must be one of ${eventTypes.join(', ')}.`)
  const at = parseTime(event.time, now)
  return isLeft(at) ? at : parseContent(type, event, at.right)
}
