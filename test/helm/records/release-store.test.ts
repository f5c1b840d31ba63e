// process: waiting - uses components
import test from 'ava'
import fc from 'fast-check'
import { amendInfo } from '../../../adapters/helm/records/record-members.ts'
import { packedBytes, unpackSync } from '../../../adapters/helm/records/record-payload.ts'
import { makeHelmReleaseStore } from '../../../adapters/helm/records/release-store.ts'
import type { ReleaseRecordRef, StorageDriver } from '../../../core/packages/types.ts'
import { storageDrivers } from '../../../core/packages/types.ts'
import { casesOf } from '../../support/cases-of.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import type { KubeObject } from '../../support/fake-api/kube-object.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'
import { memberOf } from './member-of.ts'
import type { RecordOf } from './records.ts'
import { goJson, keys, only, recordObject, releaseJson, someRecords } from './records.ts'

const signal = new AbortController().signal

const at = new Date('2026-11-21T08:00:00.123Z')

const openFixture = async () => {
  const fake = await startFakeApi({ progresses: false })
  const member = memberOf(fake)
  const store = makeHelmReleaseStore({ clock: { now: () => at } })
  return {
    fake,
    store,
    ann: member.as('ann'),
    bob: member.as('bob'),
    as: member.as,
    put: async (driver: StorageDriver, ...records: readonly RecordOf[]) => {
      const made: KubeObject[] = []
      for (const record of records) made.push(fake.put(await recordObject(driver, record)))
      return made
    },
    close: async () => {
      await Promise.all([store.close(), member.close()])
      await fake.stop()
    },
  }
}
type Fixture = Awaited<ReturnType<typeof openFixture>>
const onFixture = casesOf('HelmReleaseStore', openFixture)

const gets = ({ fake }: Fixture): number => fake.calls.filter(({ verb }) => verb === 'get').length
const lists = ({ fake }: Fixture): readonly string[] =>
  fake.calls.filter(({ verb }) => verb === 'list').map(({ url }) => url)
const indexOf = async (
  { store, ann }: Fixture,
  driver: StorageDriver,
  where: Parameters<typeof store.index>[2] = {},
): Promise<readonly ReleaseRecordRef[]> => unwrap(await store.index(ann, driver, where, signal))

const web: RecordOf = { name: 'web', namespace: 'shop', version: 1 }

for (const driver of storageDrivers) {
  onFixture(`records in ${driver}s are found by their labels and read as they were written`, async (t, fixture) => {
    const other = storageDrivers.find((each) => each !== driver) as StorageDriver
    const record = {
      ...web,
      version: 2,
      status: 'failed',
      notes: 'Look & <see>',
      config: { big: 12345678901234567890n },
    } as const
    const [object] = await fixture.put(driver, record)
    await fixture.put(other, { ...web, name: 'elsewhere' })
    const ref = only(await indexOf(fixture, driver))
    t.deepEqual(ref, {
      name: 'web',
      namespace: 'shop',
      version: 2,
      status: 'failed',
      objectName: 'sh.helm.release.v1.web.v2',
      uid: object?.metadata.uid ?? '',
      resourceVersion: object?.metadata.resourceVersion ?? '',
    })
    t.deepEqual(
      unwrap(await fixture.store.read(fixture.ann, driver, ref, signal)) as unknown,
      releaseJson(record) as unknown,
    )
    const [header] = unwrap(await fixture.store.headers(fixture.ann, driver, [ref], signal))
    const { info, chart } = releaseJson(record) as {
      readonly info: Readonly<Record<string, unknown>>
      readonly chart: { readonly metadata: object }
    }
    const { notes: _, ...shownInfo } = info
    t.deepEqual(header as unknown, {
      name: 'web',
      namespace: 'shop',
      version: 2,
      info: shownInfo,
      chartMetadata: chart.metadata,
    })
  })

  onFixture(`a record in a ${driver} is amended in label and content, byte for byte beside`, async (t, fixture) => {
    const json = goJson(
      releaseJson({ ...web, status: 'pending-upgrade', config: { exact: 98765432109876543210n, other: '\u2028' } }),
    )
    const object = await recordObject(driver, { ...web, status: 'pending-upgrade' }, json)
    fixture.fake.put({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, team: 'blue' },
        annotations: { note: 'kept' },
      },
    })
    const ref = only(await indexOf(fixture, driver))
    t.is(
      tagOf(
        await fixture.store.amend(
          fixture.ann,
          driver,
          ref,
          { status: 'failed', description: 'Ended: the worker died' },
          signal,
        ),
      ),
      'done',
    )
    const stored = fixture.fake.find('v1', driver, 'shop', ref.objectName)
    t.is(
      unpackSync(packedBytes(driver, stored?.data?.['release'] ?? '')).toString(),
      amendInfo(json, { status: 'failed', description: 'Ended: the worker died' }),
    )
    t.deepEqual(stored?.metadata.labels, {
      name: 'web',
      owner: 'helm',
      status: 'failed',
      version: '1',
      team: 'blue',
      modifiedAt: String(Math.floor(at.getTime() / 1000)),
    })
    t.deepEqual(stored?.metadata.annotations, { note: 'kept' })
    t.is(stored?.['type'], object['type'])
    t.is(only(await indexOf(fixture, driver)).status, 'failed')
    t.deepEqual(
      fixture.fake.calls.filter(({ method }) => method !== 'GET').map(({ verb, user }) => [verb, user]),
      [['update', 'ann']],
    )
  })
}

onFixture('an index is of one namespace or of all, of one name or of all', async (t, fixture) => {
  await fixture.put('Secret', web, { ...web, version: 2 }, { ...web, namespace: 'blog' }, { ...web, name: 'web-2' })
  t.deepEqual(keys(await indexOf(fixture, 'Secret')).toSorted(), [
    'blog/web/1',
    'shop/web-2/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(fixture, 'Secret', { namespace: 'shop' })).toSorted(), [
    'shop/web-2/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(fixture, 'Secret', { name: 'web' })).toSorted(), [
    'blog/web/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(fixture, 'Secret', { namespace: 'blog', name: 'web' })), ['blog/web/1'])
  t.deepEqual(await indexOf(fixture, 'Secret', { namespace: 'empty' }), [])
  const before = fixture.fake.calls.length
  for (const name of ['web,owner!=helm', 'a b', '', '-web', 'x'.repeat(64)])
    t.deepEqual(await indexOf(fixture, 'Secret', { name }), [], name)
  t.is(fixture.fake.calls.length, before, 'a name that no label can have asks nothing')
})

onFixture('an index asks for metadata alone, by pages', async (t, fixture) => {
  const template = await recordObject('Secret', web)
  for (let version = 1; version <= 1203; version += 1) {
    fixture.fake.put({
      ...template,
      metadata: {
        ...template.metadata,
        name: `sh.helm.release.v1.web.v${version}`,
        labels: { ...template.metadata.labels, version: String(version) },
      },
    })
  }
  const found = await indexOf(fixture, 'Secret')
  t.deepEqual(
    found.map(({ version }) => version).toSorted((a, b) => a - b),
    Array.from({ length: 1203 }, (_, index) => index + 1),
  )
  t.is(lists(fixture).length, 3)
  t.true(lists(fixture).every((url) => url.includes('limit=500') && url.includes('labelSelector=owner%3Dhelm')))
  const accepted = fixture.fake.calls.flatMap(({ headers }) =>
    headers.filter(([name]) => name === 'accept').map(([, value]) => value),
  )
  t.deepEqual([...new Set(accepted)], ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'])
})

onFixture('a list whose pages expire starts again, and is finally requested in one piece', async (t, fixture) => {
  const template = await recordObject('ConfigMap', web)
  for (let version = 1; version <= 700; version += 1) {
    fixture.fake.put({
      ...template,
      metadata: {
        ...template.metadata,
        name: `sh.helm.release.v1.web.v${version}`,
        labels: { ...template.metadata.labels, version: String(version) },
      },
    })
  }
  let expiries = 1
  fixture.fake.rules.answer({ verb: 'list' }, (_req, res, call) => {
    const isContinued = call.url.includes('continue=')
    if (isContinued && expiries > 0) {
      expiries -= 1
      res.writeHead(410, { 'content-type': 'application/json' })
      return res.end(
        JSON.stringify({
          kind: 'Status',
          code: 410,
          reason: 'Expired',
          message: 'The provided continue parameter is too old',
        }),
      )
    }
    const all = fixture.fake.all('v1', 'ConfigMap')
    const isPaged = call.url.includes('limit=')
    const items = !isPaged ? all : isContinued ? all.slice(500) : all.slice(0, 500)
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(
      JSON.stringify({
        items: items.map(({ metadata }) => ({ metadata })),
        metadata: isPaged && !isContinued ? { continue: 'next' } : {},
      }),
    )
  })
  t.is((await indexOf(fixture, 'ConfigMap')).length, 700)
  expiries = Number.POSITIVE_INFINITY
  const before = lists(fixture).length
  t.is((await indexOf(fixture, 'ConfigMap')).length, 700)
  t.deepEqual(
    lists(fixture)
      .slice(before)
      .map((url) => [url.includes('limit='), url.includes('continue=')]),
    [
      [true, false],
      [true, true],
      [true, false],
      [true, true],
      [false, false],
    ],
  )
})

onFixture('a list without end is given up', async (t, fixture) => {
  fixture.fake.rules.answer({ verb: 'list' }, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ items: [], metadata: { continue: 'more' } }))
  })
  t.is(tagOf(await fixture.store.index(fixture.ann, 'Secret', {}, signal)), 'ClusterUnreachable')
  t.is(lists(fixture).length, 200)
})

onFixture('objects that merely wear a label are no records', async (t, fixture) => {
  const good = await recordObject('Secret', web)
  const labels = good.metadata.labels ?? {}
  const wearing: readonly Record<string, string>[] = [
    { owner: 'helm' },
    { ...labels, owner: 'someone' },
    { ...labels, version: '0' },
    { ...labels, version: '-1' },
    { ...labels, version: 'v1' },
    { ...labels, version: '1e3' },
    { owner: 'helm', version: '1', status: 'deployed' },
  ]
  for (const [index, worn] of wearing.entries())
    fixture.fake.put({ ...good, metadata: { name: `foreign-${index}`, namespace: 'shop', labels: worn } })
  t.deepEqual(await indexOf(fixture, 'Secret'), [])
  fixture.fake.put({ ...good, metadata: { ...good.metadata, labels: { ...labels, status: 'sleeping' } } })
  t.is(only(await indexOf(fixture, 'Secret')).status, 'unknown')
})

onFixture('records that cannot be read are left out of lists and told of alone', async (t, fixture) => {
  const good = await recordObject('ConfigMap', { ...web, name: 'good' })
  fixture.fake.put(good)
  const broken: readonly (Record<string, string> | undefined)[] = [
    undefined,
    {},
    { release: '' },
    { release: '%%%' },
    { release: Buffer.from('no json').toString('base64') },
    { release: Buffer.from('[]').toString('base64') },
    { release: Buffer.from('{"name":"broken-6","namespace":"shop","version":1}').toString('base64') },
    // Another release's record under this one's labels.
    { release: (await recordObject('ConfigMap', web)).data?.['release'] ?? '' },
  ]
  for (const [index, data] of broken.entries()) {
    const { data: _, ...object } = await recordObject('ConfigMap', { ...web, name: `broken-${index}` })
    fixture.fake.put(data === undefined ? object : { ...object, data })
  }
  const refs = await indexOf(fixture, 'ConfigMap')
  t.is(refs.length, 1 + broken.length)
  t.deepEqual(keys(unwrap(await fixture.store.headers(fixture.ann, 'ConfigMap', refs, signal))), ['shop/good/1'])
  for (const ref of refs.filter(({ name }) => name !== 'good')) {
    t.is(tagOf(await fixture.store.read(fixture.ann, 'ConfigMap', ref, signal)), 'RecordUnreadable', ref.name)
    t.is(
      tagOf(await fixture.store.amend(fixture.ann, 'ConfigMap', ref, { status: 'failed' }, signal)),
      'RecordUnreadable',
      ref.name,
    )
  }
  t.true(
    fixture.fake.calls.every(({ method }) => method === 'GET'),
    'nothing is written over what is not understood',
  )
})

onFixture('headers come in the order of the refs, and what went away is left out', async (t, fixture) => {
  await fixture.put('Secret', ...Array.from({ length: 60 }, (_, index) => ({ ...web, name: `r${index}` })))
  const refs = (await indexOf(fixture, 'Secret')).toReversed()
  const gone = refs.slice(10, 13)
  for (const { objectName } of gone)
    fixture.fake.remove(fixture.fake.find('v1', 'Secret', 'shop', objectName) as KubeObject)
  t.deepEqual(
    keys(unwrap(await fixture.store.headers(fixture.ann, 'Secret', refs, signal))),
    keys(refs.filter((ref) => !gone.includes(ref))),
  )
  t.is(tagOf(await fixture.store.read(fixture.ann, 'Secret', gone[0] as ReleaseRecordRef, signal)), 'ReleaseMissing')
  t.is(
    tagOf(await fixture.store.amend(fixture.ann, 'Secret', gone[0] as ReleaseRecordRef, { status: 'failed' }, signal)),
    'ReleaseMissing',
  )
})

onFixture(
  'a header is fetched once for each version of its object and each cluster, for all callers',
  async (t, fixture) => {
    await fixture.put('Secret', web, { ...web, name: 'api' })
    const refs = await indexOf(fixture, 'Secret')
    const first = unwrap(await fixture.store.headers(fixture.ann, 'Secret', refs, signal))
    t.is(gets(fixture), 2)
    t.deepEqual(unwrap(await fixture.store.headers(fixture.bob, 'Secret', refs, signal)), first)
    t.is(gets(fixture), 2)
    t.is(
      tagOf(
        await fixture.store.amend(
          fixture.ann,
          'Secret',
          refs.find(({ name }) => name === 'web') as ReleaseRecordRef,
          { status: 'failed' },
          signal,
        ),
      ),
      'done',
    )
    const before = gets(fixture)
    const next = unwrap(await fixture.store.headers(fixture.ann, 'Secret', await indexOf(fixture, 'Secret'), signal))
    t.is(gets(fixture), before + 1)
    t.deepEqual(next.map(({ name, info }) => [name, info.status]).toSorted(), [
      ['api', 'deployed'],
      ['web', 'failed'],
    ])
    const other = memberOf(fixture.fake, 2)
    t.deepEqual(unwrap(await fixture.store.headers(other.as('ann'), 'Secret', refs, signal)).length, 2)
    t.is(gets(fixture), before + 3)
    await other.close()
  },
)

onFixture(
  'a caller whom the cluster refuses gets the message of the cluster, even if records are cached for others',
  async (t, fixture) => {
    await fixture.put('Secret', web)
    const refs = await indexOf(fixture, 'Secret')
    unwrap(await fixture.store.headers(fixture.ann, 'Secret', refs, signal))
    fixture.fake.rules.forbid({ user: 'bob', resource: 'secrets' })
    const refused = await fixture.store.index(fixture.bob, 'Secret', { namespace: 'shop' }, signal)
    t.is(tagOf(refused), 'RecordsRefused')
    t.is(shown(refused)?.kind, 'Forbidden')
    t.true(shown(refused)?.message.includes('User "bob" cannot list resource "secrets"'), shown(refused)?.message)
    t.is(tagOf(await fixture.store.read(fixture.bob, 'Secret', only(refs), signal)), 'RecordsRefused')
    t.is(
      tagOf(await fixture.store.amend(fixture.bob, 'Secret', only(refs), { status: 'failed' }, signal)),
      'RecordsRefused',
    )
    fixture.fake.rules.forbid({ user: 'carl', verb: 'get', resource: 'secrets' })
    fixture.fake.rules.forbid({ user: 'ann', verb: 'update' })
    await fixture.put('Secret', { ...web, name: 'api' })
    t.is(
      tagOf(await fixture.store.headers(fixture.as('carl'), 'Secret', await indexOf(fixture, 'Secret'), signal)),
      'RecordsRefused',
    )
    t.is(
      tagOf(await fixture.store.amend(fixture.ann, 'Secret', only(refs), { status: 'failed' }, signal)),
      'RecordsRefused',
    )
    t.is(fixture.fake.find('v1', 'Secret', 'shop', only(refs).objectName)?.metadata.labels?.['status'], 'deployed')
  },
)

onFixture('of two amendments of one record at once one is made', async (t, fixture) => {
  await fixture.put('ConfigMap', web)
  const ref = only(await indexOf(fixture, 'ConfigMap'))
  const done = await Promise.all(
    ['one', 'two', 'three'].map((description) =>
      fixture.store.amend(fixture.ann, 'ConfigMap', ref, { description }, signal),
    ),
  )
  t.deepEqual(done.map(tagOf).toSorted(), ['RecordChanged', 'RecordChanged', 'done'])
  t.is(
    tagOf(await fixture.store.amend(fixture.ann, 'ConfigMap', ref, { description: 'late' }, signal)),
    'RecordChanged',
  )
  const winner = ['one', 'two', 'three'][done.findIndex((outcome) => tagOf(outcome) === 'done')]
  t.is(
    unwrap(await fixture.store.read(fixture.ann, 'ConfigMap', only(await indexOf(fixture, 'ConfigMap')), signal)).info
      .description,
    winner,
  )
})

onFixture('large records are read like small ones, and one beyond measure is none', async (t, fixture) => {
  const values = (chars: number): object => ({ text: 'x'.repeat(chars) })
  await fixture.put(
    'Secret',
    { ...web, name: 'large', values: values(5_000_000) },
    { ...web, name: 'huge', values: values(33 * 1024 * 1024) },
    web,
  )
  const refs = await indexOf(fixture, 'Secret')
  t.deepEqual(keys(unwrap(await fixture.store.headers(fixture.ann, 'Secret', refs, signal))).toSorted(), [
    'shop/large/1',
    'shop/web/1',
  ])
  const large = refs.find(({ name }) => name === 'large') as ReleaseRecordRef
  t.is(
    (unwrap(await fixture.store.read(fixture.ann, 'Secret', large, signal)).chart.values as { text: string }).text
      .length,
    5_000_000,
  )
  t.is(
    tagOf(
      await fixture.store.read(
        fixture.ann,
        'Secret',
        refs.find(({ name }) => name === 'huge') as ReleaseRecordRef,
        signal,
      ),
    ),
    'RecordUnreadable',
  )
})

onFixture('a cluster that answers anything else is out of reach', async (t, fixture) => {
  await fixture.put('Secret', web)
  const ref = only(await indexOf(fixture, 'Secret'))
  const stop = fixture.fake.rules.fail(
    { resource: 'secrets' },
    500,
    'InternalError',
    'etcdserver:\u0007 request timed out',
  )
  const failed = await fixture.store.index(fixture.ann, 'Secret', {}, signal)
  t.is(tagOf(failed), 'ClusterUnreachable')
  t.is(
    shown(failed)?.message,
    'The cluster answered 500 to a request for release records: etcdserver: request timed out',
  )
  t.is(tagOf(await fixture.store.headers(fixture.ann, 'Secret', [ref], signal)), 'ClusterUnreachable')
  t.is(tagOf(await fixture.store.read(fixture.ann, 'Secret', ref, signal)), 'ClusterUnreachable')
  stop()
  fixture.fake.rules.answer({ verb: 'list' }, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end('{"items":7}')
  })
  t.is(tagOf(await fixture.store.index(fixture.ann, 'Secret', {}, signal)), 'ClusterUnreachable')
})

test('the index and the headers agree with the records', async (t) => {
  const fixture = await openFixture()
  try {
    await fc.assert(
      fc.asyncProperty(someRecords, fc.constantFrom(...storageDrivers), async (records, driver) => {
        for (const object of fixture.fake.all('v1', driver)) fixture.fake.remove(object)
        await fixture.put(driver, ...records)
        const refs = await indexOf(fixture, driver)
        t.deepEqual(keys(refs).toSorted(), keys(records).toSorted())
        const headers = unwrap(await fixture.store.headers(fixture.ann, driver, refs, signal))
        t.deepEqual(keys(headers), keys(refs))
        for (const [index, header] of headers.entries()) {
          const { info, chart } = unwrap(
            await fixture.store.read(fixture.ann, driver, refs[index] as ReleaseRecordRef, signal),
          )
          t.deepEqual({ info: header.info, metadata: header.chartMetadata }, { info, metadata: chart.metadata ?? {} })
        }
      }),
      { numRuns: 15 },
    )
  } finally {
    await fixture.close()
  }
})
