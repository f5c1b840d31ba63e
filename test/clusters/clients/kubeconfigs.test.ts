import test from 'ava'
import { parse } from 'yaml'
const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'
import { makeCookieJar } from '../../support/cookie-jar.ts'
import type { SendOptions } from '../../support/send-json.ts'
import { expectStatus, importCluster, peoplesPassword } from '../cluster-fixture.ts'
import { connecting, makeKubeconfigFixture, type KubeconfigFixture } from './kubeconfig-fixture.ts'

/** Kubeconfigs of the service and the tokens in them. */
let fixture: KubeconfigFixture
test.before(async () => {
  fixture = await makeKubeconfigFixture()
})
test.after.always(() => fixture?.stop())

test('client-config leads to the proxy with a token made for it, or a place for one', async (t) => {
  const { service, fake, owner, as, imported, configOf, tokenIn, version, clusterTokensOf } = fixture
  const { at, name, org: home } = await imported()
  for (const query of ['?token=none', '']) {
    const answer = await expectStatus(configOf(at, as(owner), query), 200)
    t.is(answer.headers['cache-control'], 'no-store')
    t.false(answer.text.includes(fake.token))
    const config = parse(answer.json)
    t.is(config['current-context'], `${name}.${home}`)
    const server = new URL(config.clusters[0].cluster.server)
    t.is(server.pathname, `/api/v1/clusters/${at}/proxy`)
    // kubectl sends its token by https only, and trusts what the kubeconfig says.
    t.is(server.protocol, 'https:')
    t.regex(
      Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64').toString(),
      /^-----BEGIN CERTIFICATE-----/,
    )
    if (query !== '') {
      t.deepEqual(config.users[0].user, { token: tokenPlaceholder })
      t.deepEqual(await clusterTokensOf(owner, at), [])
    }
  }
  const made = await configOf(at, as(owner))
  const expiry = parse(made.json).contexts[0].context.extensions[0].extension.expirationTimestamp as string
  const listed = (await clusterTokensOf(owner, at)).find(({ token_last_eight: end }) => tokenIn(made).endsWith(end))
  t.like(listed, { cluster: at, scopes: ['write:cluster'], expires_at: expiry })
  t.is((await version(at, tokenIn(made))).status, 200)
  t.false(service.logText().includes(tokenIn(made)))
})

test('the token of a kubeconfig reaches only the Kubernetes API of its cluster', async (t) => {
  const { service, owner, as, imported, madeToken, version } = fixture
  const [mine, other] = [await imported(), await imported()]
  const token = await madeToken(mine.at, as(owner))
  t.is((await version(mine.at, token)).status, 200)
  t.is(
    (
      await service.send('POST', `/api/v1/clusters/${mine.at}/proxy/api/v1/namespaces/default/configmaps`, {
        token,
        body: { metadata: { name: 'c' } },
      })
    ).status,
    201,
  )
  for (const at of [other.at, 'nowhere/nothing']) t.true([403, 404].includes((await version(at, token)).status), at)
  const wrong: string[] = []
  for (const { bound, fullPath, methods } of service.running.assembly.routes) {
    const { access } = bound.route
    if (bound.kind === 'stream') continue
    const [account, cluster] = mine.at.split('/')
    const path = fullPath
      .replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) =>
          (name === 'cluster' ? cluster : /^(id|teamid|attempt)$/i.test(name) ? '1' : account) as string,
      )
      .replace('*', 'x')
    for (const method of methods) {
      const { status, json } = await service.send(method, path, { token, ...(method === 'GET' ? {} : { body: {} }) })
      const unproven =
        access.kind === 'public'
          ? (await service.send(method, path, method === 'GET' ? {} : { body: {} })).status
          : undefined
      const isRight =
        access.kind === 'public'
          ? status === unproven || unproven === 429
          : access.kind === 'password'
            ? status === 401
            : status === 403 && (json.code === 'AccessDenied' || bound.route.dialect === 'scim')
      if (!isRight) wrong.push(`${method} ${path}: ${status}`)
    }
  }
  t.deepEqual(wrong, [])
  t.is(
    (await service.send('GET', `/api/v1/clusters/${mine.at}/proxy/version`, { token, headers: { Sudo: owner.login } }))
      .status,
    403,
  )
})

test('a kubeconfig token has at most the rights and life of its request', async (t) => {
  const { service, owner, as, imported, configOf, madeToken, version, clusterTokensOf } = fixture
  const { at } = await imported()
  const expiry = new Date(Date.now() + 1_800_000).toISOString()
  const short = await expectStatus(
    service.send('POST', `/api/v1/users/${owner.login}/tokens`, {
      basic: [owner.login, peoplesPassword],
      body: { name: `short ${at}`, scopes: ['read:cluster'], expires_at: expiry },
    }),
    201,
  )
  const token = await madeToken(at, { token: short.json.sha1 as string })
  const [listed] = await clusterTokensOf(owner, at)
  t.like(listed, { scopes: ['read:cluster'], expires_at: expiry })
  t.is((await version(at, token)).status, 200)
  const change = await service.send('POST', `/api/v1/clusters/${at}/proxy/api/v1/namespaces/default/configmaps`, {
    token,
    body: { metadata: { name: 'c' } },
  })
  t.is(change.status, 403)
  t.regex(change.json.message, /write:cluster/)
  t.is((await configOf(at, { token: await service.tokenFor(owner.login, ['write:user']) })).status, 403)
  t.true(
    [403, 404].includes(
      (await configOf(at, { token: await service.tokenFor(owner.login, ['all', 'public-only']) })).status,
    ),
  )
  const parsed = parse((await expectStatus(configOf(at, as(owner), '?expirationSeconds=600'), 200)).json as string)
  const left = Date.parse(parsed.contexts[0].context.extensions[0].extension.expirationTimestamp as string) - Date.now()
  t.true(left > 0 && left <= 600_000)
  for (const seconds of ['59', '-600', '1e3', '604801'])
    t.is((await configOf(at, as(owner), `?expirationSeconds=${seconds}`)).status, 400, seconds)
  await expectStatus(
    service.send('DELETE', `/api/v1/users/${owner.login}/tokens/${listed!.id}`, {
      basic: [owner.login, peoplesPassword],
    }),
    204,
  )
  t.is((await version(at, token)).status, 401)
  const last = await madeToken(at, as(owner))
  await expectStatus(service.send('POST', `/api/v1/clustersv2/${at}/remove`, as(owner, {})), 200)
  t.is((await version(at, last)).status, 401, 'a token of a cluster that is forgotten goes with it')
})

test('a person has at most ten tokens for a cluster, and the oldest is removed', async (t) => {
  const { service, people, owner, as, imported, madeToken, version, clusterTokensOf } = fixture
  const [mine, other] = [await imported(), await imported()]
  const member = await people.person('member')
  await people.teamWithRole(owner, mine.org, [member], connecting)
  const [elsewhere, members] = [await madeToken(other.at, as(owner)), await madeToken(mine.at, as(member))]
  const oldest = await madeToken(mine.at, as(owner))
  await Promise.all(Array.from({ length: 14 }, () => madeToken(mine.at, as(owner))))
  const newest = await madeToken(mine.at, as(owner))
  t.is((await clusterTokensOf(owner, mine.at)).length, 10)
  t.is((await version(mine.at, oldest)).status, 401)
  for (const [at, token] of [
    [mine.at, newest],
    [mine.at, members],
    [other.at, elsewhere],
  ] as const)
    t.is((await version(at, token)).status, 200)
  const audit = await expectStatus(service.send('GET', `/api/v1/orgs/${mine.org}/audit`, as(owner)), 200)
  t.true(
    (audit.json as { action: string; actor?: unknown; changes: { token?: string } }[]).some(
      ({ action, changes }) =>
        action === 'cluster.token_created' && changes.token?.startsWith(`kubeconfig-${mine.org}-`),
    ),
  )
  const own = (await expectStatus(service.send('GET', '/api/v1/user/audit?limit=50', as(owner)), 200)).json as {
    action: string
    changes: { by?: string; cluster?: string }
  }[]
  t.true(own.some(({ action, changes }) => action === 'token.created' && changes.cluster === mine.at))
  t.true(own.some(({ action, changes }) => action === 'token.deleted' && changes.by === 'limit'))
})

test('GET creates a token only if a change would be accepted', async (t) => {
  const { service, owner, as, imported, madeToken, version, clusterTokensOf } = fixture
  const { at } = await imported()
  const made = async (): Promise<number> => (await clusterTokensOf(owner, at)).length
  const path = `/api/v1/clusters/${at}/client-config`
  const signedIn = await expectStatus(
    service.send('POST', '/api/v1/user/signin', { body: { username: owner.login, password: peoplesPassword } }),
    200,
  )
  const jar = makeCookieJar()
  jar.take(signedIn.headers)
  const { Cookie, 'X-Csrf-Token': csrf } = jar.headers(path) as { Cookie: string; 'X-Csrf-Token': string }
  const basic = [owner.login, peoplesPassword] as const
  const refused: readonly SendOptions[] = [
    { headers: { Cookie } },
    { headers: { Cookie, 'Sec-Fetch-Site': 'none' } },
    { headers: { Cookie, 'Sec-Fetch-Site': 'cross-site' } },
    { headers: { Cookie, 'Sec-Fetch-Site': 'same-site' } },
    { headers: { Cookie, 'X-Csrf-Token': 'guess' } },
    { basic, headers: { 'Sec-Fetch-Site': 'cross-site' } },
    { basic, headers: { Origin: 'https://elsewhere.example' } },
    { token: service.adminToken, headers: { Sudo: owner.login } },
  ]
  for (const credential of refused)
    t.is((await service.send('GET', path, credential)).status, 403, JSON.stringify(credential))
  const silent: readonly (readonly [string, string, SendOptions])[] = [
    ['HEAD', path, as(owner)],
    ['HEAD', path, { headers: { Cookie } }],
    ['GET', `${path}?token=none`, { headers: { Cookie } }],
    ['GET', `${path}?token=none`, { token: service.adminToken, headers: { Sudo: owner.login } }],
  ]
  for (const [method, asked, credential] of silent)
    t.is((await service.send(method, asked, credential)).status, 200, `${method} ${asked}`)
  t.is((await service.send('GET', `${path}?token=none`)).status, 401)
  t.is(
    (await service.send('GET', '/api/v1/user?token=none', as(owner))).status,
    401,
    'elsewhere it is a credential, and a wrong one',
  )
  t.is(await made(), 0)
  const asked = await service.send('GET', path, { token: owner.token, headers: { 'If-None-Match': '*' } })
  t.is(asked.status, 200)
  t.is(asked.headers['etag'], undefined)
  t.is(asked.headers['cache-control'], 'no-store')
  for (const headers of [
    { Cookie, 'X-Csrf-Token': csrf },
    { Cookie, 'Sec-Fetch-Site': 'same-origin' },
  ])
    t.is((await version(at, await madeToken(at, { headers }))).status, 200)
  t.is((await version(at, await madeToken(at, { basic }))).status, 200)
  t.is(
    (await version(at, await madeToken(at, {}, `?token=${owner.token}`))).status,
    200,
    'an access token is accepted in the query',
  )
  t.is(await made(), 5)
})

test('a robot gets a kubeconfig within its organization', async (t) => {
  const { service, fake, people, owner, as, imported, madeToken, version } = fixture
  const { at, org: home } = await imported()
  const { teamId } = await people.teamWithRole(owner, home, [], connecting)
  await expectStatus(
    service.send('POST', `/api/v1/orgs/${home}/robots`, as(owner, { name: 'ci', team_ids: [teamId] })),
    201,
  )
  const robot = await expectStatus(
    service.send('POST', `/api/v1/orgs/${home}/robots/ci/tokens`, as(owner, { name: 'ci' })),
    201,
  )
  const token = await madeToken(at, { token: robot.json.sha1 as string })
  t.is((await version(at, token)).status, 200)
  const listed = await expectStatus(service.send('GET', `/api/v1/orgs/${home}/robots/ci/tokens`, as(owner)), 200)
  t.is(listed.json.length, 2)
  await expectStatus(importCluster(service.send, owner.token, owner.login, 'home', fake.kubeconfig()), 200)
  const own = `${owner.login}/home`
  t.is((await version(own, await madeToken(own, as(owner)))).status, 200)
  t.true([403, 404].includes((await version(at, await madeToken(own, as(owner)))).status))
})
