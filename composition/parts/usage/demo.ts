import { isLeft } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../../core/kernel/clock.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import {
  UsageClusterStorePort,
  UsageEventUnitOfWorkPort,
  UsageKindStorePort,
  UsageUpkeepUnitOfWorkPort,
} from '../../../core/usage/events/ports.ts'
import { makeRecentlyHeard } from '../../../core/usage/events/recently-heard.ts'
import { makeRecordEvents } from '../../../core/usage/events/recording.ts'
import { makeEventReports, newEventCounters } from '../../../core/usage/events/reports.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import { makeCarryIntervals } from '../../../core/usage/events/upkeep.ts'
import { laterByMonths, monthEnd, monthOf, monthStart, monthText } from '../../../core/usage/month.ts'
import { CloseMonthPort } from '../../../core/usage/months/close.ts'
import type { MonthKey, UnixSeconds } from '../../../core/usage/types.ts'
import type { DemoCluster, DemoSeeder, DemoWorld } from '../../part/part.ts'

/** The months before the present one for which there is usage. */
const wholeMonths = 3
const heartbeatSeconds = 6 * 3600
const daySeconds = 86_400
const mostEvents = 500

interface Database {
  readonly kind: string
  readonly name: string
  readonly milliCPU: number
  readonly memoryMiB: number
  /** The day, from the first one on, on which it is made twice as large; 0 for none. */
  readonly growsOn: number
}

const databases: readonly Database[] = [
  { kind: 'Postgres', name: 'orders', milliCPU: 2000, memoryMiB: 8192, growsOn: 40 },
  { kind: 'MySQL', name: 'customers', milliCPU: 1000, memoryMiB: 4096, growsOn: 0 },
  { kind: 'Redis', name: 'sessions', milliCPU: 500, memoryMiB: 2048, growsOn: 65 },
]

const timeText = (at: number): string => new Date(at * 1000).toISOString()

/** Returns what a cluster reports in a time, ascending. The ids are the same each time. */
const eventsOf = ({ uid, mode }: DemoCluster, start: number, end: number): readonly ReportedEvent[] => {
  const namespace = { namespace: 'shop', namespaceUID: uid.replace(/^de3/, 'de4') }
  const timed: (readonly [at: number, event: ReportedEvent])[] = []
  const add = (at: number, type: string, id: string, more: Partial<ReportedEvent> = {}): void => {
    if (at < end) timed.push([at, { id: `${id}-${uid}`, type, time: timeText(at), ...more }])
  }
  add(start, 'cluster.mode-changed', 'mode', { mode })
  add(start, 'namespace.observed', 'namespace', { ...namespace, createdAt: timeText(start), labels: { team: 'shop' } })
  for (let at = start; at < end; at += heartbeatSeconds) add(at, 'cluster.heartbeat', `heard-${at}`)
  for (const [n, { kind, name, milliCPU, memoryMiB, growsOn }] of databases.entries()) {
    const identity = {
      product: 'dbProduct',
      group: 'databases.example.com',
      kind,
      name,
      uid: uid.replace(/^de3/, `de${n + 5}`),
      createdAt: timeText(start),
      ...namespace,
    }
    const size = (factor: number) => ({ milliCPU: milliCPU * factor, memoryMiB: memoryMiB * factor, replicas: 3 })
    add(start, 'object.created', `made-${name}`, { ...identity, generation: 1, ...size(1) })
    if (growsOn > 0)
      add(start + growsOn * daySeconds, 'object.resized', `grown-${name}`, { ...identity, generation: 2, ...size(2) })
  }
  return timed.toSorted(([one], [other]) => one - other).map(([, event]) => event)
}

/** Records events as if each had been reported in its time. */
const makeRecorder = ({ container }: DemoWorld, clock: Clock) => {
  const caches = container.resolve(CachesPort)
  const ownCall = makeOwnCall(container.resolve(EntropyPort))
  const clusters = container.resolve(UsageClusterStorePort)
  const recent = makeRecentlyHeard(caches)
  const recordEvents = makeRecordEvents({
    clock,
    recent,
    kinds: container.resolve(UsageKindStorePort),
    unitOfWork: container.resolve(UsageEventUnitOfWorkPort),
  })
  const reports = makeEventReports({
    clusters,
    clock,
    caches,
    ownCall,
    recent,
    recordEvents,
    counters: newEventCounters(),
    transactions: 1,
  })
  const unitOfWork = container.resolve(UsageUpkeepUnitOfWorkPort)
  return { reports, carry: () => makeCarryIntervals({ clock, clusters, unitOfWork })(ownCall('demo.seed')) }
}

/** Usage of three months and of the present one so far; the months are closed as their time has come. */
export const seedUsage: DemoSeeder = async (world) => {
  const { customers, now, tell } = world
  const nowSeconds = Math.floor(now.getTime() / 1000) as UnixSeconds
  const present = monthOf(nowSeconds)
  const months = Array.from({ length: wholeMonths + 1 }, (_, n) => laterByMonths(present, n - wholeMonths))
  const first = monthStart(months[0] ?? present)
  const owned = await Promise.all(
    customers.map(async ({ name, clusters }) => ({ name, clusters, ownerId: (await world.idOf(name)) as AccountId })),
  )
  let at = now
  const clock: Clock = { now: () => at }
  for (const month of months) {
    const [start, end] = [monthStart(month), Math.min(monthEnd(month), nowSeconds - 60)]
    at = new Date((start + 60) * 1000)
    const { reports, carry } = makeRecorder(world, clock)
    await carry()
    at = new Date((end - 1) * 1000)
    for (const { name, ownerId, clusters } of owned) {
      tell(`usage of ${name}, ${monthText(month)}`)
      for (const cluster of clusters) {
        const events = eventsOf(cluster, first, nowSeconds - 60).filter(({ time = '' }) => {
          const seconds = Date.parse(time) / 1000
          return seconds >= start && seconds < end
        })
        for (let from = 0; from < events.length; from += mostEvents) {
          const some = events.slice(from, from + mostEvents)
          const results = await reports.record({ ownerId, clusterUid: cluster.uid, events: some })
          if (isLeft(results)) throw new Error(results.left.message)
          const refused = results.right.find(({ result }) => result === 'refused')
          if (refused !== undefined) throw new Error(`An event of the demonstration was refused: ${monthText(month)}.`)
        }
      }
    }
  }
  at = now
  await makeRecorder(world, clock).carry()
  await closeMonths(world, months.slice(0, -1), owned)
}

const closeMonths = async (
  { container, tell }: DemoWorld,
  months: readonly MonthKey[],
  owned: readonly { readonly name: string; readonly ownerId: AccountId }[],
): Promise<void> => {
  const close = container.resolve(CloseMonthPort)
  const ownCall = makeOwnCall(container.resolve(EntropyPort))
  for (const month of months)
    for (const { name, ownerId } of owned) {
      tell(`month ${monthText(month)} of ${name}`)
      const closed = await close(ownCall('demo.seed'), { ownerId, month })
      if (isLeft(closed)) throw new Error(closed.left.message)
    }
}
