import test from 'ava'
import { monthEnd, monthKey, monthStart } from '../../../core/usage/month.ts'
import { parseSampleArguments } from '../sample/arguments.ts'
import { clusterEvents } from '../sample/cluster-events.ts'
import { sampleVendor } from '../sample/vendor.ts'

/** The vendor of `npm run usage-sample`. */

const [start, end] = [monthStart(monthKey(2026, 8)), monthEnd(monthKey(2026, 10))]
const eventsOf = (seed: number, clusters: number) =>
  sampleVendor(seed, clusters, start, end).flatMap(({ clusters: own }) =>
    own.flatMap((cluster) => clusterEvents(seed, cluster, start, end)),
  )

test('the same seed gives the same vendor and events, another seed others', (t) => {
  t.deepEqual(sampleVendor(1, 25, start, end), sampleVendor(1, 25, start, end))
  t.deepEqual(eventsOf(1, 3), eventsOf(1, 3))
  t.notDeepEqual(eventsOf(1, 3), eventsOf(2, 3))
})

test('a vendor has the requested clusters with unique UIDs and contracts', (t) => {
  for (const count of [1, 7, 20, 101]) {
    const vendor = sampleVendor(3, count, start, end)
    const uids = vendor.flatMap(({ clusters }) => clusters.map(({ uid }) => uid))
    t.is(uids.length, count)
    t.is(new Set(uids).size, count)
    for (const { contracts, clusters } of vendor)
      for (const { bindings } of contracts) t.true(bindings.every(({ cluster }) => clusters[cluster] !== undefined))
  }
})

test('events are in order, within the months, and each has an id of its own', (t) => {
  const events = eventsOf(4, 12)
  t.true(events.length > 10_000)
  t.is(new Set(events.map(([, { id }]) => id)).size, events.length)
  t.true(events.every(([at]) => at >= start && at < end))
})

test('a wrong argument is refused with its name', (t) => {
  for (const args of [
    ['--clusters', '0'],
    ['--months', '13'],
    ['--seed', '-1'],
    ['--clusters', 'many'],
    ['--unknown'],
  ]) {
    const parsed = parseSampleArguments(args)
    t.is(parsed.kind, 'refused', args.join(' '))
    if (parsed.kind === 'refused') t.true(parsed.reason.includes(args[0] ?? ''), parsed.reason)
  }
  t.is(parseSampleArguments(['--clusters', '100', '--months', '3']).kind, 'run')
})
