// process: waiting - uses components
import { writeFileSync } from 'node:fs'
import { clientKubeconfig, expectStatus, peoplesPassword } from '../clusters/cluster-fixture.ts'
import { kubectl } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { accounts, configMaps, namespaces, roleBindings, spokeRoleBindings } from '../support/hub/api/kinds.ts'
import { startClientFixture, type ClientFixture } from './client-fixture.ts'

/** The life of client organizations, on two real API servers. */
const test = needing('kubernetes', 'spoke-kubernetes', 'kubectl')

let fixture: ClientFixture

test.before(async () => {
  fixture = await startClientFixture()
})
test.after.always(() => fixture?.stop())

test('one request creates a client organization, and one deletes all of it', async (t) => {
  const name = fixture.name('acme')
  const answer = await fixture.send(
    'POST',
    'client/create',
    fixture.creating(name, {
      annotations: { 'example.com/tier': 'gold' },
      dbProductConfig: { nodeSelector: { pool: 'db' }, tolerations: [{ key: 'db', operator: 'Exists' }] },
      gatewayConfig: { envoy: { provisionerType: 'kubernetes' } },
      telemetryParams: { logsRetentionPeriods: '30d' },
    }),
  )
  t.is(answer.status, 200, answer.text)
  t.is(answer.text, '')
  const task = await fixture.settled(name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  const id = await fixture.orgId(name)
  const { spoke } = fixture.hub
  t.deepEqual(await fixture.namespacesOf(name), [name, `${name}-gw`, `${name}-monitoring`])
  const main = await spoke.get(namespaces, name)
  t.like(main?.metadata, {
    labels: { 'ace.appscode.com/client-org': 'true' },
    annotations: {
      'ace.appscode.com/org-id': String(id),
      'example.com/tier': 'gold',
      'client.ace.appscode.com/db-product-config':
        '{"nodeSelector":{"pool":"db"},"tolerations":[{"key":"db","operator":"Exists"}]}',
    },
  })
  t.deepEqual((await spoke.get(configMaps, 'client-gateway', `${name}-gw`))?.data, {
    'config.json': '{"envoy":{"provisionerType":"kubernetes"}}',
    'reference.json': '{}',
  })
  t.deepEqual((await spoke.get(configMaps, 'client-telemetry', `${name}-monitoring`))?.data, {
    'telemetry.json': '{"logsRetentionPeriods":"30d"}',
  })
  t.is(await fixture.status(name), 'Active')
  t.is(await fixture.status(name, fixture.spoke), 'Active')
  t.like((await fixture.send('GET', `client/${id}`)).json, { id, name, orgType: 2, visibility: 'private' })
  const listed = (await fixture.send('GET', `clients?org=${fixture.org}`)).json as readonly { readonly name: string }[]
  t.true(listed.some((each) => each.name === name))
  const [account] = (await fixture.hub.client.list(accounts)).items.filter(
    ({ metadata }) => metadata.labels?.['authentication.k8s.appscode.com/hub-owner'] === String(id),
  )
  const bindings = (await fixture.hub.client.list(spokeRoleBindings, { namespace: fixture.spoke })).items.filter(
    ({ metadata }) => metadata.annotations?.['ace.appscode.com/org-id'] === String(id),
  )
  t.deepEqual(
    bindings.map((each) => each.roleRef as unknown),
    [
      { name: 'moorage:client:admin', namespaces: [name] },
      { name: 'moorage:client-observer:admin', namespaces: [`${name}-gw`, `${name}-monitoring`] },
    ].map((role) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', ...role })),
  )
  // The agent on a spoke deletes what has the labels of a binding that is deleted.
  t.is(new Set(bindings.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'])).size, 2)
  t.like(account, { spec: { extra: { 'ace.appscode.com/org-id': [String(id)] } } })

  await expectStatus(fixture.send('DELETE', `client/delete/${id}`), 200)
  const deleted = await fixture.settled(name)
  t.is(deleted.state, 'succeeded', JSON.stringify(deleted))
  t.deepEqual(await fixture.namespacesOf(name), [])
  t.is(await fixture.status(name), 'Deleted')
  t.is((await fixture.send('GET', `client/${id}`)).status, 404)
  t.is((await fixture.service.send('GET', `/api/v1/orgs/${name}`, { token: fixture.service.adminToken })).status, 404)
  t.is(await fixture.hub.client.get(accounts, account!.metadata.name), undefined)
  t.is((await fixture.send('DELETE', `client/delete/${id}`)).status, 404)
})

test('the admin sees only the namespaces of the client organization', async (t) => {
  const [name, other] = [fixture.name('globex'), fixture.name('initech')]
  await Promise.all([fixture.created(name), fixture.created(other)])
  const login = `admin-of-${name}`
  const { service } = fixture
  await expectStatus(
    service.send('PATCH', `/api/v1/admin/users/${login}`, {
      token: service.adminToken,
      body: { login_name: login, source_id: 0, password: peoplesPassword, must_change_password: false },
    }),
    200,
  )
  const signedIn = await expectStatus(
    service.send('POST', `/api/v1/users/${login}/tokens`, {
      basic: [login, peoplesPassword],
      body: { name: 'kubectl', scopes: ['all'] },
    }),
    201,
  )
  const person = { login, token: signedIn.json.sha1 as string }
  const file = await clientKubeconfig(service, person, name, fixture.spoke)
  t.teardown(file.remove)
  const path = (await kubectl())!
  const run = (...words: string[]) =>
    runCommand(path, ['--kubeconfig', file.path, ...words], { timeoutMilliseconds: 60_000 })
  const made = await run('--namespace', name, 'create', 'configmap', 'own', '--from-literal=a=b')
  t.is(made.status, 0, made.stderr)
  for (const own of [name, `${name}-gw`, `${name}-monitoring`])
    t.regex((await run('get', 'namespace', own, '-o', 'name')).stdout, new RegExp(`namespace/${own}`))
  const denied = [
    ['get', 'namespaces'],
    ['get', 'namespace', other],
    ['--namespace', other, 'get', 'configmaps'],
    ['--namespace', 'kube-system', 'get', 'secrets'],
    ['--namespace', 'default', 'get', 'pods'],
    ['get', 'nodes'],
    ['get', 'clusterroles'],
    ['--namespace', other, 'create', 'configmap', 'mine', '--from-literal=a=b'],
    ['create', 'clusterrolebinding', 'mine', '--clusterrole=cluster-admin', `--user=${login}`],
  ]
  for (const words of denied) {
    const refused = await run(...words)
    t.not(refused.status, 0, words.join(' '))
    t.regex(refused.stderr, /[Ff]orbidden/, words.join(' '))
  }
  const clusters = await expectStatus(
    service.send('GET', '/api/v1/user/clusters?all=true', { token: person.token }),
    200,
  )
  t.false(clusters.text.includes(fixture.org), 'the clusters of the vendor')
  t.is(
    (await service.send('GET', `/api/v1/clusters/${fixture.org}/${fixture.spoke}`, { token: person.token })).status,
    404,
  )
  t.is((await service.send('GET', `/api/v1/clusters/${other}/${fixture.spoke}`, { token: person.token })).status, 404)
  t.is((await service.send('GET', `/api/v1/orgs/${other}`, { token: person.token })).status, 404)
  const user = await expectStatus(
    service.send('GET', '/api/v1/user?check_client_org=true', { token: person.token }),
    200,
  )
  t.is(user.json.clientOrgUser, true)
  // What the client does with its own record gives it nothing more: the credential in it has no more rights.
  await service.send('PUT', `/api/v1/clusters/${name}/${fixture.spoke}`, {
    token: person.token,
    body: { name: fixture.spoke, impersonateUsers: true },
  })
  t.not((await run('get', 'namespaces')).status, 0)
  t.is((await roleBindingsOf(name)).length, 1)
  t.is((await roleBindingsOf(other)).length, 0)
  writeFileSync(file.path, '')
})

const roleBindingsOf = async (namespace: string) => (await fixture.hub.spoke.list(roleBindings, { namespace })).items
