import { expectStatus } from '../../clusters/cluster-world.ts'
import { needing } from '../../support/components/needing.ts'
import { startChartServer } from '../chart-server.ts'
import { chartOf } from '../chart-archive.ts'
import { startHostileWorld, startTrap } from './hostile-world.ts'

const test = needing('helm')

const password = 'tide-table-9317'

/** A repository by name, that asks for a password, and another server that the service may reach too. */
const startNamed = async (t: Parameters<typeof startHostileWorld>[0]) => {
  const elsewhere = await startChartServer(await chartOf('minimal'))
  const world = await startHostileWorld(t, { alsoOpen: [elsewhere.url] })
  t.teardown(() => elsewhere.stop())
  world.charts.add(await chartOf('minimal'))
  const token = world.service.adminToken
  const named = (method: string, path: string, body?: unknown) => world.service.send(method, `/api/v1/orgs/admin/chartrepositories${path}`, { token, ...(body === undefined ? {} : { body }) })
  await expectStatus(named('POST', '', { name: 'internal', url: world.charts.url, username: 'reader', password }), 201)
  const source = { name: 'minimal', version: '', sourceApiGroup: '', sourceKind: 'ChartRepository', sourceNamespace: '', sourceName: 'internal' }
  return { world, elsewhere, named, source, token }
}

const expected = `Basic ${Buffer.from(`reader:${password}`).toString('base64')}`

test('a chart of a named repository is installed with its credentials, which no answer shows', async (t) => {
  const { world, named, source } = await startNamed(t)
  const task = await world.client.done('POST', '/v3/releases/', { ...source, releaseName: 'web', namespace: 'default' })
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  t.deepEqual([...new Set(world.charts.authorizations)], [expected])
  const shown = await named('GET', '/internal')
  t.is(shown.status, 200)
  const everything = [shown.text, (await named('GET', '')).text, JSON.stringify(task), world.service.logText(), JSON.stringify(world.api.all('v1', 'Secret', 'default'))].join('\n')
  t.false(everything.includes(password) || everything.includes(expected))
})

test('credentials stay with their host, where an index or a redirect leads away', async (t) => {
  const { world, elsewhere, source } = await startNamed(t)
  world.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/yaml' })
    res.end(`apiVersion: v1\nentries:\n  minimal:\n    - {apiVersion: v2, name: minimal, version: 1.0.0, urls: ["${elsewhere.url}/minimal-1.0.0.tgz"]}\n`)
  })
  await world.client.done('POST', '/v3/releases/', { ...source, releaseName: 'web', namespace: 'default' })
  world.charts.on('/index.yaml', (_req, res) => {
    res.writeHead(302, { location: `${elsewhere.url}/index.yaml` })
    res.end()
  })
  await world.client.done('POST', '/v3/releases/', { ...source, releaseName: 'other', namespace: 'default' })
  t.true(elsewhere.requests.length > 0, 'the other server is one that may be reached')
  t.deepEqual([...new Set(elsewhere.authorizations)], [''])
})

test('the routes for repositories are no open proxy', async (t) => {
  const { world, token, named } = await startNamed(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  for (const url of [`http://127.0.0.1:${trap.port}`, `http://localhost:${trap.port}/`, 'http://169.254.169.254/latest', 'file:///etc', `oci://127.0.0.1:${trap.port}/x`]) {
    for (const path of ['/charts', '/charts/minimal/versions']) {
      const answer = await world.service.send('GET', `/api/v1/chartrepositories${path}?url=${encodeURIComponent(url)}`, { token })
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
