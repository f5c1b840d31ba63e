import { chartOf } from '../packages/chart-archive.ts'
import { helm } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeApi, type FakeApi } from '../support/fake-api.ts'
import { makeHelmCli, type HelmCli } from '../support/run-helm.ts'

const test = needing('helm')

/** The API and both helms on it. */
const makeWorld = async (t: { teardown(fn: () => unknown): void }, version: 'helm3' | 'helm4', environment?: Readonly<Record<string, string>>) => {
  const api = await startFakeApi()
  const cli = makeHelmCli((await helm())![version], api.kubeconfig(), environment)
  t.teardown(async () => {
    cli.remove()
    await api.stop()
  })
  const harbour = await chartOf('harbour')
  return { api, cli, chart: cli.file('harbour.tgz', harbour.archive) }
}

const install = (cli: HelmCli, chart: string, ...more: string[]) => cli.run('install', 'web', chart, '-n', 'shop', '--create-namespace', ...more)

const recordsOf = (api: FakeApi): readonly string[] => api.all('v1', 'Secret', 'shop').filter(({ metadata }) => metadata.labels?.['owner'] === 'helm').map(({ metadata }) => `${metadata.name} ${metadata.labels?.['status']}`)

for (const version of ['helm3', 'helm4'] as const) {
  test(`${version} installs, upgrades, rolls back and uninstalls, with hooks and waits`, async (t) => {
    const { api, cli, chart } = await makeWorld(t, version)
    const installed = await install(cli, chart, '--wait', '--timeout', '60s')
    t.is(installed.status, 0, installed.stderr)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 deployed'])
    t.deepEqual(api.all('batch/v1', 'Job', 'shop').map(({ metadata }) => metadata.name), ['web-pre-install'])
    await cli.must('upgrade', 'web', chart, '-n', 'shop', '--wait', '--set', 'greeting=moin,replicas=2')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'web-settings')?.data?.['greeting'], 'moin')
    t.is(api.all('v1', 'Pod', 'shop').filter(({ metadata }) => metadata.name.startsWith('web-') && !metadata.name.includes('-pre-')).length, 2)
    await cli.must('rollback', 'web', '1', '-n', 'shop', '--wait')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'web-settings')?.data?.['greeting'], 'hello')
    const history = (await cli.json('history', 'web', '-n', 'shop')) as readonly { revision: number; status: string }[]
    t.deepEqual(history.map(({ revision, status }) => [revision, status]), [[1, 'superseded'], [2, 'superseded'], [3, 'deployed']])
    t.like((await cli.json('list', '-A')) as object[], [{ name: 'web', namespace: 'shop', revision: '3', status: 'deployed' }])
    await cli.must('uninstall', 'web', '-n', 'shop', '--wait')
    t.deepEqual(recordsOf(api), [])
    t.deepEqual([api.all('apps/v1', 'Deployment', 'shop').length, api.all('apps/v1', 'ReplicaSet', 'shop').length], [0, 0])
  })

  test(`${version} keeps its records in ConfigMaps, and its history if configured`, async (t) => {
    const { api, cli, chart } = await makeWorld(t, version, { HELM_DRIVER: 'configmap' })
    t.is((await install(cli, chart)).status, 0)
    await cli.must('uninstall', 'web', '-n', 'shop', '--keep-history')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'sh.helm.release.v1.web.v1')?.metadata.labels?.['status'], 'uninstalled')
    t.deepEqual(recordsOf(api), [])
  })

  test(`${version} records a failed hook and a wait that was in vain`, async (t) => {
    const { api, cli, chart } = await makeWorld(t, version)
    const failed = await install(cli, chart, '--set', 'hooks.install=fail')
    t.not(failed.status, 0)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 failed'])
    const inVain = await cli.run('upgrade', 'web', chart, '-n', 'shop', '--wait', '--timeout', '3s', '--set', 'hooks.isOn=false,claim.isOn=true')
    t.not(inVain.status, 0)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 failed', 'sh.helm.release.v1.web.v2 failed'])
    t.is(api.find('v1', 'PersistentVolumeClaim', 'shop', 'web-store')?.status?.['phase'], 'Pending')
  })

  test(`${version} gets the forbidden request and its user in the response`, async (t) => {
    const { api, cli, chart } = await makeWorld(t, version)
    api.rules.forbid({ user: 'zoe', verb: 'create', resource: 'secrets' })
    const refused = await install(cli, chart, '--kube-as-user', 'zoe', '--kube-as-group', 'crew')
    t.not(refused.status, 0)
    t.regex(refused.stderr, /secrets is forbidden: User "zoe" cannot create resource "secrets" in API group "" in the namespace "shop"/)
    t.true(api.calls.some(({ user, groups }) => user === 'zoe' && groups.includes('crew')))
  })
}

const ask = async (api: FakeApi, method: string, path: string, options: { body?: unknown; contentType?: string; accept?: string } = {}) => {
  const { body, ...rest } = options
  const answer = await api.request(method, path, body, rest)
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { status: answer.status, json: answer.body as any }
}

test('lists come in pages, and as metadata alone', async (t) => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  for (const name of ['a', 'b', 'c']) api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', labels: { owner: 'helm' } }, data: { size: 'large' } })
  const path = '/api/v1/namespaces/default/configmaps?labelSelector=owner%3Dhelm&limit=2'
  const first = await ask(api, 'GET', path, { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' })
  t.is(first.json.kind, 'PartialObjectMetadataList')
  t.deepEqual(first.json.items.map((item: { metadata: { name: string }; data?: unknown }) => [item.metadata.name, item.data]), [['a', undefined], ['b', undefined]])
  const second = await ask(api, 'GET', `${path}&continue=${first.json.metadata.continue}`)
  t.like(second.json.items, [{ metadata: { name: 'c' }, data: { size: 'large' } }])
  t.is(second.json.metadata.continue, undefined)
})

test('a write with an old resourceVersion is refused', async (t) => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const made = api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'berth', namespace: 'default' }, data: { depth: '1' } })
  const path = '/api/v1/namespaces/default/configmaps/berth'
  t.is((await ask(api, 'PUT', path, { body: { ...made, data: { depth: '2' } } })).status, 200)
  const late = await ask(api, 'PUT', path, { body: { ...made, data: { depth: '3' } } })
  t.is(late.status, 409)
  t.is(late.json.reason, 'Conflict')
  const patch = { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { depth: '4' } }
  t.is((await ask(api, 'PATCH', path, { body: patch, contentType: 'application/merge-patch+json' })).status, 409)
  t.is(api.find('v1', 'ConfigMap', 'default', 'berth')?.data?.['depth'], '2')
})

test('held calls wait until they are released; delayed and failed ones are distinguished', async (t) => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const hold = api.rules.hold({ verb: 'get', resource: 'namespaces', name: 'default' })
  const asked = ask(api, 'GET', '/api/v1/namespaces/default')
  t.is((await hold.arrived).name, 'default')
  t.is(hold.waiting.length, 1)
  hold.release()
  t.is((await asked).status, 200)
  const mend = api.rules.fail({ resource: 'namespaces' }, 503, 'ServiceUnavailable', 'etcd is away')
  t.is((await ask(api, 'GET', '/api/v1/namespaces/default')).status, 503)
  mend()
  t.is((await ask(api, 'GET', '/api/v1/namespaces/default')).status, 200)
})
