import test from 'ava'
import { challengeOf, mayHoldToken, nextPage, TagsUnreadable } from '../../adapters/charts/repositories/oci-registry.ts'
import type { RepositoryAccess, RepositoryCredentials } from '../../core/packages/repositories/types.ts'
import { secret } from '../../core/kernel/secret.ts'
import { minimalChart } from '../support/charts/archive.ts'
import { countingSocket } from '../support/charts/counting-socket.ts'
import type { TestServer } from '../support/charts/https-server.ts'
import { startServer } from '../support/charts/https-server.ts'
import { startRegistry } from '../support/charts/registry-server.ts'
import { outcomeOf, sourceFixture } from './source-fixture.ts'

const ociRegistryServed = (...versions: readonly string[]) =>
  Promise.all(versions.map(async (version) => ({ name: 'web', version, bytes: await minimalChart('web', version) })))
const basic = `Basic ${Buffer.from('robot:hunter2').toString('base64')}`
const robot: RepositoryCredentials = { username: 'robot', password: secret('hunter2') }

const access = (server: TestServer, credentials: RepositoryCredentials, isPlainHttp = false): RepositoryAccess => ({
  url: `oci://localhost:${server.port}/team`,
  isPlainHttp,
  credentials: isPlainHttp ? credentials : { ...credentials, authorityPem: server.authorityPem },
})
const ociRegistryFrom = { kind: 'ChartRepository', name: 'internal' }

test('a chart comes from a registry by its token', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0', '1.2.0+build.5', '2.0.0-rc1'), {
    authorization: basic,
  })
  const fixture = sourceFixture({
    named: {
      internal: access(server, robot),
      stranger: access(server, { username: 'robot', password: secret('wrong') }),
      nobody: access(server, {}),
    },
  })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), '1.2.0+build.5')
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom, 'web', '1.2.0+build.5')), '1.2.0+build.5')
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom, 'web', '~1.0')), '1.0.0')
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom, 'web', '9.9.9')), 'ChartMissing')
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom, 'nothing')), 'ChartMissing')
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom, 'UPPER')), 'ChartSourceRefused')
  for (const name of ['stranger', 'nobody'])
    t.is(outcomeOf(await fixture.fetch({ ...ociRegistryFrom, name })), 'ChartSourceRefused')
  t.true(server.seen.some(({ path }) => path.startsWith('/token?service=registry&scope=')))
  t.false(
    server.seen.filter(({ path }) => path.startsWith('/v2/')).some(({ authorization }) => authorization === basic),
    'the password goes to the token endpoint alone',
  )
})

test('a registry that wants the password itself gets it', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), {
    authorization: basic,
    isBasic: true,
    isPlain: true,
  })
  const fixture = sourceFixture({ named: { internal: access(server, robot, true) } })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), '1.0.0')
})

test('all pages of tags are read', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0', '1.1.0', '1.2.0', '1.3.0', '1.4.0'), {
    isPlain: true,
    pageSize: 2,
  })
  const fixture = sourceFixture({ named: { internal: access(server, {}, true) } })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), '1.4.0')
  const listed = await fixture.reader.versions(access(server, {}, true), 'web', new AbortController().signal)
  t.deepEqual(listed._tag === 'Right' ? listed.right.map(({ version }) => version) : [], [
    '1.4.0',
    '1.3.0',
    '1.2.0',
    '1.1.0',
    '1.0.0',
  ])
  const charts = await fixture.reader.charts(access(server, {}, true), new AbortController().signal)
  t.is(charts._tag === 'Left' ? charts.left.tag : '', 'ChartSourceRefused')
})

test('the next page of tags is on the same host, and pages are bounded', async (t) => {
  const charts = await ociRegistryServed('1.0.0', '1.1.0', '1.2.0')
  const thief = await startServer((_request, response) => void response.end('{"tags":["9.0.0"]}'), { isPlain: true })
  const paged = { isPlain: true, authorization: basic, pageSize: 1 }
  const [away, endless, unreadable] = [
    await startRegistry(charts, { ...paged, link: (next) => `<${thief.url}${next}>; rel=next` }),
    await startRegistry(charts, { ...paged, link: () => '</v2/team/web/tags/list?n=1>; rel="next"' }),
    await startRegistry(charts, { ...paged, link: () => 'rel="next"' }),
  ]
  const fixture = sourceFixture({
    named: {
      away: access(away, robot, true),
      endless: access(endless, robot, true),
      unreadable: access(unreadable, robot, true),
    },
  })
  t.teardown(async () => Promise.all([thief, away, endless, unreadable, fixture].map((each) => each.close())))
  for (const name of ['away', 'endless', 'unreadable']) {
    const fetched = await fixture.fetch({ ...ociRegistryFrom, name })
    t.is(outcomeOf(fetched), 'ChartSourceUnreachable', name)
    t.is(
      outcomeOf(await fixture.fetch({ ...ociRegistryFrom, name }, 'web', '1.1.0')),
      '1.1.0',
      'a version that is named needs no list',
    )
  }
  t.is(thief.seen.length, 0)
  t.true(endless.seen.length < 120)
})

test('links to the next page', (t) => {
  const [base, origin] = [new URL('https://r.example/v2/team/web/tags/list?n=1000'), 'https://r.example']
  const next = (link: string): string | undefined => nextPage(link, base, origin)?.href
  const there = `${origin}/v2/team/web/tags/list?next_page=a%2Cb,c`
  for (const link of [
    '</v2/team/web/tags/list?next_page=a%2Cb,c>; rel="next"',
    '<?next_page=a%2Cb,c>;rel=next',
    `<${there}>; title="a, <b>"; rel="last next"`,
    `<http://r.example/v2/team/web/tags/list?next_page=a%2Cb,c> ; REL = "NEXT"`,
    `</first>; rel="first", <list?next_page=a%2Cb,c>; rel="next", </last>; rel="last"`,
  ])
    t.is(next(link), there, link)
  for (const link of ['', '</x>; rel="prev"', '</x>; title="next"', '</next>']) t.is(next(link), undefined, link)
  for (const link of [
    '<https://other.example/x>; rel="next"',
    '<//other.example/x>; rel=next',
    '<https://r.example:8443/x>; rel=next',
    '<https://[>; rel=next',
    'rel=next',
    'x'.repeat(20_000),
  ])
    t.throws(() => next(link), { instanceOf: TagsUnreadable }, link.slice(0, 60))
})

test('a registry whose bytes differ from the manifest is refused', async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), { isPlain: true, isLying: true })
  const fixture = sourceFixture({ named: { internal: access(server, {}, true) } })
  t.teardown(async () => Promise.all([server.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), 'ChartRefused')
})

test('blobs elsewhere are fetched without credentials, and never from inside', async (t) => {
  const [chart] = await ociRegistryServed('1.0.0')
  if (chart === undefined) return t.fail()
  const store = await startServer((_request, response) => void response.end(chart.bytes), { isPlain: true })
  const socket = await countingSocket()
  const outside = await startRegistry([chart], {
    isPlain: true,
    authorization: basic,
    blobRedirect: `${store.url}/blob`,
  })
  const inside = await startRegistry([chart], {
    isPlain: true,
    authorization: basic,
    blobRedirect: `http://127.0.0.1:${socket.port}/`,
  })
  const fixture = sourceFixture({
    named: { internal: access(outside, robot, true), inside: access(inside, robot, true) },
  })
  t.teardown(async () => Promise.all([store, socket, outside, inside, fixture].map((each) => each.close())))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), '1.0.0')
  t.deepEqual(
    store.seen.map(({ authorization }) => authorization),
    [undefined],
  )
  t.is(outcomeOf(await fixture.fetch({ ...ociRegistryFrom, name: 'inside' })), 'ChartSourceRefused')
  t.is(socket.reached(), 0)
})

test('a token endpoint elsewhere does not get the password', async (t) => {
  const thief = await startServer((_request, response) => void response.end('{"token":"x"}'), { isPlain: true })
  const server = await startRegistry(await ociRegistryServed('1.0.0'), {
    isPlain: true,
    authorization: basic,
    realm: `${thief.url}/token`,
  })
  const fixture = sourceFixture({ named: { internal: access(server, robot, true) } })
  t.teardown(async () => Promise.all([server.close(), thief.close(), fixture.close()]))
  t.is(outcomeOf(await fixture.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.deepEqual(
    thief.seen.map(({ authorization }) => authorization),
    [undefined],
  )
})

test("plain HTTP needs both the operator's and the repository's permission", async (t) => {
  const server = await startRegistry(await ociRegistryServed('1.0.0'), { isPlain: true })
  const closed = sourceFixture({ allow: [], named: { internal: access(server, {}, true) } })
  const secure = sourceFixture({ named: { internal: { ...access(server, {}, true), isPlainHttp: false } } })
  t.teardown(async () => Promise.all([server.close(), closed.close(), secure.close()]))
  t.is(outcomeOf(await closed.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.is(outcomeOf(await secure.fetch(ociRegistryFrom)), 'ChartSourceRefused')
  t.is(server.seen.length, 0)
})

test('challenges', (t) => {
  t.deepEqual(
    challengeOf(
      'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    ),
    {
      scheme: 'bearer',
      realm: 'https://auth.example/token',
      service: 'registry.example',
      scope: 'repository:a/b:pull,push',
    },
  )
  t.deepEqual(challengeOf('basic realm="x"'), { scheme: 'basic' })
  for (const header of ['', 'Digest realm="x"', 'Bearer', 'Bearer service="x"', `Bearer realm="${'x'.repeat(5000)}"`])
    t.is(challengeOf(header), undefined)
})

test('credentials for a token go to trusted servers only', (t) => {
  const may = (registry: string, realm: string): boolean => mayHoldToken(new URL(registry), new URL(realm))
  t.true(may('https://ghcr.io', 'https://ghcr.io/token'))
  t.true(may('https://registry-1.docker.io', 'https://auth.docker.io/token'))
  t.true(may('https://registry.gitlab.com', 'https://gitlab.com/jwt/auth'))
  t.false(may('https://ghcr.io', 'https://evil.io/token'))
  t.false(may('https://registry-1.docker.io', 'http://auth.docker.io/token'))
  t.false(may('https://registry-1.docker.io', 'https://auth.docker.io.evil.com/token'))
  t.false(may('https://10.0.0.1', 'https://11.0.0.1/token'))
  t.false(may('https://ghcr.io', 'https://ghcr.io:8443/token'))
})
