import { distribution } from '../../../core/clusters/hub-types.ts'
import { daySeconds } from '../../../core/usage/month.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import type { Random } from './random.ts'
import { makeRandom } from './random.ts'
import type { SampleCluster } from './vendor.ts'

const kinds: readonly [readonly [group: string, kind: string], ...(readonly [group: string, kind: string])[]] = [
  ['databases.example.com', 'Postgres'],
  ['databases.example.com', 'Postgres'],
  ['databases.example.com', 'MySQL'],
  ['databases.example.com', 'Redis'],
  ['databases.example.com', 'MongoDB'],
  ['search.example.com', 'Elasticsearch'],
]
const namespaces = ['shop', 'billing', 'identity', 'analytics', 'demo'] as const
const words: readonly [string, ...string[]] = [
  'orders',
  'customers',
  'sessions',
  'catalogue',
  'audit',
  'prices',
  'stock',
  'mail',
  'search',
  'reports',
]

const timeText = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** An event with its time in seconds. */
type TimedEvent = readonly [at: number, event: ReportedEvent]

/** Returns the events of a cluster from `start` to `end`, ascending in time. The same seed gives the same events. */
export const clusterEvents = (
  seed: number,
  cluster: SampleCluster,
  start: number,
  end: number,
): readonly TimedEvent[] => {
  const random = makeRandom(`${seed}/${cluster.uid}`)
  const from = Math.max(start, cluster.from)
  const places = namespaces.map((name) => [name, random.uuid()] as const)
  const timed: TimedEvent[] = []
  const add = (at: number, type: string, id: string, more: Partial<ReportedEvent> = {}): void => {
    if (at >= from && at < end) timed.push([at, { id, type, time: timeText(at), ...more }])
  }
  add(from, 'cluster.mode-changed', `mode-${cluster.uid}`, { mode: cluster.mode })
  for (const [name, uid] of places)
    add(from, 'namespace.observed', `namespace-${uid}`, {
      namespace: name,
      namespaceUID: uid,
      createdAt: timeText(from),
      labels: { team: name, ...(name === 'demo' ? { [distribution.clientOrgLabel]: 'true' } : {}) },
    })
  for (let at = from; at < end; at += 3600) add(at, 'cluster.heartbeat', `heard-${cluster.uid}-${at}`)
  const objects = random.between(8, 40)
  for (let n = 0; n < objects; n += 1) addObject(random, add, { n, places, from, end })
  if (random.chance(0.3)) addBackup(random, add, { from, end, place: places[0] ?? ['shop', random.uuid()] })
  const { silence } = cluster
  return timed
    .filter(([at]) => silence === undefined || at < silence.from || at >= silence.to)
    .sort(([a], [b]) => a - b)
}

type Add = (at: number, type: string, id: string, more?: Partial<ReportedEvent>) => void
type Place = readonly [name: string, uid: string]

const addObject = (
  random: Random,
  add: Add,
  {
    n,
    places,
    from,
    end,
  }: { readonly n: number; readonly places: readonly Place[]; readonly from: number; readonly end: number },
): void => {
  const [namespace, namespaceUID] = places[random.between(0, places.length - 1)] ?? places[0] ?? ['shop', random.uuid()]
  const [group, kind] = random.oneOf(kinds)
  const createdAt = random.chance(0.6) ? from : random.between(from, end - 3600)
  const uid = random.uuid()
  const name = random.chance(0.04)
    ? `${random.oneOf(words)}-a-name-that-is-much-too-long-for-its-column-in-a-table-${n}`
    : `${random.oneOf(words)}-${n + 1}`
  const identity = {
    product: 'dbProduct',
    group,
    kind,
    uid,
    namespace,
    namespaceUID,
    name,
    createdAt: timeText(createdAt),
  }
  let milliCPU = random.between(1, 16) * 250
  let memoryMiB = random.between(1, 16) * 512
  const size = random.between(1, 20) * 10_240
  const occupied = () => ({
    milliCPU,
    memoryMiB,
    replicas: 3,
    details: {
      pods: [{ milliCPU: Math.floor(milliCPU / 3), memoryMiB: Math.floor(memoryMiB / 3), count: 3 }],
      volumes: [{ name: `data-${name.slice(0, 40)}`, sizeMiB: size, createdAt: timeText(createdAt) }],
    },
  })
  add(createdAt, 'object.created', `${uid}.1`, {
    ...identity,
    generation: 1,
    trial: namespace === 'demo',
    ...occupied(),
  })
  let at = createdAt
  for (let generation = 2; generation <= 6; generation += 1) {
    at += random.between(2, 40) * daySeconds + random.between(0, daySeconds)
    if (at >= end) return
    if (random.chance(0.2)) return add(at, 'object.deleted', `${uid}.${generation}`, { ...identity, generation })
    const factor = random.oneOf([0.5, 1.5, 2])
    milliCPU = Math.max(100, Math.round(milliCPU * factor))
    memoryMiB = Math.max(256, Math.round(memoryMiB * factor))
    add(at, 'object.resized', `${uid}.${generation}`, { ...identity, generation, ...occupied() })
  }
}

const addBackup = (
  random: Random,
  add: Add,
  {
    from,
    end,
    place: [namespace, namespaceUID],
  }: { readonly from: number; readonly end: number; readonly place: Place },
): void => {
  const createdAt = random.between(from, end - 3600)
  const uid = random.uuid()
  add(createdAt, 'object.created', `${uid}.1`, {
    product: 'backupProduct',
    group: 'backup.example.com',
    kind: 'BackupPlan',
    uid,
    namespace,
    namespaceUID,
    name: 'nightly',
    createdAt: timeText(createdAt),
    generation: 1,
    milliCPU: 250,
    memoryMiB: 512,
    replicas: 1,
  })
}
