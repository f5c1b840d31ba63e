// process: waiting - uses components
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { V1Status } from '@kubernetes/client-node'
import { CoreV1Api, Exec, KubeConfig, Watch } from '@kubernetes/client-node'
import test from 'ava'
import { parse } from 'yaml'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import { tokenPlaceholder } from '../../core/clusters/client-config.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import type { StubKubelet } from '../support/components/stub-kubelet.ts'
import { startStubKubelet } from '../support/components/stub-kubelet.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { Person } from './cluster-world.ts'
import { clientKubeconfig, expectStatus, importCluster, makePeople, peoplesPassword } from './cluster-world.ts'

/** Kubeconfigs of the service and the tokens in them. */
let service: TestService
let fake: FakeKubernetes
let people: ReturnType<typeof makePeople>
let owner: Person

test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
})

test.after.always(async () => {
  await service.stop()
  await fake.stop()
})

const as = (person: Person, body?: unknown) => ({ token: person.token, ...(body === undefined ? {} : { body }) })
let made = 0
/** A fake, imported under an owner's new organization. */
const imported = async (): Promise<{ org: string; name: string; at: string }> => {
  const name = `c-${(made += 1)}`
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200)
  return { org, name, at: `${org}/${name}` }
}

const connecting = ['view clusters', 'connect to clusters'].map((action) => ({ namespace: 'cluster_mgmt', action }))
const configOf = (at: string, credential: SendOptions, query = ''): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clusters/${at}/client-config${query}`, credential)
const tokenIn = (answer: ServiceAnswer): string => parse(answer.json as string).users[0].user.token as string
/** The token of a kubeconfig made for the caller. */
const madeToken = async (at: string, credential: SendOptions, query = ''): Promise<string> =>
  tokenIn(await expectStatus(configOf(at, credential, query), 200))
const version = (at: string, token: string): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/clusters/${at}/proxy/version`, { token })
interface ListedToken {
  readonly id: number
  readonly name: string
  readonly scopes: readonly string[]
  readonly cluster?: string
  readonly token_last_eight: string
  readonly expires_at: string
}
const clusterTokensOf = async (person: Person, at: string): Promise<readonly ListedToken[]> => {
  const all: ListedToken[] = []
  for (let page = 1; ; page += 1) {
    const { json, headers } = await expectStatus(
      service.send('GET', `/api/v1/users/${person.login}/tokens?limit=50&page=${page}`, {
        basic: [person.login, peoplesPassword],
      }),
      200,
    )
    all.push(...(json as ListedToken[]))
    if (all.length >= Number(headers['x-total-count'])) return all.filter(({ cluster }) => cluster === at)
  }
}

test('client-config leads to the proxy with a token made for it, or a place for one', async (t) => {
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

test('the token of a kubeconfig reaches the Kubernetes API of its cluster and nothing else of the API', async (t) => {
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
            : status === 403 && json.code === 'AccessDenied'
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

test('it has no more rights and no longer life than the requesting token, and ends with the right that it depends on', async (t) => {
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

test('of a person and cluster ten tokens live: the oldest goes, other people’s and clusters’ stay', async (t) => {
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

test('a GET creates a token only if a change would be accepted, and only if the response is read', async (t) => {
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

test('a robot account gets a kubeconfig within its organization, and a personal cluster has one', async (t) => {
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

test('moorage kubeconfig says in plain words what cannot be, and teaches', async (t) => {
  const { at } = await imported()
  const run = async (words: readonly string[], token = owner.token) => {
    const [out, err]: [string[], string[]] = [[], []]
    const environment = { MOORAGE_SERVER: service.baseUrl, MOORAGE_TOKEN: token }
    const code = await runCommandLine(['kubeconfig', ...words], {
      environment,
      print: (text) => void out.push(text),
      say: (text) => void err.push(text),
    })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }
  const printed = await run([at, '--command', '/opt/moorage'])
  t.is(printed.code, 0, printed.err)
  t.deepEqual(parse(printed.out).users[0].user.exec, {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/opt/moorage',
    args: ['kubeconfig', 'credential', at, '--server', service.baseUrl],
    interactiveMode: 'Never',
    provideClusterInfo: false,
    installHint: 'Put moorage on the PATH, or make the kubeconfig again with --command and the path to it.',
  })
  const credential = JSON.parse((await run(['credential', at])).out) as {
    apiVersion: string
    kind: string
    status: { token: string; expirationTimestamp: string }
  }
  t.like(credential, { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' })
  const left = Date.parse(credential.status.expirationTimestamp) - Date.now()
  t.true(left > 0 && left <= 3_600_000)
  t.is((await version(at, credential.status.token)).status, 200)
  for (const words of [['prod'], ['credential', 'prod']])
    t.like(await run(words), { code: 2, err: 'A cluster is named as OWNER/CLUSTER, as acme/prod, not prod.' })
  for (const words of [['acme/none'], ['credential', 'acme/none']]) t.is((await run(words)).code, 1)
  for (const words of [[at], ['credential', at]]) {
    t.regex((await run([...words, '--server', 'http://127.0.0.1:9'])).err, /^http:\/\/127\.0\.0\.1:9 does not answer/)
    t.regex((await run([...words, '--server', 'moorage'])).err, /takes a URL/)
  }
  t.regex((await run([at], 'wrong')).err, /access token is not valid/)
  for (const words of [['--help'], ['credential', '--help']])
    for (const part of ['--server', '--token-file', 'MOORAGE_TOKEN', 'Examples:'])
      t.true((await run(words)).out.includes(part), part)
})

/** Another client than kubectl, with the service's own kubeconfig: what it sends and expects differs. */
const withKubernetesAndKubelet = needing('kubernetes', 'kubelet')

let cluster: ControlPlaneAccess
let kubelet: StubKubelet
let clientNodeService: TestService
const config = new KubeConfig()
const endings: (() => void | Promise<void>)[] = []

withKubernetesAndKubelet.before(async () => {
  cluster = (await kubernetes())!
  kubelet = await startStubKubelet(cluster)
  endings.push(() => kubelet.stop())
  clientNodeService = await startService()
  endings.push(() => clientNodeService.stop())
  await expectStatus(
    importCluster(clientNodeService.send, clientNodeService.adminToken, 'admin', 'node', cluster.kubeconfig()),
    200,
  )
  const file = await clientKubeconfig(
    clientNodeService,
    { login: 'admin', token: clientNodeService.adminToken },
    'admin',
    'node',
  )
  endings.push(file.remove)
  config.loadFromFile(file.path)
})
withKubernetesAndKubelet.after.always(async () => {
  for (const end of endings.toReversed()) await end()
})

withKubernetesAndKubelet('lists, creates and deletes', async (t) => {
  const namespace = await cluster.createNamespace()
  const api = config.makeApiClient(CoreV1Api)
  await api.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' }, data: { k: 'v' } } })
  const listed = await api.listNamespacedConfigMap({ namespace })
  t.deepEqual(listed.items.find((each) => each.metadata?.name === 'a')?.data, { k: 'v' })
  await api.deleteNamespacedConfigMap({ namespace, name: 'a' })
  await t.throwsAsync(api.readNamespacedConfigMap({ namespace, name: 'a' }), { message: /404/ })
})

withKubernetesAndKubelet('watches until it leaves', async (t) => {
  const namespace = await cluster.createNamespace()
  const seen = new PassThrough({ objectMode: true })
  const leaving = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { fieldSelector: 'metadata.name=w' },
    (type: string, object: { metadata: { name: string } }) => void seen.write(`${type} ${object.metadata.name}`),
    () => undefined,
  )
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'w' } })
  t.is((await once(seen, 'data'))[0], 'ADDED w')
  leaving.abort()
})

withKubernetesAndKubelet('executes over WebSocket', async (t) => {
  const namespace = await cluster.createNamespace()
  await kubelet.runPod(namespace, 'web')
  const stdout = new PassThrough()
  const chunks: Buffer[] = []
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config)
      .exec(namespace, 'web', 'main', ['echo', 'high', 'tide'], stdout, null, null, false, resolve)
      .catch(reject)
  })
  t.is(status.status, 'Success')
  t.is(Buffer.concat(chunks).toString(), 'high tide\n')
})

/** The forms of the wider surface, through the whole service, on a real kube-apiserver. */
const withKubernetes = needing('kubernetes')

let widerFormsCluster: ControlPlaneAccess
let widerFormsService: TestService

withKubernetes.before(async () => {
  widerFormsCluster = (await kubernetes())!
  widerFormsService = await startService()
  await expectStatus(
    importCluster(
      widerFormsService.send,
      widerFormsService.adminToken,
      'admin',
      'wide',
      widerFormsCluster.kubeconfig(),
    ),
    200,
  )
})
withKubernetes.after.always(() => widerFormsService.stop())

const send = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ServiceAnswer> =>
  widerFormsService.send(method, `/api/v1/clusters/admin/wide/proxy${path}`, {
    token: widerFormsService.adminToken,
    headers,
    ...(body === undefined ? {} : { body }),
  })

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'v' } })
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'web' }] } }
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
})

withKubernetes('create answers 200, get carries a tag, plain JSON patches, delete answers 200', async (t) => {
  const at = `/core/v1/namespaces/${await widerFormsCluster.createNamespace()}/configmaps`
  t.is((await send('POST', `${at}/`, configMap('a'))).status, 200)
  const read = await send('GET', `${at}/a`)
  t.is(read.status, 200)
  t.is((await send('GET', `${at}/a`, undefined, { 'If-None-Match': String(read.headers['etag']) })).status, 304)
  t.deepEqual((await send('PATCH', `${at}/a`, { data: { x: 'y', k: null } })).json.data, { x: 'y' })
  const table = await send('GET', `${at}?convertToTable=true&labelSelector=none%3Dsuch`)
  t.like(table.json, { kind: 'Table', rows: [] })
  t.is((await send('DELETE', `${at}/a`)).status, 200)
  const gone = await send('GET', `${at}/a`)
  t.is(gone.status, 404)
  t.is(gone.json.reason, 'NotFound')
})

withKubernetes('selfsubjectaccessreviews and cluster-scoped resources', async (t) => {
  const review = await send('POST', '/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  })
  t.is(review.status, 200)
  t.true(review.json.status.allowed)
  t.is((await send('GET', '/rbac.authorization.k8s.io/v1/clusterroles/system:node')).json.metadata.name, 'system:node')
  t.is((await send('GET', '/core/v1/nodes/none/metrics')).status, 404)
})

withKubernetes('scale takes the bare number of replicas', async (t) => {
  const at = `/apps/v1/namespaces/${await widerFormsCluster.createNamespace()}/deployments`
  await expectStatus(send('POST', at, deployment('web')), 200)
  t.is((await send('GET', `${at}/web/scale`)).json.spec.replicas, 1)
  const scaled = await send('PUT', `${at}/web/scale`, { replicas: 4 })
  t.is(scaled.status, 200, scaled.text)
  t.is(scaled.json.spec.replicas, 4)
  const whole = { ...scaled.json, spec: { replicas: 2 } }
  t.is((await send('PUT', `${at}/web/scale`, whole)).json.spec.replicas, 2)
  for (const body of [{ replicas: -1 }, { replicas: 1.5 }, {}, 'no json'])
    t.is((await send('PUT', `${at}/web/scale`, body)).status, 422)
  t.is((await send('PUT', `${at}/none/scale`, { replicas: 1 })).status, 404)
})

withKubernetes('what restricts a change counts in computed forms, too', async (t) => {
  const namespace = await widerFormsCluster.createNamespace()
  const at = `/apps/v1/namespaces/${namespace}/deployments/web`
  await expectStatus(send('POST', `/apps/v1/namespaces/${namespace}/deployments`, deployment('web')), 200)
  const replicas = async (): Promise<number> => (await send('GET', `${at}/scale`)).json.spec.replicas
  t.is((await send('PUT', `${at}/scale?dryRun=All`, { replicas: 4 })).json.spec.replicas, 4)
  t.is((await send('PUT', `${at}/scale`, { replicas: 4, metadata: { resourceVersion: '1' } })).status, 409)
  t.is((await send('PUT', `${at}/scale`, { replicas: 4, spec: { replicas: 5 } })).status, 422)
  t.is(
    (await send('PUT', `${at}/scale?fieldValidation=Strict&fieldManager=me`, { replicas: 4, metdata: {} })).status,
    422,
  )
  t.is(await replicas(), 1)
  const { metadata } = (await send('GET', at)).json as { metadata: { uid: string } }
  const item = { namespace, name: 'web', group: 'apps', version: 'v1', resource: 'deployments' }
  const codes = async (query: string, body: object): Promise<unknown> => {
    const { status, json } = await send('POST', `/batch-delete${query}`, body)
    return status === 200
      ? json.resourcesStatus.map(
          (each: { status: { code?: number; status: string } }) => each.status.code ?? each.status.status,
        )
      : status
  }
  t.deepEqual(await codes('?dryRun=All', { resources: [item] }), ['Success'])
  t.deepEqual(await codes('', { resources: [item], dryRun: ['All'] }), ['Success'])
  t.deepEqual(await codes('', { resources: [{ ...item, preconditions: { uid: 'other' } }] }), [409])
  t.deepEqual(await codes('?dryRun=Some', { resources: [item] }), [422])
  for (const bad of [{ resources: [{ ...item, uid: 'other' }] }, { resources: [item], dry_run: true }])
    t.is(await codes('', bad), 422)
  t.is(await codes('?dryRun=All', { resources: [{ ...item, preconditions: { uid: 'other' } }] }), 422)
  t.is((await send('GET', at)).json.metadata.uid, metadata.uid)
  t.deepEqual(
    await codes('', {
      resources: [{ ...item, preconditions: { uid: metadata.uid } }],
      propagationPolicy: 'Background',
    }),
    ['Success'],
  )
  t.is((await send('GET', at)).status, 404)
  t.is((await send('GET', `/core/v1/namespaces/${namespace}/events`)).status, 200)
})

withKubernetes('RBAC objects with any lawful name are made, read and deleted', async (t) => {
  const kind = `/apis/rbac.authorization.k8s.io/v1/namespaces/${await widerFormsCluster.createNamespace()}/roles`
  for (const name of [
    'team a:view',
    'rôle',
    'x|y',
    'a#b',
    'a?b',
    'a;b&c',
    'back\\slash',
    '"q"<x>{y}[z]^`',
    'line\nbreak',
    '...',
    'é'.repeat(200),
  ]) {
    const path = `${kind}/${encodeURIComponent(name)}`
    t.is(
      (
        await send('POST', kind, {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name },
          rules: [],
        })
      ).status,
      201,
      name,
    )
    t.is((await send('GET', path)).json.metadata.name, name)
    t.is((await send('DELETE', path)).status, 200, name)
    t.is((await send('GET', path)).status, 404, name)
  }
})

withKubernetes('events, controller and autoscalers of an object', async (t) => {
  const namespace = await widerFormsCluster.createNamespace()
  const at = `/apps/v1/namespaces/${namespace}`
  const web = (await expectStatus(send('POST', `${at}/deployments`, deployment('web')), 200)).json
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: web.metadata.uid, controller: true }
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web-1', ownerReferences: [owner] },
    spec: { selector: { matchLabels: { app: 'web' } }, template },
  }
  await expectStatus(send('POST', `${at}/replicasets`, replicaSet), 200)
  t.is((await send('GET', `${at}/replicasets/web-1/controller`)).json.metadata.uid, web.metadata.uid)
  t.is((await send('GET', `${at}/deployments/web/controller`)).status, 404)
  t.is((await send('GET', `${at}/deployments/none/controller`)).status, 404)
  const event = (name: string, uid: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { kind: 'Deployment', namespace, name: 'web', uid },
    reason: name,
    type: 'Normal',
  })
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/events`, event('mine', web.metadata.uid)), 200)
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/events`, event('foreign', 'other')), 200)
  t.deepEqual(
    (await send('GET', `${at}/deployments/web/events`)).json.items.map((each: { reason: string }) => each.reason),
    ['mine'],
  )
  t.deepEqual((await send('GET', `${at}/deployments/web/events?fieldSelector=type%3DWarning`)).json.items, [])
  t.is((await send('GET', `${at}/deployments/web/events?watch=true`)).status, 422)
  const scaler = (name: string, target: string) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name },
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target } },
  })
  for (const [name, target] of [
    ['for-web', 'web'],
    ['for-db', 'db'],
  ] as const)
    await expectStatus(
      send('POST', `/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`, scaler(name, target)),
      200,
    )
  t.deepEqual(
    (await send('GET', `${at}/deployments/web/horizontalpodautoscalers`)).json.items.map(
      (each: { metadata: { name: string } }) => each.metadata.name,
    ),
    ['for-web'],
  )
})

withKubernetes('all-available names objects by kind', async (t) => {
  const namespace = await widerFormsCluster.createNamespace()
  await expectStatus(send('POST', `/apps/v1/namespaces/${namespace}/deployments`, deployment(`d-${namespace}`)), 200)
  const { json, status } = await send('GET', '/apps/v1/all-available')
  t.is(status, 200)
  t.true(json.Deployment.includes(`d-${namespace}`))
  t.is((await send('POST', '/apps/v1/all-available', {})).status, 400)
})

withKubernetes('batch-delete tells a Status for each, and takes nothing that is no object', async (t) => {
  const namespace = await widerFormsCluster.createNamespace()
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/configmaps`, configMap('a')), 200)
  const item = (name: string) => ({ namespace, name, group: '', version: 'v1', resource: 'configmaps' })
  const { json, status } = await send('POST', '/batch-delete', { resources: [item('a'), item('missing')] })
  t.is(status, 200)
  t.like(json.resourcesStatus[0], { ...item('a'), status: { kind: 'Status', status: 'Success' } })
  t.like(json.resourcesStatus[1], { ...item('missing'), status: { kind: 'Status', status: 'Failure', code: 404 } })
  t.is((await send('GET', `/core/v1/namespaces/${namespace}/configmaps/a`)).status, 404)
  for (const bad of [
    {},
    { resources: [] },
    { resources: [item('../../secrets')] },
    { resources: [item('a%2fb')] },
    { resources: [{ ...item('a'), resource: '' }] },
    { resources: [{ ...item(''), name: '' }] },
    { resources: [{ ...item('a'), version: 'v1/namespaces' }] },
    { resources: Array.from({ length: 101 }, () => item('a')) },
  ]) {
    t.is((await send('POST', '/batch-delete', bad)).status, 422, JSON.stringify(bad).slice(0, 100))
  }
})

withKubernetes('with impersonation the cluster’s own rights decide, also in computed forms', async (t) => {
  await expectStatus(
    importCluster(
      widerFormsService.send,
      widerFormsService.adminToken,
      'admin',
      'wide-as-user',
      widerFormsCluster.kubeconfig(),
      { impersonateUsers: true },
    ),
    422,
  )
  const org = await expectStatus(
    widerFormsService.send('POST', '/api/v1/orgs', {
      token: widerFormsService.adminToken,
      body: { username: 'as-users' },
    }),
    201,
  )
  t.truthy(org.json.id)
  await expectStatus(
    importCluster(
      widerFormsService.send,
      widerFormsService.adminToken,
      'as-users',
      'wide',
      widerFormsCluster.kubeconfig(),
      { impersonateUsers: true },
    ),
    200,
  )
  const asUser = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
    widerFormsService.send(method, `/api/v1/clusters/as-users/wide/proxy${path}`, {
      token: widerFormsService.adminToken,
      ...(body === undefined ? {} : { body }),
    })
  const namespace = await widerFormsCluster.createNamespace()
  const who = await asUser('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })
  t.is(who.status, 201, who.text)
  t.like(who.json.status.userInfo, { username: 'moorage:admin', extra: { 'moorage-user-id': ['1'] } })
  t.deepEqual(who.json.status.userInfo.groups.toSorted(), [
    'moorage:authenticated',
    'moorage:org:as-users',
    'system:authenticated',
  ])
  t.is((await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)).status, 403)
  const deleted = await asUser('POST', '/batch-delete', {
    resources: [{ namespace, name: 'a', version: 'v1', resource: 'configmaps' }],
  })
  t.is(deleted.json.resourcesStatus[0].status.code, 403)
  const binding = {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', name: 'moorage:org:as-users', apiGroup: 'rbac.authorization.k8s.io' }],
    metadata: { name: 'org' },
  }
  t.is(
    (
      await widerFormsCluster.request(
        'POST',
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
        binding,
      )
    ).status,
    201,
  )
  let allowed = await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)
  // The API server learns of a binding by its own watch.
  for (let left = 50; left > 0 && allowed.status === 403; left -= 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    allowed = await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)
  }
  t.is(allowed.status, 200)
})
