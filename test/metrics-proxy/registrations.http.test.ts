import test from 'ava'
import { RegistrationStorePort } from '../../core/metrics-proxy/ports.ts'
import { expectStatus } from '../clusters/cluster-fixture.ts'
import type { StandInCall } from './stand-in.ts'
import { valueAt, wordAt } from './stand-in.ts'
import type { MetricsFixture } from './metrics-fixture.ts'
import { metricsOfPier, startMetricsFixture } from './metrics-fixture.ts'

let fixture: MetricsFixture

test.before(async () => {
  fixture = await startMetricsFixture()
})
test.after.always(() => fixture.stop())

const both = ['dashA', 'dashB'] as const

/** The token with which the datasource of a registration asks the proxy; undefined if there is no datasource. */
const proxyTokenOf = (dashboard: 'dashA' | 'dashB', tenant: string, backend: string): string | undefined => {
  const { grafana, perses } = fixture
  const text =
    dashboard === 'dashA'
      ? wordAt(
          [...(grafana.organization(tenant)?.datasources.values() ?? [])].find(({ name }) => name === backend),
          'secureJsonData',
          'httpHeaderValue1',
        )
      : `Bearer ${wordAt(
          perses.all(tenant, 'secrets').find((each) => wordAt(each, 'metadata', 'name') === backend),
          'spec',
          'authorization',
          'credentials',
        )}`
  return /^Bearer (\S+)$/.exec(text)?.[1]
}

/** An organization of its own with the cluster of the fixture, so that tests do not meet. */
const freshTenant = async () => {
  const { people, importAgain, service, uid } = fixture
  const owner = await people.person('keeper')
  const org = await people.organization(owner)
  await importAgain(owner, org)
  const { json } = await service.send('GET', `/api/v1/orgs/${org}`, { token: owner.token })
  const id = json.id as number
  return { owner, org, id, tenant: `user.${id}`, backend: `${id}.${uid}` }
}

const bodyOf = (changes: object = {}): object => ({ metrics: metricsOfPier, clusterUID: fixture.uid, ...changes })

test('a registration makes organization, folder and datasource with one token', async (t) => {
  const { grafana, register } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const { json } = await expectStatus(register('dashA', owner.token, bodyOf({ default: true })), 200)
  const organization = grafana.organization(tenant)
  const [datasource] = [...(organization?.datasources.values() ?? [])]
  t.like(datasource, { name: backend, url: `http://proxy.internal/metrics/${backend}`, isDefault: true })
  const [folder] = [...(organization?.folders.values() ?? [])]
  t.is(folder?.title, 'pier')
  t.is(json.folderID, folder?.id)
  t.is(json.datasource, backend)
  t.deepEqual(valueAt(json, 'dashA', 'dashboard'), { datasource: backend, folderID: folder?.id })
  t.is(wordAt(json, 'dashA', 'url'), grafana.origin)
  t.is(wordAt(json, 'dashA', 'bearerToken'), [...(organization?.tokens.values() ?? [])][0]?.key ?? 'none')

  const again = await expectStatus(register('dashA', owner.token, bodyOf({ default: true })), 200)
  t.is(valueAt(again.json, 'dashA', 'bearerToken'), undefined)
  const issued = await expectStatus(register('dashA', owner.token, bodyOf({ default: true, issueToken: true })), 200)
  t.not(wordAt(issued.json, 'dashA', 'bearerToken'), wordAt(json, 'dashA', 'bearerToken'))
  t.deepEqual(
    [...(organization?.tokens.values() ?? [])].map(({ key }) => key),
    [wordAt(issued.json, 'dashA', 'bearerToken')],
    'the former token is withdrawn',
  )
})

test('a registration at B makes project, secret, folder and datasource', async (t) => {
  const { perses, register } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const { json } = await expectStatus(register('dashB', owner.token, bodyOf()), 200)
  t.deepEqual(json, {
    dashB: {
      url: perses.origin,
      dashboard: { projectName: tenant, folderName: backend, datasource: backend },
    },
    projectName: tenant,
    folderName: backend,
    datasource: backend,
  })
  const [datasource] = perses.all(tenant, 'datasources')
  t.deepEqual(valueAt(datasource, 'spec', 'plugin', 'spec', 'proxy', 'spec'), {
    url: `http://proxy.internal/metrics/${backend}`,
    secret: backend,
  })
  t.is(perses.all(tenant, 'folders').length, 1)
})

for (const dashboard of both) {
  test(`${dashboard}: the datasource's token passes until its user leaves`, async (t) => {
    const { register, hook, service } = fixture
    const { owner, org, tenant, backend } = await freshTenant()
    const member = await fixture.people.person('member')
    const teams = await service.send('GET', `/api/v1/orgs/${org}/teams`, { token: owner.token })
    const owners = (teams.json as unknown as readonly { id: number; name: string }[]).find(
      ({ name }) => name === 'Owners',
    )
    await expectStatus(
      service.send('PUT', `/api/v1/teams/${owners?.id}/members/${member.login}`, { token: owner.token }),
      204,
    )
    await expectStatus(register(dashboard, member.token, bodyOf()), 200)
    const first = proxyTokenOf(dashboard, tenant, backend) ?? ''
    const answer = await expectStatus(hook(first, `${backend}/api/v1/query`), 200)
    t.deepEqual(answer.json, { owner: org, clusterName: 'pier', tenantID: tenant })
    t.is((await service.send('GET', '/api/v1/user', { token: first })).status, 403, 'it can do nothing else')

    await expectStatus(
      service.send('DELETE', `/api/v1/orgs/${org}/members/${member.login}`, { token: owner.token }),
      204,
    )
    t.is((await hook(first, `${backend}/api/v1/query`)).status, 401)
    await expectStatus(register(dashboard, owner.token, bodyOf()), 200)
    const second = proxyTokenOf(dashboard, tenant, backend) ?? ''
    t.not(second, first, 'the same registration makes a new token, since the former one is of no use')
    t.is((await hook(second, backend)).status, 200)
    t.is((await hook(first, backend)).status, 401, 'the former token is deleted')
  })

  test(`${dashboard}: a registration that changes nothing sends no call`, async (t) => {
    const { register } = fixture
    const standIn = dashboard === 'dashA' ? fixture.grafana : fixture.perses
    const { owner, backend } = await freshTenant()
    const first = await expectStatus(register(dashboard, owner.token, bodyOf()), 200)
    const callsOfOurs = () =>
      standIn.calls.filter(({ body, path }) => JSON.stringify(body ?? '').includes(backend) || path.includes(backend))
        .length
    const before = callsOfOurs()
    t.true(before > 0)
    const second = await expectStatus(register(dashboard, owner.token, bodyOf()), 200)
    t.is(callsOfOurs(), before)
    t.is(wordAt(second.json, 'datasource'), wordAt(first.json, 'datasource'))
    await expectStatus(
      register(dashboard, owner.token, bodyOf({ metrics: { url: 'https://93.184.216.34/prom' } })),
      200,
    )
    t.true(callsOfOurs() > before, 'another address of the metrics is a change')
  })

  test(`${dashboard}: registrations of one cluster at once make one datasource`, async (t) => {
    const { register, grafana, perses } = fixture
    const { owner, tenant } = await freshTenant()
    const answers = await Promise.all([1, 2, 3].map(() => register(dashboard, owner.token, bodyOf())))
    t.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    const made =
      dashboard === 'dashA' ? grafana.organization(tenant)?.datasources.size : perses.all(tenant, 'datasources').length
    t.is(made, 1)
  })

  test(`${dashboard}: register and unregister at once end in one of both states`, async (t) => {
    const { register, unregister, grafana, perses, hook } = fixture
    const { owner, tenant, backend } = await freshTenant()
    for (let round = 0; round < 3; round += 1) {
      const [one, other] = await Promise.all([
        register(dashboard, owner.token, bodyOf({ issueToken: true })),
        unregister(dashboard, owner.token, { clusterUID: fixture.uid }),
      ])
      t.deepEqual([one.status, other.status], [200, 200])
      const made =
        dashboard === 'dashA'
          ? (grafana.organization(tenant)?.datasources.size ?? 0)
          : perses.all(tenant, 'datasources').length
      const proxyToken = proxyTokenOf(dashboard, tenant, backend)
      if (made === 1) t.is((await hook(proxyToken ?? '', backend)).status, 200)
      else t.is(proxyToken, undefined)
    }
  })

  test(`${dashboard}: a repetition completes a failed registration`, async (t) => {
    const { register, unregister, service } = fixture
    const standIn = dashboard === 'dashA' ? fixture.grafana : fixture.perses
    const { owner, tenant, backend } = await freshTenant()
    const isOurs = ({ path, body }: StandInCall): boolean => {
      const text = `${path} ${JSON.stringify(body ?? '')}`
      return text.includes(tenant) || text.includes(backend)
    }
    const failures = [
      { status: 500, json: { message: 'canary of the system' } },
      { status: 200, html: '<html>a page of some proxy</html>' },
      'drop',
    ] as const
    for (const failure of failures) {
      for (const verb of ['POST', 'PUT']) {
        const failed = await standIn.during(
          (call) => (isOurs(call) && call.method === verb ? failure : undefined),
          () => register(dashboard, owner.token, bodyOf({ issueToken: true })),
        )
        t.is(failed.status, 500, `${verb} ${JSON.stringify(failure)}: ${failed.text}`)
        t.is(failed.json.code, 'DashboardFailed')
        t.false(failed.text.includes('canary'))
        // The next step of a registration is reached only when this one has been made.
        if (verb === 'POST') await expectStatus(register(dashboard, owner.token, bodyOf()), 200)
        else await expectStatus(unregister(dashboard, owner.token, { clusterUID: fixture.uid }), 200)
      }
    }
    t.true(service.logText().includes('canary of the system'), 'the operator learns why')
    await expectStatus(unregister(dashboard, owner.token, { clusterUID: fixture.uid }), 200)
  })

  // Serial: its rule concerns every call.
  test.serial(`${dashboard}: concurrent changes by other programs do no harm`, async (t) => {
    const { register } = fixture
    const standIn = dashboard === 'dashA' ? fixture.grafana : fixture.perses
    const { owner } = await freshTenant()
    // Each read and each change says at first that the object is missing, so that its making meets one that exists.
    const seen = new Set<string>()
    const absentAtFirst = ({ method, path, body }: StandInCall) => {
      const key = `${method} ${path} ${JSON.stringify(body ?? '')}`
      if (method === 'POST' || seen.has(key) || path.endsWith('/search') || path.endsWith('/datasources'))
        return undefined
      seen.add(key)
      return { status: 404, json: { message: 'not found' } }
    }
    await expectStatus(register(dashboard, owner.token, bodyOf()), 200)
    await standIn.during(absentAtFirst, () =>
      expectStatus(register(dashboard, owner.token, bodyOf({ projectId: '', issueToken: true })), 200),
    )
    t.pass()
  })
}

test('a dashboard system that is down for long does not gather tokens', async (t) => {
  const { register, perses, service, hook } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const tokensOf = async (): Promise<number> => {
    const { json } = await expectStatus(
      service.send('GET', '/api/v1/user/settings/tokens/access-tokens', { token: owner.token }),
      200,
    )
    return (json as unknown as readonly { name: string }[]).filter(({ name }) => name.startsWith('metrics proxy'))
      .length
  }
  await expectStatus(register('dashB', owner.token, bodyOf()), 200)
  const first = proxyTokenOf('dashB', tenant, backend) ?? ''
  const isOurs = ({ path, body }: StandInCall): boolean => `${path} ${JSON.stringify(body ?? '')}`.includes(tenant)
  await perses.during(
    (call) => (isOurs(call) ? { status: 400, json: { message: 'datasource schemas are not loaded' } } : undefined),
    async () => {
      for (let attempt = 0; attempt < 6; attempt += 1)
        t.is((await register('dashB', owner.token, bodyOf({ issueToken: true }))).status, 500)
    },
  )
  t.true((await tokensOf()) <= 3)
  t.is((await hook(first, backend)).status, 200, 'the token of the datasource stays in force')
  await expectStatus(register('dashB', owner.token, bodyOf()), 200)
  t.is(await tokensOf(), 1)
})

test('B: the default of a project is taken from the other datasource', async (t) => {
  const { perses, register } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const url = 'https://other.example'
  const plugin = { kind: 'PrometheusDatasource', spec: { proxy: { kind: 'HTTPProxy', spec: { url } } } }
  perses.put(tenant, 'datasources', 'other', { default: true, display: { name: 'kept' }, plugin })
  await expectStatus(register('dashB', owner.token, bodyOf({ default: true })), 200)
  const defaults = perses
    .all(tenant, 'datasources')
    .map((each) => [wordAt(each, 'metadata', 'name'), valueAt(each, 'spec', 'default')])
  t.deepEqual(Object.fromEntries(defaults as [string, unknown][]), { other: false, [backend]: true })
  const other = perses.all(tenant, 'datasources').find((each) => wordAt(each, 'metadata', 'name') === 'other')
  t.deepEqual(valueAt(other, 'spec'), { default: false, display: { name: 'kept' }, plugin })
})

test("unregistering removes registered objects and keeps people's own", async (t) => {
  const { grafana, perses, register, unregister, hook } = fixture
  const { owner, tenant, backend } = await freshTenant()
  await expectStatus(register('dashA', owner.token, bodyOf()), 200)
  await expectStatus(register('dashB', owner.token, bodyOf()), 200)
  const tokens = both.map((dashboard) => proxyTokenOf(dashboard, tenant, backend) ?? '')
  const organization = grafana.organization(tenant)
  const [folder] = [...(organization?.folders.keys() ?? [])]
  organization?.filledFolders.add(folder ?? '')
  await expectStatus(unregister('dashA', owner.token, { clusterUID: fixture.uid }), 200)
  t.deepEqual([organization?.datasources.size, organization?.tokens.size, organization?.folders.size], [0, 0, 1])
  t.is((await hook(tokens[0] ?? '', backend)).status, 401)
  t.is((await hook(tokens[1] ?? '', backend)).status, 200, 'the other dashboard system is not concerned')
  await expectStatus(unregister('dashB', owner.token, { clusterUID: fixture.uid }), 200)
  t.deepEqual(
    [perses.all(tenant, 'datasources'), perses.all(tenant, 'secrets'), perses.all(tenant, 'folders')],
    [[], [], []],
  )
  t.true(perses.projects().includes(tenant))
  t.is((await hook(tokens[1] ?? '', backend)).status, 401)
})

test('projects of a cluster have datasources of their own', async (t) => {
  const { register, perses, unregister } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const ofProject = await expectStatus(register('dashB', owner.token, bodyOf({ projectId: 'p-8xk2c' })), 200)
  t.is(ofProject.json.datasource, `${backend}.p-8xk2c`)
  const whole = await expectStatus(register('dashB', owner.token, bodyOf({ projectId: 'p-8xk2c', default: true })), 200)
  t.is(whole.json.datasource, backend)
  await expectStatus(unregister('dashB', owner.token, { clusterUID: fixture.uid, projectId: 'p-8xk2c' }), 200)
  t.deepEqual(
    perses.all(tenant, 'datasources').map((each) => wordAt(each, 'metadata', 'name')),
    [backend],
  )
})

test('bad input is refused without a request to any system', async (t) => {
  const { register, grafana } = fixture
  const { owner, tenant } = await freshTenant()
  const url = { url: 'https://93.184.216.34/prom' }
  const refusals: readonly (readonly [number, object])[] = [
    [422, {}],
    [422, { metrics: url }],
    [422, { metrics: url, clusterUID: 'pier' }],
    [403, { metrics: url, clusterUID: '00000000-0000-4000-8000-00000000dead' }],
    [422, bodyOf({ metrics: {} })],
    [422, bodyOf({ metrics: { ...url, ...metricsOfPier } })],
    [422, bodyOf({ metrics: { url: 'ftp://example.com/' } })],
    [422, bodyOf({ metrics: { url: 'https://user:secret@example.com/' } })],
    [422, bodyOf({ metrics: { url: 'http://example.com/' } })],
    [422, bodyOf({ metrics: { url: 'https://169.254.169.254/latest' } })],
    [422, bodyOf({ metrics: { url: 'https://127.0.0.1:9090/' } })],
    [422, bodyOf({ metrics: { url: 'https://localhost/' } })],
    [422, bodyOf({ metrics: { ...url, bearerToken: 'a', basicAuth: { username: 'b', password: 'c' } } })],
    [422, bodyOf({ metrics: { ...url, tls: { cert: 'a certificate alone' } } })],
    ...[
      { port: '65536' },
      { port: 'http' },
      { name: 'a/b' },
      { namespace: '' },
      { scheme: 'ftp' },
      { path: '/../x' },
    ].map((change) => [422, bodyOf({ metrics: { service: { ...metricsOfPier.service, ...change } } })] as const),
    ...['UPPER', 'a.b', 'a'.repeat(21), '-a', 'a/b'].map((projectId) => [422, bodyOf({ projectId })] as const),
    [422, bodyOf({ hubUID: 'no uid' })],
    [404, bodyOf({ hubUID: '00000000-0000-4000-8000-00000000dead' })],
    [422, bodyOf({ clientOrgID: 'acme' })],
    [404, bodyOf({ clientOrgID: '999999' })],
  ]
  for (const [status, body] of refusals) {
    const answer = await register('dashA', owner.token, body)
    t.is(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`)
    t.is(typeof answer.json.message, 'string')
    t.false(answer.text.includes('canary'))
  }
  t.is(grafana.organization(tenant), undefined)
})

test('only an admin of the account that has the cluster registers it', async (t) => {
  const { register, unregister, people, service, hook } = fixture
  const { owner, org, backend } = await freshTenant()
  const stranger = await people.person('stranger')
  const member = await people.person('member')
  const team = await expectStatus(
    service.send('POST', `/api/v1/orgs/${org}/teams`, {
      token: owner.token,
      body: { name: 'crew', permission: 'write' },
    }),
    201,
  )
  await expectStatus(
    service.send('PUT', `/api/v1/teams/${team.json.id as number}/members/${member.login}`, { token: owner.token }),
    204,
  )
  for (const person of [stranger, member]) {
    t.is((await register('dashA', person.token, bodyOf())).status, 403)
    t.is((await unregister('dashA', person.token, { clusterUID: fixture.uid })).status, 403)
  }
  const unknown = { metrics: metricsOfPier, clusterUID: '00000000-0000-4000-8000-00000000dead' }
  t.is((await register('dashA', stranger.token, unknown)).status, 403)
  t.is((await unregister('dashA', stranger.token, unknown)).status, 403)
  t.is((await hook(member.token, backend)).status, 200, 'each member reads')
  t.is((await hook(stranger.token, backend)).status, 401)
  t.is((await hook(service.adminToken, backend)).status, 401, 'a site admin is no member')
})

test('a cluster that several accounts of the caller have needs the name of the account', async (t) => {
  const { register, people, importAgain } = fixture
  const { owner, org, id } = await freshTenant()
  const second = await people.organization(owner)
  await importAgain(owner, second)
  const unnamed = await register('dashB', owner.token, bodyOf())
  t.is(unnamed.status, 422)
  t.true(unnamed.text.includes('org'))
  const named = await expectStatus(register('dashB', owner.token, bodyOf(), `?org=${org.toUpperCase()}`), 200)
  t.is(named.json.projectName, `user.${id}`)
  t.is((await register('dashB', owner.token, bodyOf(), `?org=${fixture.org}`)).status, 404)
})

test('secrets are sealed, and in no log and no answer', async (t) => {
  const { register, service } = fixture
  const { owner, tenant, backend } = await freshTenant()
  const answers = [
    await register('dashA', owner.token, bodyOf()),
    await register('dashB', owner.token, bodyOf()),
    await register('dashB', owner.token, bodyOf()),
  ]
  const proxyTokens = both.map((dashboard) => proxyTokenOf(dashboard, tenant, backend) ?? 'none')
  const stored = await service.running.container.resolve(RegistrationStorePort).find(backend, 'dashA', new Date())
  const rows = JSON.stringify(stored, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
  )
  t.true(rows.includes(backend))
  for (const secret of [
    'canary-upstream-token',
    'canary-key',
    'canary-grafana-password',
    'canary-perses-token',
    ...proxyTokens,
  ]) {
    for (const { text } of answers) t.false(text.includes(secret), secret)
    t.false(service.logText().includes(secret), secret)
    t.false(rows.includes(secret), secret)
  }
})
