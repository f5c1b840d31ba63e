// process: waiting - nginx answers
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { startNginx, type RunningNginx } from '../support/components/nginx.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import type { MetricsFixture } from './metrics-fixture.ts'
import { idOf, metricsOfPier, startMetricsFixture } from './metrics-fixture.ts'
import { exampleFor, startUpstream, type Upstream } from './nginx-example.ts'

const test = needing('nginx')

let fixture: MetricsFixture
let upstream: Upstream
let nginx: RunningNginx
let proxy: string
test.before(async () => {
  fixture = await startMetricsFixture()
  upstream = await startUpstream()
  const port = await reservedPort()
  const servicePort = new URL(fixture.service.baseUrl).port
  nginx = await startNginx(port, exampleFor(servicePort, upstream.port, port))
  proxy = `http://127.0.0.1:${port}/metrics`
})
test.after.always(async () => {
  await nginx.stop()
  await fixture.stop()
  upstream.stop()
})

const read = async (token: string | undefined, rest: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const answer = await fetch(`${proxy}/${rest}`, { ...init, headers })
  return { status: answer.status, text: await answer.text() }
}

/** Another organization that has the same cluster. */
const anotherTenant = async () => {
  const owner = await fixture.people.person('other')
  const org = await fixture.people.organization(owner)
  await fixture.importAgain(owner, org)
  const id = await idOf(fixture.service, org)
  return { owner, org, id, backend: `${id}.${fixture.uid}` }
}

test("a member reads the own tenant's metrics without credentials upstream", async (t) => {
  const backend = `${fixture.orgId}.${fixture.uid}`
  const query = 'query=up%7Bjob%3D%22a%2Fb%22%7D&time=1.5'
  const { status, text } = await read(fixture.owner.token, `${backend}/api/v1/query?${query}`, {
    headers: { cookie: 'a=b', 'x-scope-orgid': 'user.1', 'if-none-match': '*' },
  })
  t.is(status, 200, nginx.output())
  t.is(text, JSON.stringify({ status: 'success', data: { metricsOf: `user.${fixture.orgId}` } }))
  t.deepEqual(
    upstream.seen.findLast(({ url }) => url.includes(query)),
    {
      method: 'GET',
      url: `/api/v1/query?${query}`,
      tenant: `user.${fixture.orgId}`,
      authorization: undefined,
      cookie: undefined,
      body: '',
    },
  )
  const posted = await read(fixture.owner.token, `${backend}/api/v1/query_range`, {
    method: 'POST',
    body: new URLSearchParams({ query: 'posted_metric' }),
  })
  t.is(posted.status, 200)
  t.true(upstream.seen.some(({ method, body }) => method === 'POST' && body === 'query=posted_metric'))
  t.is((await read(fixture.owner.token, `${backend}/api/v1/label/__name__/values`)).status, 200)
})

test('no tenant reads the metrics of another one', async (t) => {
  const { owner, org, id, backend } = await anotherTenant()
  const theirs = `${fixture.orgId}.${fixture.uid}`
  t.is((await read(owner.token, `${backend}/api/v1/query?query=own`)).status, 200)
  const attempts = [
    `${theirs}/api/v1/query`,
    `${backend}/..%2f${theirs}/api/v1/query`,
    `${backend}%2f..%2f${theirs}/api/v1/query`,
    `${theirs}%2f..%2f${backend}/api/v1/query`,
    `${theirs}//api/v1/query`,
    `${backend}.x%00${theirs}/api/v1/query`,
    `${id}.${fixture.uid}.a.b/api/v1/query`,
    `999999999.${fixture.uid}/api/v1/query`,
  ]
  for (const attempt of attempts) {
    const { status, text } = await read(owner.token, `${attempt}?of=${org}`, {
      headers: { 'x-scope-orgid': `user.${fixture.orgId}` },
    })
    t.true([400, 401, 403, 404].includes(status) || text.includes(`"user.${id}"`), `${attempt}: ${status} ${text}`)
    t.false(text.includes(`user.${fixture.orgId}`), attempt)
  }
  t.true(upstream.seen.filter(({ url }) => url.includes(org)).every(({ tenant }) => tenant === `user.${id}`))
  t.is((await read(undefined, `${backend}/api/v1/query`)).status, 401)
  t.is((await read('moor_wrong', `${backend}/api/v1/query`)).status, 401)
})

test('only reading requests pass', async (t) => {
  const backend = `${fixture.orgId}.${fixture.uid}`
  for (const path of ['api/v1/admin/tsdb/delete_series', 'api/v1/write', '-/reload', 'metrics', 'api/v1/status/config'])
    t.is((await read(fixture.owner.token, `${backend}/${path}`, { method: 'POST' })).status, 404, path)
  for (const path of ['_moorage', '_refused', ''])
    t.true([403, 404].includes((await fetch(new URL(`/${path}`, proxy))).status), path)
})

test('a removed member reads nothing', async (t) => {
  const { owner, org, backend } = await anotherTenant()
  const member = await fixture.people.person('member')
  const { send } = fixture.service
  const teams = await send('GET', `/api/v1/orgs/${org}/teams`, { token: owner.token })
  const [team] = teams.json as unknown as readonly { id: number }[]
  await expectStatus(send('PUT', `/api/v1/teams/${team?.id}/members/${member.login}`, { token: owner.token }), 204)
  t.is((await read(member.token, `${backend}/api/v1/query`)).status, 200)
  await expectStatus(send('DELETE', `/api/v1/orgs/${org}/members/${member.login}`, { token: owner.token }), 204)
  t.is((await read(member.token, `${backend}/api/v1/query`)).status, 401)
})

test('the datasource of a registration reads through the proxy', async (t) => {
  const { owner, id, backend } = await anotherTenant()
  const { perses, register } = fixture
  await expectStatus(register('dashB', owner.token, { metrics: metricsOfPier, clusterUID: fixture.uid }), 200)
  const [secret] = perses.all(`user.${id}`, 'secrets')
  const { credentials } = (secret?.['spec'] as { authorization: { credentials: string } }).authorization
  const { status, text } = await read(credentials, `${backend}/api/v1/query`)
  t.is(status, 200)
  t.true(text.includes(`"user.${id}"`))
})

test('without the hook no request is passed on', async (t) => {
  const port = await reservedPort()
  const gone = String(await reservedPort())
  const other = await startNginx(port, exampleFor(gone, upstream.port, port))
  const url = `http://127.0.0.1:${port}/metrics/${fixture.orgId}.${fixture.uid}/api/v1/query?query=without-hook`
  const { status } = await fetch(url, { headers: { authorization: `Bearer ${fixture.owner.token}` } })
  await other.stop()
  t.is(status, 500)
  t.false(upstream.seen.some(({ url: reached }) => reached.includes('without-hook')))
})
