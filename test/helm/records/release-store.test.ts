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
import { goJson, recordObject, releaseJson, someRecords } from './records.ts'

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
type World = Awaited<ReturnType<typeof openFixture>>
const onWorld = casesOf('HelmReleaseStore', openFixture)

const gets = ({ fake }: World): number => fake.calls.filter(({ verb }) => verb === 'get').length
const lists = ({ fake }: World): readonly string[] =>
  fake.calls.filter(({ verb }) => verb === 'list').map(({ url }) => url)
const keys = (
  refs: readonly { readonly namespace: string; readonly name: string; readonly version: number }[],
): readonly string[] => refs.map(({ namespace, name, version }) => `${namespace}/${name}/${version}`)
const indexOf = async (
  { store, ann }: World,
  driver: StorageDriver,
  where: Parameters<typeof store.index>[2] = {},
): Promise<readonly ReleaseRecordRef[]> => unwrap(await store.index(ann, driver, where, signal))
const only = <A>(items: readonly A[]): A => {
  const [first] = items
  if (first === undefined || items.length !== 1) throw new Error(`${items.length} instead of one`)
  return first
}

const web: RecordOf = { name: 'web', namespace: 'shop', version: 1 }

for (const driver of storageDrivers) {
  onWorld(`records in ${driver}s are found by their labels and read as they were written`, async (t, world) => {
    const other = storageDrivers.find((each) => each !== driver) as StorageDriver
    const record = {
      ...web,
      version: 2,
      status: 'failed',
      notes: 'Look & <see>',
      config: { big: 12345678901234567890n },
    } as const
    const [object] = await world.put(driver, record)
    await world.put(other, { ...web, name: 'elsewhere' })
    const ref = only(await indexOf(world, driver))
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
      unwrap(await world.store.read(world.ann, driver, ref, signal)) as unknown,
      releaseJson(record) as unknown,
    )
    const [header] = unwrap(await world.store.headers(world.ann, driver, [ref], signal))
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

  onWorld(`a record in a ${driver} is amended in label and content, byte for byte beside`, async (t, world) => {
    const json = goJson(
      releaseJson({ ...web, status: 'pending-upgrade', config: { exact: 98765432109876543210n, other: '\u2028' } }),
    )
    const object = await recordObject(driver, { ...web, status: 'pending-upgrade' }, json)
    world.fake.put({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, team: 'blue' },
        annotations: { note: 'kept' },
      },
    })
    const ref = only(await indexOf(world, driver))
    t.is(
      tagOf(
        await world.store.amend(
          world.ann,
          driver,
          ref,
          { status: 'failed', description: 'Ended: the worker died' },
          signal,
        ),
      ),
      'done',
    )
    const stored = world.fake.find('v1', driver, 'shop', ref.objectName)
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
    t.is(only(await indexOf(world, driver)).status, 'failed')
    t.deepEqual(
      world.fake.calls.filter(({ method }) => method !== 'GET').map(({ verb, user }) => [verb, user]),
      [['update', 'ann']],
    )
  })
}

onWorld('an index is of one namespace or of all, of one name or of all', async (t, world) => {
  await world.put('Secret', web, { ...web, version: 2 }, { ...web, namespace: 'blog' }, { ...web, name: 'web-2' })
  t.deepEqual(keys(await indexOf(world, 'Secret')).toSorted(), [
    'blog/web/1',
    'shop/web-2/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(world, 'Secret', { namespace: 'shop' })).toSorted(), [
    'shop/web-2/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(world, 'Secret', { name: 'web' })).toSorted(), [
    'blog/web/1',
    'shop/web/1',
    'shop/web/2',
  ])
  t.deepEqual(keys(await indexOf(world, 'Secret', { namespace: 'blog', name: 'web' })), ['blog/web/1'])
  t.deepEqual(await indexOf(world, 'Secret', { namespace: 'empty' }), [])
  const before = world.fake.calls.length
  for (const name of ['web,owner!=helm', 'a b', '', '-web', 'x'.repeat(64)])
    t.deepEqual(await indexOf(world, 'Secret', { name }), [], name)
  t.is(world.fake.calls.length, before, 'a name that no label can have asks nothing')
})

onWorld('an index asks for metadata alone, by pages', async (t, world) => {
  const template = await recordObject('Secret', web)
  for (let version = 1; version <= 1203; version += 1) {
    world.fake.put({
      ...template,
      metadata: {
        ...template.metadata,
        name: `sh.helm.release.v1.web.v${version}`,
        labels: { ...template.metadata.labels, version: String(version) },
      },
    })
  }
  const found = await indexOf(world, 'Secret')
  t.deepEqual(
    found.map(({ version }) => version).toSorted((a, b) => a - b),
    Array.from({ length: 1203 }, (_, index) => index + 1),
  )
  t.is(lists(world).length, 3)
  t.true(lists(world).every((url) => url.includes('limit=500') && url.includes('labelSelector=owner%3Dhelm')))
  const accepted = world.fake.calls.flatMap(({ headers }) =>
    headers.filter(([name]) => name === 'accept').map(([, value]) => value),
  )
  t.deepEqual([...new Set(accepted)], ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'])
})

onWorld('a list whose pages expire starts again, and is finally requested in one piece', async (t, world) => {
  const template = await recordObject('ConfigMap', web)
  for (let version = 1; version <= 700; version += 1) {
    world.fake.put({
      ...template,
      metadata: {
        ...template.metadata,
        name: `sh.helm.release.v1.web.v${version}`,
        labels: { ...template.metadata.labels, version: String(version) },
      },
    })
  }
  let expiries = 1
  world.fake.rules.answer({ verb: 'list' }, (_req, res, call) => {
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
    const all = world.fake.all('v1', 'ConfigMap')
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
  t.is((await indexOf(world, 'ConfigMap')).length, 700)
  expiries = Number.POSITIVE_INFINITY
  const before = lists(world).length
  t.is((await indexOf(world, 'ConfigMap')).length, 700)
  t.deepEqual(
    lists(world)
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

onWorld('a list without end is given up', async (t, world) => {
  world.fake.rules.answer({ verb: 'list' }, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ items: [], metadata: { continue: 'more' } }))
  })
  t.is(tagOf(await world.store.index(world.ann, 'Secret', {}, signal)), 'ClusterUnreachable')
  t.is(lists(world).length, 200)
})

onWorld('objects that merely wear a label are no records', async (t, world) => {
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
    world.fake.put({ ...good, metadata: { name: `foreign-${index}`, namespace: 'shop', labels: worn } })
  t.deepEqual(await indexOf(world, 'Secret'), [])
  world.fake.put({ ...good, metadata: { ...good.metadata, labels: { ...labels, status: 'sleeping' } } })
  t.is(only(await indexOf(world, 'Secret')).status, 'unknown')
})

onWorld('records that cannot be read are left out of lists and told of alone', async (t, world) => {
  const good = await recordObject('ConfigMap', { ...web, name: 'good' })
  world.fake.put(good)
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
    world.fake.put(data === undefined ? object : { ...object, data })
  }
  const refs = await indexOf(world, 'ConfigMap')
  t.is(refs.length, 1 + broken.length)
  t.deepEqual(keys(unwrap(await world.store.headers(world.ann, 'ConfigMap', refs, signal))), ['shop/good/1'])
  for (const ref of refs.filter(({ name }) => name !== 'good')) {
    t.is(tagOf(await world.store.read(world.ann, 'ConfigMap', ref, signal)), 'RecordUnreadable', ref.name)
    t.is(
      tagOf(await world.store.amend(world.ann, 'ConfigMap', ref, { status: 'failed' }, signal)),
      'RecordUnreadable',
      ref.name,
    )
  }
  t.true(
    world.fake.calls.every(({ method }) => method === 'GET'),
    'nothing is written over what is not understood',
  )
})

onWorld('headers come in the order of the refs, and what went away is left out', async (t, world) => {
  await world.put('Secret', ...Array.from({ length: 60 }, (_, index) => ({ ...web, name: `r${index}` })))
  const refs = (await indexOf(world, 'Secret')).toReversed()
  const gone = refs.slice(10, 13)
  for (const { objectName } of gone)
    world.fake.remove(world.fake.find('v1', 'Secret', 'shop', objectName) as KubeObject)
  t.deepEqual(
    keys(unwrap(await world.store.headers(world.ann, 'Secret', refs, signal))),
    keys(refs.filter((ref) => !gone.includes(ref))),
  )
  t.is(tagOf(await world.store.read(world.ann, 'Secret', gone[0] as ReleaseRecordRef, signal)), 'ReleaseMissing')
  t.is(
    tagOf(await world.store.amend(world.ann, 'Secret', gone[0] as ReleaseRecordRef, { status: 'failed' }, signal)),
    'ReleaseMissing',
  )
})

onWorld(
  'a header is fetched once for each version of its object and each cluster, for all callers',
  async (t, world) => {
    await world.put('Secret', web, { ...web, name: 'api' })
    const refs = await indexOf(world, 'Secret')
    const first = unwrap(await world.store.headers(world.ann, 'Secret', refs, signal))
    t.is(gets(world), 2)
    t.deepEqual(unwrap(await world.store.headers(world.bob, 'Secret', refs, signal)), first)
    t.is(gets(world), 2)
    t.is(
      tagOf(
        await world.store.amend(
          world.ann,
          'Secret',
          refs.find(({ name }) => name === 'web') as ReleaseRecordRef,
          { status: 'failed' },
          signal,
        ),
      ),
      'done',
    )
    const before = gets(world)
    const next = unwrap(await world.store.headers(world.ann, 'Secret', await indexOf(world, 'Secret'), signal))
    t.is(gets(world), before + 1)
    t.deepEqual(next.map(({ name, info }) => [name, info.status]).toSorted(), [
      ['api', 'deployed'],
      ['web', 'failed'],
    ])
    const other = memberOf(world.fake, 2)
    t.deepEqual(unwrap(await world.store.headers(other.as('ann'), 'Secret', refs, signal)).length, 2)
    t.is(gets(world), before + 3)
    await other.close()
  },
)

onWorld(
  'a caller whom the cluster refuses gets the message of the cluster, even if records are cached for others',
  async (t, world) => {
    await world.put('Secret', web)
    const refs = await indexOf(world, 'Secret')
    unwrap(await world.store.headers(world.ann, 'Secret', refs, signal))
    world.fake.rules.forbid({ user: 'bob', resource: 'secrets' })
    const refused = await world.store.index(world.bob, 'Secret', { namespace: 'shop' }, signal)
    t.is(tagOf(refused), 'RecordsRefused')
    t.is(shown(refused)?.kind, 'Forbidden')
    t.true(shown(refused)?.message.includes('User "bob" cannot list resource "secrets"'), shown(refused)?.message)
    t.is(tagOf(await world.store.read(world.bob, 'Secret', only(refs), signal)), 'RecordsRefused')
    t.is(
      tagOf(await world.store.amend(world.bob, 'Secret', only(refs), { status: 'failed' }, signal)),
      'RecordsRefused',
    )
    world.fake.rules.forbid({ user: 'carl', verb: 'get', resource: 'secrets' })
    world.fake.rules.forbid({ user: 'ann', verb: 'update' })
    await world.put('Secret', { ...web, name: 'api' })
    t.is(
      tagOf(await world.store.headers(world.as('carl'), 'Secret', await indexOf(world, 'Secret'), signal)),
      'RecordsRefused',
    )
    t.is(
      tagOf(await world.store.amend(world.ann, 'Secret', only(refs), { status: 'failed' }, signal)),
      'RecordsRefused',
    )
    t.is(world.fake.find('v1', 'Secret', 'shop', only(refs).objectName)?.metadata.labels?.['status'], 'deployed')
  },
)

onWorld('of two amendments of one record at once one is made', async (t, world) => {
  await world.put('ConfigMap', web)
  const ref = only(await indexOf(world, 'ConfigMap'))
  const done = await Promise.all(
    ['one', 'two', 'three'].map((description) =>
      world.store.amend(world.ann, 'ConfigMap', ref, { description }, signal),
    ),
  )
  t.deepEqual(done.map(tagOf).toSorted(), ['RecordChanged', 'RecordChanged', 'done'])
  t.is(tagOf(await world.store.amend(world.ann, 'ConfigMap', ref, { description: 'late' }, signal)), 'RecordChanged')
  const winner = ['one', 'two', 'three'][done.findIndex((outcome) => tagOf(outcome) === 'done')]
  t.is(
    unwrap(await world.store.read(world.ann, 'ConfigMap', only(await indexOf(world, 'ConfigMap')), signal)).info
      .description,
    winner,
  )
})

onWorld('large records are read like small ones, and one beyond measure is none', async (t, world) => {
  const values = (chars: number): object => ({ text: 'x'.repeat(chars) })
  await world.put(
    'Secret',
    { ...web, name: 'large', values: values(5_000_000) },
    { ...web, name: 'huge', values: values(33 * 1024 * 1024) },
    web,
  )
  const refs = await indexOf(world, 'Secret')
  t.deepEqual(keys(unwrap(await world.store.headers(world.ann, 'Secret', refs, signal))).toSorted(), [
    'shop/large/1',
    'shop/web/1',
  ])
  const large = refs.find(({ name }) => name === 'large') as ReleaseRecordRef
  t.is(
    (unwrap(await world.store.read(world.ann, 'Secret', large, signal)).chart.values as { text: string }).text.length,
    5_000_000,
  )
  t.is(
    tagOf(
      await world.store.read(world.ann, 'Secret', refs.find(({ name }) => name === 'huge') as ReleaseRecordRef, signal),
    ),
    'RecordUnreadable',
  )
})

onWorld('a cluster that answers anything else is out of reach', async (t, world) => {
  await world.put('Secret', web)
  const ref = only(await indexOf(world, 'Secret'))
  const stop = world.fake.rules.fail(
    { resource: 'secrets' },
    500,
    'InternalError',
    'etcdserver:\u0007 request timed out',
  )
  const failed = await world.store.index(world.ann, 'Secret', {}, signal)
  t.is(tagOf(failed), 'ClusterUnreachable')
  t.is(
    shown(failed)?.message,
    'The cluster answered 500 to a request for release records: etcdserver: request timed out',
  )
  t.is(tagOf(await world.store.headers(world.ann, 'Secret', [ref], signal)), 'ClusterUnreachable')
  t.is(tagOf(await world.store.read(world.ann, 'Secret', ref, signal)), 'ClusterUnreachable')
  stop()
  world.fake.rules.answer({ verb: 'list' }, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end('{"items":7}')
  })
  t.is(tagOf(await world.store.index(world.ann, 'Secret', {}, signal)), 'ClusterUnreachable')
})

test('whatever records there are, the index tells them and the headers agree with what is read', async (t) => {
  const world = await openFixture()
  try {
    await fc.assert(
      fc.asyncProperty(someRecords, fc.constantFrom(...storageDrivers), async (records, driver) => {
        for (const object of world.fake.all('v1', driver)) world.fake.remove(object)
        await world.put(driver, ...records)
        const refs = await indexOf(world, driver)
        t.deepEqual(keys(refs).toSorted(), keys(records).toSorted())
        const headers = unwrap(await world.store.headers(world.ann, driver, refs, signal))
        t.deepEqual(keys(headers), keys(refs))
        for (const [index, header] of headers.entries()) {
          const { info, chart } = unwrap(
            await world.store.read(world.ann, driver, refs[index] as ReleaseRecordRef, signal),
          )
          t.deepEqual({ info: header.info, metadata: header.chartMetadata }, { info, metadata: chart.metadata ?? {} })
        }
      }),
      { numRuns: 15 },
    )
  } finally {
    await world.close()
  }
})
