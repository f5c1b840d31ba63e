// process: own - starts and stops components
import { chartOf } from '../packages/chart-archive.ts'
import { startWorkloadController } from '../packages/workload-controller.ts'
import { helm, kubernetes } from '../support/components/available.ts'
import type { KubernetesAnswer } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import type { FakeApi } from '../support/fake-api.ts'
import { startFakeApi } from '../support/fake-api.ts'
import type { Tree } from '../support/fake-api/kube-object.ts'
import { isTree } from '../support/fake-api/kube-object.ts'
import type { HelmCli } from '../support/run-helm.ts'
import { makeHelmCli } from '../support/run-helm.ts'

const test = needing('helm')

/** The API and both helms on it. */
const makeFixture = async (
  t: { teardown(fn: () => unknown): void },
  version: 'helm3' | 'helm4',
  environment?: Readonly<Record<string, string>>,
) => {
  const api = await startFakeApi()
  const cli = makeHelmCli((await helm())![version], api.kubeconfig(), environment)
  t.teardown(async () => {
    cli.remove()
    await api.stop()
  })
  const harbour = await chartOf('harbour')
  return { api, cli, chart: cli.file('harbour.tgz', harbour.archive) }
}

const install = (cli: HelmCli, chart: string, ...more: string[]) =>
  cli.run('install', 'web', chart, '-n', 'shop', '--create-namespace', ...more)

/** The watcher of Helm 4.1 may miss that an object was removed. */
const waitForRemoval = { helm3: '--wait', helm4: '--wait=legacy' } as const

const recordsOf = (api: FakeApi): readonly string[] =>
  api
    .all('v1', 'Secret', 'shop')
    .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm')
    .map(({ metadata }) => `${metadata.name} ${metadata.labels?.['status']}`)

for (const version of ['helm3', 'helm4'] as const) {
  test(`${version} installs, upgrades, rolls back and uninstalls, with hooks and waits`, async (t) => {
    const { api, cli, chart } = await makeFixture(t, version)
    const installed = await install(cli, chart, '--wait', '--timeout', '60s')
    t.is(installed.status, 0, installed.stderr)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 deployed'])
    t.deepEqual(
      api.all('batch/v1', 'Job', 'shop').map(({ metadata }) => metadata.name),
      ['web-pre-install'],
    )
    await cli.must('upgrade', 'web', chart, '-n', 'shop', '--wait', '--set', 'greeting=moin,replicas=2')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'web-settings')?.data?.['greeting'], 'moin')
    t.is(
      api
        .all('v1', 'Pod', 'shop')
        .filter(({ metadata }) => metadata.name.startsWith('web-') && !metadata.name.includes('-pre-')).length,
      2,
    )
    await cli.must('rollback', 'web', '1', '-n', 'shop', '--wait')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'web-settings')?.data?.['greeting'], 'hello')
    const history = (await cli.json('history', 'web', '-n', 'shop')) as readonly { revision: number; status: string }[]
    t.deepEqual(
      history.map(({ revision, status }) => [revision, status]),
      [
        [1, 'superseded'],
        [2, 'superseded'],
        [3, 'deployed'],
      ],
    )
    t.like((await cli.json('list', '-A')) as object[], [
      { name: 'web', namespace: 'shop', revision: '3', status: 'deployed' },
    ])
    await cli.must('uninstall', 'web', '-n', 'shop', waitForRemoval[version])
    t.deepEqual(recordsOf(api), [])
    t.deepEqual(
      [api.all('apps/v1', 'Deployment', 'shop').length, api.all('apps/v1', 'ReplicaSet', 'shop').length],
      [0, 0],
    )
  })

  test(`${version} keeps its records in ConfigMaps, and its history if configured`, async (t) => {
    const { api, cli, chart } = await makeFixture(t, version, { HELM_DRIVER: 'configmap' })
    t.is((await install(cli, chart)).status, 0)
    await cli.must('uninstall', 'web', '-n', 'shop', '--keep-history')
    t.is(api.find('v1', 'ConfigMap', 'shop', 'sh.helm.release.v1.web.v1')?.metadata.labels?.['status'], 'uninstalled')
    t.deepEqual(recordsOf(api), [])
  })

  test(`${version} records a failed hook and a wait that was in vain`, async (t) => {
    const { api, cli, chart } = await makeFixture(t, version)
    const failed = await install(cli, chart, '--set', 'hooks.install=fail')
    t.not(failed.status, 0)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 failed'])
    const inVain = await cli.run(
      'upgrade',
      'web',
      chart,
      '-n',
      'shop',
      '--wait',
      '--timeout',
      '3s',
      '--set',
      'hooks.isOn=false,claim.isOn=true',
    )
    t.not(inVain.status, 0)
    t.deepEqual(recordsOf(api), ['sh.helm.release.v1.web.v1 failed', 'sh.helm.release.v1.web.v2 failed'])
    t.is(api.find('v1', 'PersistentVolumeClaim', 'shop', 'web-store')?.status?.['phase'], 'Pending')
  })

  test(`${version} gets the forbidden request and its user in the response`, async (t) => {
    const { api, cli, chart } = await makeFixture(t, version)
    api.rules.forbid({ user: 'zoe', verb: 'create', resource: 'secrets' })
    const refused = await install(cli, chart, '--kube-as-user', 'zoe', '--kube-as-group', 'crew')
    t.not(refused.status, 0)
    t.regex(
      refused.stderr,
      /secrets is forbidden: User "zoe" cannot create resource "secrets" in API group "" in the namespace "shop"/,
    )
    t.true(api.calls.some(({ user, groups }) => user === 'zoe' && groups.includes('crew')))
  })
}

const ask = async (
  api: FakeApi,
  method: string,
  path: string,
  options: { body?: unknown; contentType?: string; accept?: string } = {},
) => {
  const { body, ...rest } = options
  const answer = await api.request(method, path, body, rest)
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { status: answer.status, json: answer.body as any }
}

test('lists come in pages, and as metadata alone', async (t) => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  for (const name of ['a', 'b', 'c'])
    api.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', labels: { owner: 'helm' } },
      data: { size: 'large' },
    })
  const path = '/api/v1/namespaces/default/configmaps?labelSelector=owner%3Dhelm&limit=2'
  const first = await ask(api, 'GET', path, {
    accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  })
  t.is(first.json.kind, 'PartialObjectMetadataList')
  t.deepEqual(
    first.json.items.map((item: { metadata: { name: string }; data?: unknown }) => [item.metadata.name, item.data]),
    [
      ['a', undefined],
      ['b', undefined],
    ],
  )
  const second = await ask(api, 'GET', `${path}&continue=${first.json.metadata.continue}`)
  t.like(second.json.items, [{ metadata: { name: 'c' }, data: { size: 'large' } }])
  t.is(second.json.metadata.continue, undefined)
})

test('a write with an old resourceVersion is refused', async (t) => {
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const made = api.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'berth', namespace: 'default' },
    data: { depth: '1' },
  })
  const path = '/api/v1/namespaces/default/configmaps/berth'
  t.is((await ask(api, 'PUT', path, { body: { ...made, data: { depth: '2' } } })).status, 200)
  const late = await ask(api, 'PUT', path, { body: { ...made, data: { depth: '3' } } })
  t.is(late.status, 409)
  t.is(late.json.reason, 'Conflict')
  const patch = { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { depth: '4' } }
  t.is((await ask(api, 'PATCH', path, { body: patch, contentType: 'application/merge-patch+json' })).status, 409)
  t.is(api.find('v1', 'ConfigMap', 'default', 'berth')?.data?.['depth'], '2')
})

test('held calls wait for their release, and delayed and failed ones are distinct', async (t) => {
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

const withKubernetes = needing('kubernetes')

type Ask = (method: string, path: string, body?: unknown, contentType?: string) => Promise<KubernetesAnswer>

/**
 * What a client goes by, without what differs from one cluster to the next: ids, times, versions, who manages which
 * field.
 */
const essence = ({ status, body }: KubernetesAnswer): unknown => {
  if (!isTree(body)) return { status, text: typeof body }
  const { kind, apiVersion, reason, message, items } = body
  const told = { status, kind, apiVersion, ...(reason === undefined ? {} : { reason, message }) }
  if (Array.isArray(items))
    return {
      ...told,
      items: items.map((item) =>
        isTree(item) ? { kind: item['kind'], apiVersion: item['apiVersion'], ...content(item) } : item,
      ),
    }
  if (items === null) return { ...told, items }
  return kind === 'Status' ? told : { ...told, content: content(body) }
}

const content = (object: Tree): Tree => {
  const metadata = isTree(object['metadata']) ? object['metadata'] : {}
  const { name, labels, annotations } = metadata
  return { name, labels, annotations, data: object['data'], type: object['type'] }
}

const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const apply = 'application/apply-patch+yaml'
const patch = 'application/json-patch+json'

/** Method, path below the namespace, body, content type: in this order on both. */
const script: readonly (readonly [string, string, unknown?, string?])[] = [
  ['GET', '/configmaps'],
  [
    'POST',
    '/configmaps',
    { metadata: { name: 'berth', labels: { owner: 'helm', size: 'l' } }, data: { depth: '12', wind: 'west' } },
  ],
  ['POST', '/configmaps', { metadata: { name: 'berth' } }],
  ['POST', '/configmaps', { metadata: { name: 'Not A Name' } }],
  ['GET', '/configmaps/berth'],
  ['GET', '/configmaps/none'],
  ['PATCH', '/configmaps/berth', { data: { depth: '13', wind: null } }, merge],
  ['PATCH', '/configmaps/berth', { metadata: { annotations: { seen: 'yes' } } }, strategic],
  ['PATCH', '/configmaps/berth', [{ op: 'replace', path: '/data/depth', value: '14' }], patch],
  ['PATCH', '/configmaps/none', { data: {} }, merge],
  ['PATCH', '/configmaps/berth', { data: {}, metadata: { resourceVersion: '1' } }, merge],
  ['PUT', '/configmaps/berth', { metadata: { name: 'berth', resourceVersion: '1' } }],
  [
    'PATCH',
    '/configmaps/applied?fieldManager=helm',
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '1', b: '2' } },
    apply,
  ],
  [
    'PATCH',
    '/configmaps/applied?fieldManager=other',
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { c: '3' } },
    apply,
  ],
  [
    'PATCH',
    '/configmaps/applied?fieldManager=helm',
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '9' } },
    apply,
  ],
  ['GET', '/configmaps/applied'],
  ['POST', '/configmaps?dryRun=All', { metadata: { name: 'tried' } }],
  ['GET', '/configmaps/tried'],
  [
    'POST',
    '/secrets',
    {
      metadata: { name: 'key', labels: { owner: 'helm' } },
      type: 'helm.sh/release.v1',
      stringData: { release: 'text' },
    },
  ],
  ['GET', '/secrets?labelSelector=owner%3Dhelm'],
  ['GET', '/secrets?labelSelector=owner%21%3Dhelm'],
  ['GET', '/configmaps?labelSelector=owner%20in%20(helm,flux),size'],
  ['GET', '/configmaps?labelSelector=%21size'],
  ['GET', '/configmaps?fieldSelector=metadata.name%3Dberth'],
  ['DELETE', '/configmaps/berth'],
  ['DELETE', '/configmaps/berth'],
  ['DELETE', '/configmaps?labelSelector=none%3Dsuch'],
  ['GET', '/deployments'],
]

const run = async (ask: Ask, namespace: string): Promise<readonly unknown[]> => {
  const told: unknown[] = []
  for (const [method, path, body, contentType] of script) {
    const root = path.startsWith('/deployments') ? '/apis/apps/v1' : '/api/v1'
    const answer = await ask(method, `${root}/namespaces/${namespace}${path}`, body, contentType)
    const text = JSON.stringify(essence(answer)).replaceAll(namespace, 'NAMESPACE')
    told.push({ asked: `${method} ${path}`, ...(JSON.parse(text) as object) })
  }
  return told
}

/** A list of a real namespace also has what its controllers put there. */
const withoutOwn = (told: readonly unknown[]): readonly unknown[] =>
  told.map((answer) =>
    isTree(answer) && Array.isArray(answer['items'])
      ? { ...answer, items: answer['items'].filter((item) => !isTree(item) || item['name'] !== 'kube-root-ca.crt') }
      : answer,
  )

/** The words in which a bad name or patch is refused are the server's own. */
const withoutReasons = (told: readonly unknown[]): readonly unknown[] =>
  told.map((answer) =>
    isTree(answer) && answer['reason'] === 'Invalid'
      ? { ...answer, message: String(answer['message']).slice(0, 40) }
      : answer,
  )

withKubernetes('the API in this process answers as a real kube-apiserver does', async (t) => {
  const server = (await kubernetes())!
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const namespace = await server.createNamespace('agree')
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const real = await run(
    (method, path, body, contentType) =>
      server.request(method, path, body, contentType === undefined ? {} : { contentType }),
    namespace,
  )
  const fake = await run(
    (method, path, body, contentType) =>
      api.request(method, path, body, contentType === undefined ? {} : { contentType }),
    namespace,
  )
  t.deepEqual(withoutReasons(withoutOwn(fake)), withoutReasons(withoutOwn(real)))
})

const withHelmAndKubernetes = needing('helm', 'kubernetes')

for (const version of ['helm3', 'helm4'] as const) {
  withHelmAndKubernetes(`${version} waits for workloads of a real kube-apiserver`, async (t) => {
    const server = (await kubernetes())!
    const namespace = await server.createNamespace('harbour')
    const controller = await startWorkloadController(server, namespace)
    const cli = makeHelmCli((await helm())![version], server.kubeconfig())
    t.teardown(async () => {
      cli.remove()
      await controller.stop()
    })
    const chart = cli.file('harbour.tgz', (await chartOf('harbour')).archive)
    await cli.must('install', 'web', chart, '-n', namespace, '--wait', '--timeout', '60s')
    await cli.must(
      'upgrade',
      'web',
      chart,
      '-n',
      namespace,
      '--wait',
      '--timeout',
      '60s',
      '--set',
      'replicas=2,greeting=moin',
    )
    const deployment = await server.request('GET', `/apis/apps/v1/namespaces/${namespace}/deployments/web`)
    t.is((deployment.body as { status: { readyReplicas: number } }).status.readyReplicas, 2)
    t.not(
      (await cli.run('upgrade', 'web', chart, '-n', namespace, '--timeout', '60s', '--set', 'hooks.upgrade=fail'))
        .status,
      0,
    )
    await cli.must('rollback', 'web', '1', '-n', namespace, '--wait', '--timeout', '60s')
    const history = (await cli.json('history', 'web', '-n', namespace)) as readonly {
      revision: number
      status: string
    }[]
    t.deepEqual(
      history.map(({ revision, status }) => [revision, status]),
      [
        [1, 'superseded'],
        [2, 'superseded'],
        [3, 'failed'],
        [4, 'deployed'],
      ],
    )
    await cli.must(
      'uninstall',
      'web',
      '-n',
      namespace,
      waitForRemoval[version],
      '--cascade',
      'foreground',
      '--timeout',
      '60s',
    )
    const left = await server.request('GET', `/apis/apps/v1/namespaces/${namespace}/replicasets`)
    t.deepEqual((left.body as { items: unknown[] }).items, [])
    t.deepEqual(controller.complaints, [])
  })
}
