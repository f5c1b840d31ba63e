import test from 'ava'
import type { StorageDriver } from '../../../core/packages/types.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import type { ReadsFixture } from './reads-fixture.ts'
import { openReadsFixture } from './reads-fixture.ts'
import type { RecordOf } from '../../helm/records/records.ts'
import { recordObject, releaseJson } from '../../helm/records/records.ts'

/**
 * Lists, history, content and status through the whole service, on a cluster that any test may fill in namespaces of
 * its own.
 */
let fixture: ReadsFixture
test.before(async () => {
  fixture = await openReadsFixture()
})
test.after.always(() => fixture.stop())

const put = async (records: readonly RecordOf[], driver: StorageDriver = 'Secret'): Promise<void> => {
  for (const record of records) fixture.fake.put(await recordObject(driver, record))
}
interface Row {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly info: { readonly status: string }
}
const list = async (query: string, body?: unknown): Promise<readonly string[]> => {
  const { json } = await expectStatus(fixture.get(`/v3/releases${query}`, fixture.owner, body), 200)
  return (json as readonly Row[]).map(({ name, version, info }) => `${name} ${version} ${info.status}`)
}

test("a list shows each release's newest revision, whole on request", async (t) => {
  const web: RecordOf = { name: 'web', namespace: 'rows', version: 2, notes: 'Visit us', config: { replicas: 3 } }
  await put([{ ...web, version: 1, status: 'superseded' }, web])
  const [row, ...others] = (await expectStatus(fixture.get('/v3/releases/?namespace=rows'), 200)).json
  const { info, chart, ...rest } = releaseJson(web) as Record<string, Record<string, unknown>>
  const { notes: _, ...shown } = info ?? {}
  t.deepEqual(row, {
    name: 'web',
    namespace: 'rows',
    version: 2,
    info: shown,
    chart: { metadata: chart?.['metadata'] },
  })
  t.deepEqual(others, [])
  t.deepEqual((await expectStatus(fixture.get('/v3/releases?namespace=rows&full=true'), 200)).json, [
    { ...rest, info, chart },
  ])
  t.deepEqual(
    (await expectStatus(fixture.get('/v3/releases', fixture.owner, { namespace: 'rows', full: true }), 200)).json,
    [{ ...rest, info, chart }],
  )
})

test('options come from query and body, and the query wins', async (t) => {
  const deployed = (name: string, second: number): RecordOf => ({
    name,
    namespace: 'options',
    version: 1,
    lastDeployed: `2026-05-12T09:30:0${second}Z`,
  })
  await put([
    deployed('a', 3),
    deployed('b', 1),
    deployed('c', 2),
    { ...deployed('d', 4), status: 'pending-install' },
    { ...deployed('e', 5), status: 'uninstalled' },
  ])
  t.deepEqual(await list('?namespace=options'), ['a 1 deployed', 'b 1 deployed', 'c 1 deployed'])
  t.deepEqual(await list('', { namespace: 'options', byDate: true, limit: 2 }), ['b 1 deployed', 'c 1 deployed'])
  t.deepEqual(await list('?limit=1&offset=1', { namespace: 'options', sort: 'date-desc', limit: 3 }), ['c 1 deployed'])
  t.deepEqual(await list('?namespace=options&all=true&sort=1'), [
    'e 1 uninstalled',
    'd 1 pending-install',
    'c 1 deployed',
    'b 1 deployed',
    'a 1 deployed',
  ])
  t.deepEqual(await list('?namespace=options&pending=true&uninstalled=1'), ['d 1 pending-install', 'e 1 uninstalled'])
  t.deepEqual(await list('?namespace=options&filter=%5E%5Bbc%5D&sort=2&short=true'), ['b 1 deployed', 'c 1 deployed'])
  t.deepEqual(await list('?namespace=options&offset=9'), [])
  t.deepEqual(await list('?namespace=nobody'), [])
  t.true((await list('')).length >= 3, 'without a namespace all of them are listed')
})

test.serial('wrong options are refused without a request', async (t) => {
  const before = fixture.fake.calls.length
  const refused = async (status: number, query: string, body?: unknown): Promise<void> => {
    const answer = await fixture.get(`/v3/releases${query}`, fixture.owner, body)
    t.is(answer.status, status, `${query} ${JSON.stringify(body)} ${answer.text}`)
    t.is(typeof answer.json.message, 'string')
  }
  for (const query of [
    '?filter=(',
    '?limit=-1',
    '?limit=many',
    '?all=maybe',
    '?sort=size',
    '?namespace=Not_One',
    '?offset=1.5',
    '?filter=%5CpL%7B999%7D',
  ])
    await refused(422, query)
  for (const body of [{ all: 'perhaps' }, { limit: -1 }, { sort: true }, { filter: 7 }, { namespace: 'a/b' }, [], 7])
    await refused(422, '', body)
  await refused(400, '', '{"all":')
  await refused(422, '?limit=-1', { limit: 3 })
  t.is(
    (await expectStatus(fixture.get('/v3/releases?namespace=nobody', fixture.owner, { unknown: { key: 1 } }), 200)).json
      .length,
    0,
  )
  t.is(fixture.fake.calls.slice(before).filter(({ namespace }) => namespace !== 'nobody').length, 0)
  for (const path of [
    '/v3/releases/web?max=few',
    '/v3/releases/web?namespace=Not_One',
    '/v3/releases/web/content?version=one',
    '/v3/releases/web/status?namespace=-',
  ]) {
    t.is((await fixture.get(path)).status, 400, path)
  }
})

test('a history is the newest revisions, oldest first', async (t) => {
  await put(
    [1, 2, 3, 10].map((version) => ({
      name: 'story',
      namespace: 'history',
      version,
      status: version === 10 ? 'deployed' : 'superseded',
    })),
  )
  const versions = async (query = ''): Promise<readonly number[]> =>
    (await expectStatus(fixture.get(`/v3/releases/story/${query}`), 200)).json.map(({ version }: Row) => version)
  t.deepEqual(await versions(), [1, 2, 3, 10])
  t.deepEqual(await versions('?max=2'), [3, 10])
  t.deepEqual(await versions('?max=0&namespace=history'), [1, 2, 3, 10])
  const [row] = (await expectStatus(fixture.get('/v3/releases/story?max=1'), 200)).json
  t.deepEqual(Object.keys(row), ['name', 'namespace', 'version', 'info', 'chart'])
  const [whole] = (await expectStatus(fixture.get('/v3/releases/story?max=1&full=true'), 200)).json
  t.deepEqual(whole, releaseJson({ name: 'story', namespace: 'history', version: 10 }))
})

test('content is a whole revision, status the same without the files of its chart', async (t) => {
  const record = (version: number): RecordOf => ({
    name: 'one',
    namespace: 'content',
    version,
    notes: `Notes ${version}`,
    manifest: `# ${version}\n`,
  })
  await put([record(1), record(2)])
  const content = async (query = ''): Promise<unknown> =>
    (await expectStatus(fixture.get(`/v3/releases/one/content${query}`), 200)).json
  for (const query of ['', '?version=0', '?version=-1', '?version=2', '?namespace=content'])
    t.deepEqual(await content(query), releaseJson(record(2)), query)
  t.deepEqual(await content('?version=1'), releaseJson(record(1)))
  const whole = releaseJson(record(1)) as Record<string, Record<string, unknown>>
  const { templates: _t, values: _v, files: _f, ...chart } = whole['chart'] ?? {}
  t.deepEqual((await expectStatus(fixture.get('/v3/releases/one/status?version=1'), 200)).json, { ...whole, chart })
})

test('numbers that no double holds arrive as they were written', async (t) => {
  await put([{ name: 'exact', namespace: 'numbers', version: 1, config: { big: 9007199254740993n } }])
  t.true((await expectStatus(fixture.get('/v3/releases/exact/content'), 200)).text.includes('"big":9007199254740993'))
})

test('a release that is not there is 404, one of several namespaces must be said', async (t) => {
  await put([
    { name: 'twin', namespace: 'left', version: 1 },
    { name: 'twin', namespace: 'right', version: 4 },
  ])
  for (const end of ['', '/content', '/status']) {
    const several = await expectStatus(fixture.get(`/v3/releases/twin${end}`), 400)
    t.true(several.json.message.includes('left, right'), several.text)
    t.is((await expectStatus(fixture.get(`/v3/releases/twin${end}?namespace=left`), 200)).status, 200)
    for (const path of [`nothing${end}`, `twin${end}?namespace=middle`, `Not_A_Name${end}`])
      t.is((await fixture.get(`/v3/releases/${path}`)).status, 404, path)
  }
  for (const end of ['content', 'status'])
    t.is((await fixture.get(`/v3/releases/twin/${end}?namespace=right&version=3`)).status, 404)
})

test('a record that cannot be read breaks no list, and is reported alone', async (t) => {
  const good = await recordObject('Secret', { name: 'good', namespace: 'broken', version: 1 })
  const bad = await recordObject('Secret', { name: 'bad', namespace: 'broken', version: 1 })
  fixture.fake.put(good)
  fixture.fake.put({ ...bad, data: { release: Buffer.from('none').toString('base64') } })
  t.deepEqual(await list('?namespace=broken'), ['good 1 deployed'])
  t.deepEqual(await list('?namespace=broken&full=true'), ['good 1 deployed'])
  const answer = await fixture.get('/v3/releases/bad/content')
  t.is(answer.status, 500)
  t.true(answer.json.message.includes('sh.helm.release.v1.bad.v1'))
})

test('an answer that the client holds already is not sent again', async (t) => {
  await put([{ name: 'web', namespace: 'etag', version: 1 }])
  const path = `${fixture.helm}/v3/releases?namespace=etag`
  const first = await expectStatus(fixture.service.send('GET', path, { token: fixture.owner.token }), 200)
  const etag = first.headers['etag'] as string
  const again = await fixture.service.send('GET', path, {
    token: fixture.owner.token,
    headers: { 'If-None-Match': etag },
  })
  t.is(again.status, 304)
  await put([{ name: 'web', namespace: 'etag', version: 2 }])
  const changed = await fixture.service.send('GET', path, {
    token: fixture.owner.token,
    headers: { 'If-None-Match': etag },
  })
  t.is(changed.status, 200)
})

/** Two thousand records: 400 releases in 20 namespaces with five revisions each. */
let bigListFixture: ReadsFixture
const records: readonly RecordOf[] = Array.from({ length: 2000 }, (_, index) => {
  const release = Math.floor(index / 5)
  const version = (index % 5) + 1
  const status =
    version < 5 ? 'superseded' : release % 10 === 0 ? 'failed' : release % 10 === 1 ? 'pending-upgrade' : 'deployed'
  return {
    name: `release-${release}`,
    namespace: `team-${release % 20}`,
    version,
    status,
    lastDeployed: new Date(Date.UTC(2026, 0, 1) + ((release * 7919) % 400) * 1000).toISOString(),
  }
})
const newest = records.filter(({ version }) => version === 5)

test.before(async () => {
  bigListFixture = await openReadsFixture()
  for (const record of records) bigListFixture.fake.put(await recordObject('Secret', record))
})
test.after.always(() => bigListFixture.stop())

interface BigListRow {
  readonly name: string
  readonly version: number
  readonly info: { readonly status: string }
}
const fetched = (): number =>
  bigListFixture.fake.calls.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets').length
const rows = async (query: string): Promise<readonly BigListRow[]> =>
  (await expectStatus(bigListFixture.get(`/v3/releases${query}`), 200)).json as readonly BigListRow[]
const names = (list: readonly { readonly name: string }[]): readonly string[] => list.map(({ name }) => name)
const byName = (list: readonly RecordOf[]): readonly RecordOf[] => list.toSorted((a, b) => (a.name < b.name ? -1 : 1))
const byDate = (list: readonly RecordOf[]): readonly RecordOf[] =>
  list.toSorted((a, b) => Date.parse(a.lastDeployed ?? '') - Date.parse(b.lastDeployed ?? ''))

test.serial('a page of a long list fetches its rows once', async (t) => {
  const shown = byName(newest.filter(({ status }) => status !== 'pending-upgrade')).slice(30, 55)
  t.deepEqual(names(await rows('?limit=25&offset=30')), names(shown))
  t.is(fetched(), 25)
  t.deepEqual(names(await rows('?limit=25&offset=30&sort=name')), names(shown))
  t.is(fetched(), 25)
})

test.serial('a whole list has each release once, in order, from one request', async (t) => {
  const all = await rows('?all=true')
  t.deepEqual(
    all.map(({ name, version, info }) => [name, version, info.status]),
    byName(newest).map(({ name, version, status }) => [name, version, status]),
  )
  t.is(fetched(), 400)
  const before = bigListFixture.fake.calls.length
  t.deepEqual(names(await rows('?all=true&sort=date')), names(byDate(newest)))
  t.deepEqual(names(await rows('?all=true&sort=date-desc')), names(byDate(newest).toReversed()))
  t.deepEqual(
    names(await rows('?all=true&sort=name-desc&filter=7%24')),
    names(byName(newest.filter(({ name }) => name.endsWith('7'))).toReversed()),
  )
  t.deepEqual(
    names(await rows('?pending=true')),
    names(byName(newest.filter(({ status }) => status === 'pending-upgrade'))),
  )
  t.deepEqual(
    names(await rows('?namespace=team-3&all=true')),
    names(byName(newest.filter(({ namespace }) => namespace === 'team-3'))),
  )
  // Four pages of metadata for each list of all namespaces, one for the namespace.
  t.deepEqual(
    bigListFixture.fake.calls.slice(before).map(({ verb }) => verb),
    Array.from({ length: 4 * 4 + 1 }, () => 'list'),
  )
  t.is((await rows('?superseded=true')).length, 1600)
})
