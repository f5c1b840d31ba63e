// process: own - breaks what a service needs
import test, { type ExecutionContext } from 'ava'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { inTime } from '../../faults/linked-service.ts'
import { needing } from '../../support/components/needing.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { chartOf } from '../chart-archive.ts'
import { startChartServer } from '../chart-server.ts'
import { chartSource } from '../chart-source.ts'
import { importedAs, packageClient, startCharts } from '../package-fixture.ts'
import { recordObject } from '../../helm/records/records.ts'
import { hostileChart } from './hostile-archives.ts'
import type { HostileFixture, Trap } from './hostile-fixture.ts'
import {
  closeSharedHostileFixture,
  offered,
  sharedHostileFixture,
  startHostileFixture,
  startTrap,
} from './hostile-fixture.ts'

const withHelm = needing('helm')

test.after.always(() => closeSharedHostileFixture())

const from = (sourceName: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  name: 'hostile',
  version: '1.0.0',
  sourceApiGroup: '',
  sourceKind: 'Legacy',
  sourceNamespace: '',
  sourceName,
  ...more,
})

/** Views answer 4xx or 5xx, installs are refused or fail, and nobody connects. */
const isRefused = async (
  t: ExecutionContext,
  fixture: HostileFixture,
  trap: Trap,
  source: Readonly<Record<string, string>>,
): Promise<void> => {
  const view = await inTime(
    source['sourceName']!,
    fixture.client.send('GET', `/packageview?${new URLSearchParams(source).toString()}`),
    60,
  )
  t.true(
    view.status === 422 || view.status === 404 || view.status === 500,
    `${JSON.stringify(source)}: ${view.status} ${view.text}`,
  )
  t.false(view.text.includes('secret'))
  const answer = await fixture.client.send('POST', '/v3/releases/', {
    ...source,
    releaseName: 'web',
    namespace: 'default',
  })
  if (answer.status === 200) {
    const task = await inTime(source['sourceName']!, fixture.client.follow((answer.json as { id: string }).id), 60)
    t.is(task.state, 'failed', JSON.stringify(source))
  } else {
    t.is(answer.status, 422, answer.text)
  }
  t.is(trap.connections, 0, JSON.stringify(source))
}

withHelm('addresses that were not opened are not reached, however they are spelled', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  const { port } = trap
  const spellings = [
    `http://127.0.0.1:${port}`,
    `https://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    `http://localhost.:${port}`,
    `http://127.1:${port}`,
    `http://2130706433:${port}`,
    `http://0x7f000001:${port}`,
    `http://0177.0.0.1:${port}`,
    `http://0.0.0.0:${port}`,
    `http://[::ffff:127.0.0.1]:${port}`,
    `http://[::ffff:7f00:1]:${port}`,
    `http://user:password@127.0.0.1:${port}`,
    `oci://127.0.0.1:${port}/charts`,
    `oci://localhost:${port}/charts`,
    `file:///etc`,
    '/etc',
    '../../etc',
    `ftp://127.0.0.1:${port}`,
    `gopher://127.0.0.1:${port}`,
    `http://169.254.169.254`,
    'https://169.254.169.254',
    'not a url',
    '',
  ]
  for (const spelling of spellings) await isRefused(t, fixture, trap, from(spelling))
  for (const kind of ['Local', 'Embed', 'Nonsense', 'HelmRepository'])
    await isRefused(t, fixture, trap, from('/etc', { sourceKind: kind, sourceNamespace: 'default' }))
  t.deepEqual(fixture.changes(), [])
  await (await fetch(`http://127.0.0.1:${port}`)).text()
  t.is(trap.connections, 1, 'the trap itself works')
})

withHelm('a repository that may be reached leads nowhere else', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  const trapUrl = `http://127.0.0.1:${trap.port}/hostile-1.0.0.tgz`
  const source = from(fixture.charts.url)
  for (const status of [301, 302, 303, 307, 308]) {
    fixture.charts.on('/index.yaml', (_req, res) => {
      res.writeHead(status, { location: trapUrl })
      res.end()
    })
    await isRefused(t, fixture, trap, source)
  }
  fixture.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(302, { location: '/index.yaml' })
    res.end()
  })
  await isRefused(t, fixture, trap, source)
  fixture.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/yaml' })
    res.end(
      `apiVersion: v1\nentries:\n  hostile:\n    - {apiVersion: v2, name: hostile, version: 1.0.0, urls: ["${trapUrl}"]}\n`,
    )
  })
  await isRefused(t, fixture, trap, source)
  t.deepEqual(fixture.changes(), [])
})

withHelm('a Flux source of the cluster is held to the same rules', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  fixture.api.put({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'helmrepositories.source.toolkit.fluxcd.io' },
    spec: {
      group: 'source.toolkit.fluxcd.io',
      scope: 'Namespaced',
      names: { kind: 'HelmRepository', plural: 'helmrepositories' },
      versions: [{ name: 'v1', served: true, storage: true }],
    },
  })
  for (const url of [
    `http://127.0.0.1:${trap.port}`,
    `oci://127.0.0.1:${trap.port}/charts`,
    'file:///etc',
    'http://169.254.169.254',
  ]) {
    fixture.api.put({
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'HelmRepository',
      metadata: { name: 'stable', namespace: 'default' },
      spec: { url, type: url.startsWith('oci') ? 'oci' : 'default' },
    })
    await isRefused(
      t,
      fixture,
      trap,
      from('stable', {
        sourceApiGroup: 'source.toolkit.fluxcd.io',
        sourceKind: 'HelmRepository',
        sourceNamespace: 'default',
      }),
    )
  }
  t.deepEqual(fixture.changes(), [])
})

withHelm('icons and links of a chart are shown, never fetched', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  const url = `http://127.0.0.1:${trap.port}/icon.png`
  const metadata = `apiVersion: v2\nname: hostile\nversion: 1.0.0\nicon: ${url}\nhome: ${url}\nsources: ["${url}"]\ndependencies: []\n`
  fixture.charts.add(offered(await hostileChart({ 'Chart.yaml': metadata })))
  const query = new URLSearchParams(from(fixture.charts.url)).toString()
  for (const path of ['/packageview', '/bundleview', '/packageview/files', '/packageview/values']) {
    const answer = await fixture.client.send('GET', `${path}?${query}`)
    t.is(answer.status, 200, `${path}: ${answer.text}`)
  }
  t.is((await fixture.install('hostile', { version: '1.0.0' })).state, 'succeeded')
  t.is(trap.connections, 0)
})

withHelm('an index that never ends is given up', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const chunk = Buffer.alloc(1024 * 1024, ' ')
  let sent = 0
  fixture.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/yaml' })
    const more = (): void => {
      while (!res.destroyed && sent < 2_000) {
        sent += 1
        if (!res.write(chunk)) return void res.once('drain', more)
      }
    }
    more()
  })
  const query = new URLSearchParams(from(fixture.charts.url)).toString()
  const endless = await inTime('an endless index', fixture.client.send('GET', `/packageview?${query}`), 120)
  t.true(endless.status === 422 || endless.status === 500, endless.text)
  t.true(sent < 2_000, 'it was not read to its end')
  t.false(endless.text.includes('  '))
})

const password = 'tide-table-9317'

/** A repository by name, that asks for a password, and another server that the service may reach too. */
const startNamed = async (t: Parameters<typeof startHostileFixture>[0]) => {
  const elsewhere = await startChartServer(await chartOf('minimal'))
  const fixture = await startHostileFixture(t, { alsoOpen: [elsewhere.url] })
  t.teardown(() => elsewhere.stop())
  fixture.charts.add(await chartOf('minimal'))
  const token = fixture.service.adminToken
  const named = (method: string, path: string, body?: unknown) =>
    fixture.service.send(method, `/api/v1/orgs/admin/chartrepositories${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
    })
  await expectStatus(
    named('POST', '', { name: 'internal', url: fixture.charts.url, username: 'reader', password }),
    201,
  )
  const source = {
    name: 'minimal',
    version: '',
    sourceApiGroup: '',
    sourceKind: 'ChartRepository',
    sourceNamespace: '',
    sourceName: 'internal',
  }
  return { fixture, elsewhere, named, source, token }
}

const expected = `Basic ${Buffer.from(`reader:${password}`).toString('base64')}`

test("a named repository's credentials fetch the chart and stay hidden", async (t) => {
  const { fixture, named, source } = await startNamed(t)
  const task = await fixture.client.done('POST', '/v3/releases/', {
    ...source,
    releaseName: 'web',
    namespace: 'default',
  })
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  t.deepEqual([...new Set(fixture.charts.authorizations)], [expected])
  const shown = await named('GET', '/internal')
  t.is(shown.status, 200)
  const everything = [
    shown.text,
    (await named('GET', '')).text,
    JSON.stringify(task),
    fixture.service.logText(),
    JSON.stringify(fixture.api.all('v1', 'Secret', 'default')),
  ].join('\n')
  t.false(everything.includes(password) || everything.includes(expected))
})

test('credentials stay with their host, where an index or a redirect leads away', async (t) => {
  const { fixture, elsewhere, source } = await startNamed(t)
  fixture.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/yaml' })
    res.end(
      `apiVersion: v1\nentries:\n  minimal:\n    - {apiVersion: v2, name: minimal, version: 1.0.0, urls: ["${elsewhere.url}/minimal-1.0.0.tgz"]}\n`,
    )
  })
  await fixture.client.done('POST', '/v3/releases/', { ...source, releaseName: 'web', namespace: 'default' })
  fixture.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(302, { location: `${elsewhere.url}/index.yaml` })
    res.end()
  })
  await fixture.client.done('POST', '/v3/releases/', { ...source, releaseName: 'other', namespace: 'default' })
  t.true(elsewhere.requests.length > 0, 'the other server is one that may be reached')
  t.deepEqual([...new Set(elsewhere.authorizations)], [''])
})

test('the routes for repositories are no open proxy', async (t) => {
  const { fixture, token, named } = await startNamed(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  for (const url of [
    `http://127.0.0.1:${trap.port}`,
    `http://localhost:${trap.port}/`,
    'http://169.254.169.254/latest',
    'file:///etc',
    `oci://127.0.0.1:${trap.port}/x`,
  ]) {
    for (const path of ['/charts', '/charts/minimal/versions']) {
      const answer = await fixture.service.send(
        'GET',
        `/api/v1/chartrepositories${path}?url=${encodeURIComponent(url)}`,
        { token },
      )
      t.true(answer.status >= 400 && answer.status < 500, `${path} ${url}: ${answer.status} ${answer.text}`)
    }
    const made = await named('POST', '', { name: `trap-${trap.port}`, url, plain_http: url.startsWith('oci:') })
    if (made.status === 201) {
      t.true((await named('GET', `/trap-${trap.port}/charts`)).status >= 400)
      t.is((await named('DELETE', `/trap-${trap.port}`)).status, 204)
    } else {
      t.is(made.status, 422, made.text)
    }
  }
  t.is(trap.connections, 0)
})

for (const setting of ['off', '/nowhere/helm']) {
  test(`without a helm (${setting}) releases are read, and changes explain the remedy`, async (t) => {
    const api = await startFakeApi()
    const { charts, settings } = await startCharts(await chartOf('minimal'))
    const service = await startService({ settings: { ...settings, MOORAGE_HELM: setting } })
    t.teardown(async () => {
      await service.stop()
      await charts.stop()
      await api.stop()
    })
    api.put(await recordObject('Secret', { name: 'web', namespace: 'default', version: 1 }))
    const client = packageClient(
      service.send,
      service.adminToken,
      await importedAs(service.send, service.adminToken, 'admin', api.kubeconfig()),
    )
    const list = await client.send('GET', '/v3/releases/')
    t.is(list.status, 200)
    t.like(list.json, [{ name: 'web', version: 1 }])
    const source = chartSource(charts, 'minimal')
    t.is((await client.send('GET', `/packageview?${new URLSearchParams(source).toString()}`)).status, 200)
    const before = api.calls.length
    const answer = await client.send('POST', '/v3/releases/', { ...source, releaseName: 'other', namespace: 'default' })
    const words =
      answer.status === 200
        ? await client.follow((answer.json as { id: string }).id)
        : { state: 'failed', error: answer.text }
    t.is(words.state, 'failed')
    t.regex(words.error ?? '', /moorage helm install/)
    t.deepEqual(
      api.calls
        .slice(before)
        .filter(({ verb, resource }) => ['create', 'patch', 'update', 'delete'].includes(verb) && resource !== '')
        .map(({ url }) => url),
      [],
    )
  })
}
