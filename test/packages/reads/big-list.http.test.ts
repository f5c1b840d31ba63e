import test from 'ava'
import { expectStatus } from '../../clusters/cluster-world.ts'
import { openReadsWorld, type ReadsWorld } from './reads-world.ts'
import { recordObject, type RecordOf } from './records.ts'

/** Two thousand records: 400 releases in 20 namespaces with five revisions each. */
let world: ReadsWorld
const records: readonly RecordOf[] = Array.from({ length: 2000 }, (_, index) => {
  const release = Math.floor(index / 5)
  const version = (index % 5) + 1
  const status = version < 5 ? 'superseded' : release % 10 === 0 ? 'failed' : release % 10 === 1 ? 'pending-upgrade' : 'deployed'
  return { name: `release-${release}`, namespace: `team-${release % 20}`, version, status, lastDeployed: new Date(Date.UTC(2026, 0, 1) + ((release * 7919) % 400) * 1000).toISOString() }
})
const newest = records.filter(({ version }) => version === 5)

test.before(async () => {
  world = await openReadsWorld()
  for (const record of records) world.fake.put(await recordObject('Secret', record))
})
test.after.always(() => world.stop())

interface Row { readonly name: string; readonly version: number; readonly info: { readonly status: string } }
const fetched = (): number => world.fake.calls.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets').length
const rows = async (query: string): Promise<readonly Row[]> => (await expectStatus(world.get(`/v3/releases${query}`), 200)).json as readonly Row[]
const names = (list: readonly { readonly name: string }[]): readonly string[] => list.map(({ name }) => name)
const byName = (list: readonly RecordOf[]): readonly RecordOf[] => list.toSorted((a, b) => (a.name < b.name ? -1 : 1))
const byDate = (list: readonly RecordOf[]): readonly RecordOf[] => list.toSorted((a, b) => Date.parse(a.lastDeployed ?? '') - Date.parse(b.lastDeployed ?? ''))

test.serial('a page of a long list fetches what it shows, once', async (t) => {
  const shown = byName(newest.filter(({ status }) => status !== 'pending-upgrade')).slice(30, 55)
  t.deepEqual(names(await rows('?limit=25&offset=30')), names(shown))
  t.is(fetched(), 25)
  t.deepEqual(names(await rows('?limit=25&offset=30&sort=name')), names(shown))
  t.is(fetched(), 25)
})

test.serial('a whole list has each release once, in the order that was asked for, and is asked from the cluster once', async (t) => {
  const all = await rows('?all=true')
  t.deepEqual(all.map(({ name, version, info }) => [name, version, info.status]), byName(newest).map(({ name, version, status }) => [name, version, status]))
  t.is(fetched(), 400)
  const before = world.fake.calls.length
  t.deepEqual(names(await rows('?all=true&sort=date')), names(byDate(newest)))
  t.deepEqual(names(await rows('?all=true&sort=date-desc')), names(byDate(newest).toReversed()))
  t.deepEqual(names(await rows('?all=true&sort=name-desc&filter=7%24')), names(byName(newest.filter(({ name }) => name.endsWith('7'))).toReversed()))
  t.deepEqual(names(await rows('?pending=true')), names(byName(newest.filter(({ status }) => status === 'pending-upgrade'))))
  t.deepEqual(names(await rows('?namespace=team-3&all=true')), names(byName(newest.filter(({ namespace }) => namespace === 'team-3'))))
  // Four pages of metadata for each list of all namespaces, one for the namespace.
  t.deepEqual(world.fake.calls.slice(before).map(({ verb }) => verb), Array.from({ length: 4 * 4 + 1 }, () => 'list'))
  t.is((await rows('?superseded=true')).length, 1600)
})
