import test from 'ava'
import { chartUrl } from '../../adapters/charts/repositories/http-repository.ts'
import { secret } from '../../core/kernel/secret.ts'
import { archiveOf, chartYaml, minimalChart } from '../support/charts/archive.ts'
import { startServer } from '../support/charts/https-server.ts'
import { startRegistry } from '../support/charts/registry-server.ts'
import type { ServedChart } from '../support/charts/repository-server.ts'
import { sha256, startRepository } from '../support/charts/repository-server.ts'
import { outcomeOf, sourceFixture } from './source-fixture.ts'

const served = async (...versions: readonly string[]): Promise<readonly ServedChart[]> =>
  Promise.all(versions.map(async (version) => ({ name: 'web', version, bytes: await minimalChart('web', version) })))

test('a chart of an HTTPS repository has the newest stable version by default', async (t) => {
  const charts = await served('1.0.0', '1.2.0', '1.10.0', '2.0.0-rc.1')
  const authorization = `Basic ${Buffer.from('reader:hunter2').toString('base64')}`
  const server = await startRepository(charts, { authorization })
  const access = {
    url: `${server.url}/stable`,
    isPlainHttp: false,
    credentials: { username: 'reader', password: secret('hunter2'), authorityPem: server.authorityPem },
  }
  const fixture = sourceFixture({
    named: { internal: access, locked: { ...access, credentials: { authorityPem: server.authorityPem } } },
  })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  const from = { kind: 'ChartRepository', name: 'internal' }
  const found = await fixture.fetch(from)
  if ('tag' in found) return t.fail(found.message)
  t.is(found.ref.version, '1.10.0')
  t.is(found.digest, `sha256:${sha256(charts[2]?.bytes ?? new Uint8Array())}`)
  t.is(found.size, charts[2]?.bytes.length ?? 0)
  t.deepEqual(found.chart.values, { replicas: 1 })
  t.is(outcomeOf(await fixture.fetch(from, 'web', '~1.2')), '1.2.0')
  t.is(outcomeOf(await fixture.fetch(from, 'web', '>0.0.0-0')), '2.0.0-rc.1')
  t.is(outcomeOf(await fixture.fetch(from, 'web', '3')), 'ChartMissing')
  t.is(outcomeOf(await fixture.fetch(from, 'nothing')), 'ChartMissing')
  t.is(outcomeOf(await fixture.fetch(from, '../web')), 'ChartMissing')
  t.is(outcomeOf(await fixture.fetch({ ...from, name: 'locked' })), 'ChartSourceRefused', 'without the credentials')
  t.is(outcomeOf(await fixture.fetch(from, 'web', '', 2)), 'ChartMissing', 'another tenant has no such repository')
  t.is(
    outcomeOf(await fixture.fetch({ ...from, namespace: 'somebody' })),
    'ChartMissing',
    "another account's is never found",
  )
})

test('an index is requested again and read once', async (t) => {
  const server = await startRepository(await served('1.0.0'), { isPlain: true })
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  const from = { name: `${server.url}/stable/` }
  t.is(outcomeOf(await fixture.fetch(from)), '1.0.0')
  t.is(outcomeOf(await fixture.fetch(from)), '1.0.0')
  const asked = server.seen.filter(({ path }) => path === '/stable/index.yaml')
  t.is(asked.length, 2)
  t.is(typeof asked[1]?.headers['if-none-match'], 'string')
  server.serve(await served('1.0.0', '1.1.0'))
  t.is(outcomeOf(await fixture.fetch(from)), '1.1.0')
})

test('an archive that is not the one of the index is refused', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const server = await startRepository([], { isPlain: true })
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  for (const digest of ['a'.repeat(64), '0'.repeat(64), 'abc', '[]']) {
    server.serve([{ ...chart, digest }])
    t.is(outcomeOf(await fixture.fetch({ name: `${server.url}/stable` })), 'ChartRefused', digest)
  }
  server.serve([{ ...chart, digest: `"sha256:${sha256(chart.bytes).toUpperCase()}"` }])
  t.is(outcomeOf(await fixture.fetch({ name: `${server.url}/stable` })), '1.0.0')
})

test('wrong, hostile and missing archives are refused', async (t) => {
  const other = await minimalChart('other')
  const linked = await archiveOf([
    { name: 'linked/Chart.yaml', content: chartYaml('linked') },
    { name: 'linked/x', type: 'symlink', linkname: '/etc/passwd' },
  ])
  const server = await startRepository(
    [
      { name: 'web', version: '1.0.0', bytes: other },
      { name: 'linked', version: '1.0.0', bytes: linked },
      { name: 'gone', version: '1.0.0', bytes: other, url: 'nowhere.tgz' },
    ],
    { isPlain: true },
  )
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  const from = { name: `${server.url}/stable` }
  t.is(outcomeOf(await fixture.fetch(from)), 'ChartRefused')
  t.is(outcomeOf(await fixture.fetch(from, 'linked')), 'ChartRefused')
  t.is(outcomeOf(await fixture.fetch(from, 'gone')), 'ChartMissing')
})

test('an answer that is not a repository is reported as such', async (t) => {
  const texts: Readonly<Record<string, string>> = {
    '/html/index.yaml': '<html></html>',
    '/list/index.yaml': '- a',
    '/broken/index.yaml': 'entries: [',
    '/aliases/index.yaml': 'a: &a [*a]\nentries: *a',
  }
  const server = await startServer(
    (request, response) => {
      const text = texts[request.url ?? '']
      if (text === undefined) response.writeHead(request.url === '/down/index.yaml' ? 503 : 404)
      response.end(text)
    },
    { isPlain: true },
  )
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  for (const path of ['html', 'list', 'broken', 'aliases'])
    t.is(outcomeOf(await fixture.fetch({ name: `${server.url}/${path}` })), 'ChartRefused', path)
  for (const path of ['down', 'nothing'])
    t.is(outcomeOf(await fixture.fetch({ name: `${server.url}/${path}` })), 'ChartSourceUnreachable', path)
})

test('entries of an index that cannot be installed are omitted', async (t) => {
  const bytes = await minimalChart()
  const text = `entries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web.tgz]}\n  - {name: web, version: nonsense, urls: [x.tgz]}\n  - {name: web, version: 9.0.0}\n  - text\n  - {name: web, version: 1.0.0, urls: [twice.tgz]}\n  broken: text\n`
  const server = await startServer(
    (request, response) => void response.end(request.url?.endsWith('index.yaml') === true ? text : bytes),
    { isPlain: true },
  )
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch({ name: server.url })), '1.0.0')
  t.is(server.seen.at(-1)?.path, '/web.tgz')
  const listed = await fixture.reader.charts(
    { url: server.url, isPlainHttp: false, credentials: {} },
    new AbortController().signal,
  )
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ name, version }) => [name, version]) : [], [
    ['web', '1.0.0'],
  ])
})

test('an index with aliases and merges is read as helm reads it, within bounds', async (t) => {
  const bytes = await minimalChart()
  const indexes: Readonly<Record<string, string>> = {
    aliases:
      'apiVersion: v1\nentries:\n  other:\n  - &one {name: web, version: 1.0.0, urls: &urls [web.tgz], keywords: [a]}\n  web: [*one, {<<: *one, version: 0.9.0}, {version: 0.8.0, urls: *urls}]\n',
    trailing: 'apiVersion: v1\nentries:\n  web: [{name: web, version: 1.0.0, urls: [web.tgz]}]\n---\n',
    second:
      '# made by a tool\n---\nentries:\n  web: [{name: web, version: 1.0.0, urls: [web.tgz]}]\n---\nentries: {}\n',
    // 1,000 names with 1,000 entries each.
    growing: `entries:\n  web: &all [${'{version: 1.0.0,urls: [web.tgz]},'.repeat(1000)}]\n${Array.from({ length: 1000 }, (_, index) => `  c${index}: *all\n`).join('')}`,
    doubling: `a: &a [x]\n${Array.from({ length: 40 }, (_, index) => `a${index}: &a${index} [${`*a${index === 0 ? '' : index - 1},`.repeat(9)}]\n`).join('')}entries: {web: [{version: 1.0.0, urls: [web.tgz], keywords: *a39}]}\n`,
  }
  const server = await startServer(
    (request, response) => {
      const [, name = ''] = (request.url ?? '').split('/')
      response.end(request.url?.endsWith('index.yaml') === true ? indexes[name] : bytes)
    },
    { isPlain: true },
  )
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  const expected: Readonly<Record<string, string>> = {
    aliases: '1.0.0',
    trailing: '1.0.0',
    second: '1.0.0',
    growing: 'ChartRefused',
    doubling: '1.0.0',
  }
  for (const [name, outcome] of Object.entries(expected))
    t.is(outcomeOf(await fixture.fetch({ name: `${server.url}/${name}` })), outcome, name)
  const listed = await fixture.reader.versions(
    { url: `${server.url}/aliases`, isPlainHttp: false, credentials: {} },
    'web',
    new AbortController().signal,
  )
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ version, keywords }) => [version, keywords]) : [], [
    ['1.0.0', ['a']],
    ['0.9.0', ['a']],
    ['0.8.0', []],
  ])
})

test('charts of another host are fetched without credentials, never internally', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const elsewhere = await startServer((_request, response) => void response.end(chart.bytes), { isPlain: true })
  const server = await startRepository(
    [
      { ...chart, url: `${elsewhere.url}/web.tgz` },
      { ...chart, version: '2.0.0', url: 'http://127.0.0.1:1/web.tgz' },
      { ...chart, version: '3.0.0', url: 'file:///etc/passwd' },
    ],
    { isPlain: true, authorization: 'Bearer abc' },
  )
  const fixture = sourceFixture({
    named: { internal: { url: `${server.url}/stable`, isPlainHttp: false, credentials: { token: secret('abc') } } },
  })
  t.teardown(async () => Promise.all([server.close(), elsewhere.close(), fixture.close()]))
  const from = { kind: 'ChartRepository', name: 'internal' }
  t.is(outcomeOf(await fixture.fetch(from, 'web', '1.0.0')), '1.0.0')
  t.is(server.seen[0]?.authorization, 'Bearer abc')
  t.is(elsewhere.seen[0]?.authorization, undefined)
  t.is(outcomeOf(await fixture.fetch(from, 'web', '2.0.0')), 'ChartSourceRefused')
  t.is(outcomeOf(await fixture.fetch(from, 'web', '3.0.0')), 'ChartSourceRefused')
})

test('an index may name places in a registry', async (t) => {
  const [chart] = await served('1.0.0')
  if (chart === undefined) return t.fail()
  const registry = await startRegistry([chart], { isPlain: true })
  const server = await startRepository([{ ...chart, url: `oci://localhost:${registry.port}/team/web:1.0.0` }], {
    isPlain: true,
  })
  const fixture = sourceFixture()
  t.teardown(async () => Promise.all([server.close(), registry.close(), fixture.close()]))
  t.is(
    outcomeOf(await fixture.fetch({ name: `${server.url}/stable` })),
    'ChartSourceRefused',
    'another host than the repository is asked by https alone',
  )
  t.is(registry.seen.length, 0)
})

test('sources that are none are refused', async (t) => {
  const fixture = sourceFixture()
  t.teardown(fixture.close)
  for (const from of [
    { kind: 'Local', name: '/etc' },
    { kind: 'GitRepository', name: 'x' },
    { kind: 'HelmRepository', name: 'x' },
    { name: '/etc/passwd' },
    { name: 'file:///etc' },
    { name: 'https://u:p@localhost/' },
    { name: 'ftp://localhost/' },
    { name: 'https://localhost:1' },
    { name: 'https://127.0.0.1:1' },
    { name: `https://localhost/${'x'.repeat(2000)}` },
  ]) {
    t.is(outcomeOf(await fixture.fetch(from)), 'ChartSourceRefused', JSON.stringify(from).slice(0, 80))
  }
})

test('charts of this service itself are found by name and version', async (t) => {
  const chart = (version: string) => ({
    name: 'own',
    version,
    files: { 'Chart.yaml': chartYaml('own', '', version), 'values.yaml': `of: "${version}"\n` },
  })
  const fixture = sourceFixture({ embedded: new Map([['editors', [chart('1.0.0'), chart('1.1.0')]]]) })
  t.teardown(fixture.close)
  const found = await fixture.fetch({ kind: 'Embed', name: 'editors' }, 'own')
  t.is('tag' in found ? found.tag : found.chart.values['of'], '1.1.0')
  t.is(outcomeOf(await fixture.fetch({ kind: 'Embed', name: 'editors' }, 'own', '1.0.0')), '1.0.0')
  t.is(outcomeOf(await fixture.fetch({ kind: 'Embed', name: 'other' }, 'own')), 'ChartMissing')
})

test('addresses of an index are taken from the repository', (t) => {
  const of = (base: string, written: string): string => chartUrl(base, written).href
  t.is(of('https://a.example/stable', 'charts/x.tgz'), 'https://a.example/stable/charts/x.tgz')
  t.is(of('https://a.example/stable/', 'x.tgz'), 'https://a.example/stable/x.tgz')
  t.is(of('https://a.example/stable?key=1', 'x.tgz'), 'https://a.example/stable/x.tgz?key=1')
  t.is(of('https://a.example/stable?key=1', 'x.tgz?own=2'), 'https://a.example/stable/x.tgz?own=2')
  t.is(of('https://a.example/stable', '/x.tgz'), 'https://a.example/x.tgz')
  t.is(of('https://a.example/stable', 'https://b.example/x.tgz'), 'https://b.example/x.tgz')
})
