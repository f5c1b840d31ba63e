import test from 'ava'
import fc from 'fast-check'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { reportOutages } from '../../../core/usage/outages/outages.ts'
import type { OutageId } from '../../../core/usage/outages/ports.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'
import type { PopulatedService } from '../../support/populated-service.ts'
import { populatedClusterUid, startPopulatedService } from '../../support/populated-service.ts'

/** Outages of the platform, as site admins record them. */

let service: PopulatedService
const path = '/api/v1/dashboard/system-outages'

test.before(async () => {
  service = await startPopulatedService({ MOORAGE_BILLING_ENABLED: 'true' })
})
test.after.always(() => service?.stop())

const at = (hours: number): string => new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000).toISOString()
const record = (body: object, token = service.adminToken) => service.send('POST', path, { token, body })
const report = async (query = '') =>
  (await service.send('GET', `${path}/report${query}`, { token: service.adminToken })).json

test.serial('outages are recorded, listed by start and added up', async (t) => {
  const [ago10, ago9, ago6, ago4] = [at(-10), at(-9), at(-6), at(-4)]
  const all = await record({ start: ago10, end: ago9, tags: ['network', ' bus ', 'bus'], comments: 'a cable' })
  t.is(all.status, 201, all.text)
  t.like(all.json, {
    accountID: 0,
    accountName: '',
    clusterID: '',
    start: ago10,
    end: ago9,
    tags: ['bus', 'network'],
    comments: 'a cable',
  })
  const one = await record({ accountName: 'HARBOUR', start: ago6, end: ago4, tags: ['bus'] })
  t.like(one.json, { accountID: service.fixture.id('organization'), accountName: 'harbour' })
  t.is(
    (await record({ accountName: 'harbour', clusterID: populatedClusterUid.toUpperCase(), start: ago6, end: ago4 }))
      .json.clusterID,
    populatedClusterUid,
  )
  const { report: sums, entries } = await report()
  t.deepEqual(
    entries.map(({ start }: { start: string }) => start),
    [ago6, ago6, ago10],
  )
  t.deepEqual(sums, {
    totalOutages: 3,
    totalDurationHours: 5,
    topTagsPercentage: [
      { tag: 'bus', percentage: 66.67 },
      { tag: 'network', percentage: 33.33 },
    ],
    topAccountsDuration: [
      { entity: String(service.fixture.id('organization')), entityName: 'harbour', durationHours: 4, percentage: 80 },
    ],
    topClustersDuration: [
      { entity: populatedClusterUid, entityName: populatedClusterUid, durationHours: 2, percentage: 40 },
    ],
  })
  const counts = [
    `?account_id=${service.fixture.id('organization')}`,
    '?account_id=999999',
    `?cluster_id=${populatedClusterUid}`,
    `?start=${ago9}`,
    '?tags=network',
    '?tags=network&tags=bus',
    '?tags=none',
  ].map(async (query) => (await report(query)).report.totalOutages)
  t.deepEqual(await Promise.all(counts), [2, 0, 1, 2, 1, 2, 0])
  t.deepEqual((await service.send('GET', `${path}/tags`, { token: service.adminToken })).json, ['bus', 'network'])
  t.is((await record({ start: ago10, end: ago9 })).status, 409)
  t.is(service.rows("select * from audit_events where action = 'usage_outage.recorded'").length, 3)
})

test.serial('invalid outages are refused, and people who are not site admins too', async (t) => {
  const count = () => service.rows('select * from usage_outages').length
  const before = count()
  for (const [title, body, status] of [
    ['an end before the start', { start: at(-4), end: at(-5) }, 400],
    ['no duration', { start: at(-4), end: at(-4) }, 400],
    ['an end in the future', { start: at(-4), end: at(1) }, 400],
    ['more than a year', { start: at(-24 * 400), end: at(-4) }, 400],
    ['no start', { end: at(-4) }, 422],
    ['the year 9999', { start: '9998-01-01T00:00:00Z', end: '9999-01-01T00:00:00Z' }, 400],
    ['a cluster that is no UUID', { start: at(-4), end: at(-3), clusterID: 'pier' }, 400],
    ['an account that does not exist', { start: at(-4), end: at(-3), accountName: 'nobody-here' }, 422],
    ['an empty tag', { start: at(-4), end: at(-3), tags: [' '] }, 400],
    ['too many tags', { start: at(-4), end: at(-3), tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }, 400],
  ] as const)
    t.is((await record(body)).status, status, title)
  const alice = await service.tokenFor('alice')
  t.is((await record({ start: at(-4), end: at(-3) }, alice)).status, 403)
  t.is((await service.send('GET', `${path}/report`, { token: alice })).status, 403)
  t.is((await service.send('GET', `${path}/tags`, { token: alice })).status, 403)
  t.is(count(), before)
})

test('the report of any outages: durations add up, and no share exceeds the whole', (t) => {
  const outage = fc.record({
    id: fc.nat().map((id) => id as OutageId),
    owner: fc.option(
      fc.integer({ min: 1, max: 20 }).map((id) => ({ id: id as AccountId, name: `a${id}` })),
      { nil: undefined },
    ),
    clusterUid: fc.constantFrom('', 'x', 'y'),
    from: fc.integer({ min: 0, max: 1000 }).map((from) => from as UnixSeconds),
    to: fc.integer({ min: 1001, max: 100_000 }).map((to) => to as UnixSeconds),
    tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
    comments: fc.string(),
    createdAt: fc.constant(new Date(0)),
  })
  fc.assert(
    fc.property(fc.array(outage, { maxLength: 30 }), (outages) => {
      const { totalDurationHours, topAccounts, topClusters, topTags } = reportOutages(outages)
      t.true(Math.abs(totalDurationHours - outages.reduce((sum, { from, to }) => sum + to - from, 0) / 3600) < 0.001)
      for (const shares of [topAccounts, topClusters])
        t.true(shares.reduce((sum, { percentage }) => sum + percentage, 0) <= 100.1 && shares.length <= 10)
      t.true(topTags.every(({ percentage }) => percentage > 0 && percentage <= 100))
    }),
  )
})
