// process: waiting - uses components
import { readFileSync } from 'node:fs'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import { signingRequests } from '../../support/hub/api/kinds.ts'
import { clusterNameLabel } from '../../support/hub/api/ocm-names.ts'
import { exampleCatalogue, writeCatalogue } from '../../support/hub/example/feature-catalogue.ts'
import { startTestHub, type TestHub } from '../../support/hub/test-hub.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../cluster-fixture.ts'

/**
 * docs/hub-credential.yaml: with exactly these rights every route about hubs works on a real kube-apiserver with the
 * webhooks of OCM.
 */
const test = needing('kubernetes')

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly { readonly apiGroups?: readonly string[]; readonly resources?: readonly string[] }[]
}
const manifests = parseAllDocuments(
  readFileSync(new URL('../../../docs/hub-credential.yaml', import.meta.url), 'utf8'),
).map((each) => each.toJS() as Manifest)
const plurals: Readonly<Record<string, string>> = {
  Namespace: 'namespaces',
  ServiceAccount: 'serviceaccounts',
  Secret: 'secrets',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
}

const pathOf = ({ apiVersion, kind, metadata: { namespace } }: Manifest): string =>
  `${apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plurals[kind]}`

let server: ControlPlaneAccess
let hub: TestHub
let service: TestService
let owner: Person
let org: string

/** An access config with a token of the service account. */
const accessConfig = async (): Promise<string> => {
  const { status, body } = await server.request('POST', '/api/v1/namespaces/moorage/serviceaccounts/moorage/token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  })
  if (status !== 201) throw new Error(`the token request was answered with ${status}`)
  const config = parse(server.kubeconfig()) as { users: { user: object }[] }
  return stringify({
    ...config,
    users: config.users.map((each) => ({
      ...each,
      user: { token: (body as { status: { token: string } }).status.token },
    })),
  })
}

test.before(async () => {
  server = (await kubernetes())!
  hub = await startTestHub(server, { webhooks: true })
  for (const manifest of manifests) {
    const { status, body } = await server.request('POST', pathOf(manifest), manifest)
    if (status !== 201 && status !== 409) throw new Error(`${manifest.kind}: ${JSON.stringify(body)}`)
  }
  await writeCatalogue(hub.client, exampleCatalogue)
  service = await startService()
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  await until('the role to count', async () =>
    (await importCluster(service.send, owner.token, org, 'hub', await accessConfig())).status === 200
      ? true
      : undefined,
  )
})
test.after.always(async () => {
  await service?.stop()
  await hub?.stop()
})

const release = (feature: string) => ({
  spec: {
    chart: {
      spec: {
        chart: feature,
        version: '2026.7.1',
        sourceRef: { kind: 'HelmRepository', name: 'charts', namespace: 'kubeops' },
      },
    },
    values: {},
  },
})
const features = (featureSet: string, ...names: readonly string[]) => ({
  metadata: { release: { name: featureSet } },
  resources: Object.fromEntries(
    names.map((name) => [`helmToolkitFluxcdIoHelmRelease_${name.replaceAll('-', '_')}`, release(name)]),
  ),
})

interface Use {
  readonly route: string
  readonly body?: unknown
  /** What is in the answer once the controllers of the hub have done their part. */
  readonly once?: string
}
const get = (route: string, once = ''): Use => ({ route: `GET ${route}`, once })
const post = (route: string, body: unknown = {}): Use => ({ route: `POST ${route}`, body })

/** A use of each route about a hub, in an order in which each has something to do. */
const usesOf = (spoke: string, set: string, namespace: string): readonly Use[] => {
  const ofSet = `clustersets/${set}`
  return [
    post('spoke-command', { clusterName: spoke }),
    get('not-accepted-clusters', spoke),
    post('accept-spoke', { clusters: [spoke] }),
    get('accepted-clusters', spoke),
    get('available-clusters', spoke),
    get('managed-clusters', spoke),
    post('clustersets/create', { clusterSet: set, clusters: [spoke] }),
    post('clustersets/add', { clusterSet: set, clusters: [spoke] }),
    get('clustersets', set),
    get('available-clustersets', set),
    get(`${ofSet}/clusters`, spoke),
    get(`${ofSet}/clusterlist`),
    get(`${ofSet}/auth-info`),
    get('bound-namespaces', namespace),
    post('bound-namespaces/bind', { clusterSet: set, namespace }),
    post('bound-namespaces/unbind', { clusterSet: set, namespace }),
    get(`${ofSet}/featuresets`, 'opscenter-core'),
    post(`${ofSet}/install-featureset`, features('opscenter-core', 'flux2', 'kube-ui-server', 'opscenter-features')),
    post(`${ofSet}/install-featureset`, features('opscenter-security', 'falco')),
    get(`${ofSet}/sync-status/suite-features-version`, `"name":"${spoke}","version":"2026.7.1"`),
    get(`${ofSet}/sync-status/all-features`, 'falco'),
    get(`${ofSet}/sync-status/falco`, spoke),
    get(`${ofSet}/auto-update/check`, 'true'),
    post(`${ofSet}/auto-update`),
    post(`${ofSet}/${spoke}/update-featureset`, features('opscenter-security', 'falco')),
    post(`${ofSet}/disable-featureset`, { clusterSet: set, featureSet: 'opscenter-security', features: ['falco'] }),
    get('validate-profile?profile=generic'),
    post('sync-accounts'),
    post('clustersets/remove', { clusterSet: set, clusters: [spoke] }),
    post('clustersets/delete', { clusterSet: set }),
    post('remove-managed-cluster', { clusterName: spoke }),
  ]
}

const prefix = '/clusters/{owner}/{cluster}/'

/** The routes that are authorized by a hub. */
const hubRoutes = (): readonly { readonly method: string; readonly path: string }[] =>
  service.running.assembly.routes.flatMap(({ bound: { route } }) => {
    const isAboutHub =
      route.access.kind === 'granted' && ['hub', 'clusterset', 'managedcluster'].includes(route.access.object.type)
    return isAboutHub && 'method' in route && route.path.startsWith(prefix)
      ? [{ method: route.method, path: route.path.slice(prefix.length) }]
      : []
  })

/** Routes that only submit a task; the tasks need rights on a spoke too. */
const submitting: readonly string[] = ['POST import-spoke', 'POST convert/spoke']

const send = (route: string, body?: unknown): Promise<ServiceAnswer> => {
  const [method = '', path = ''] = route.split(' ')
  return service.send(method, `/api/v1/clusters/${org}/hub/${path}`, {
    token: owner.token,
    ...(body === undefined ? {} : { body }),
  })
}

test.serial('with exactly this role every route about hubs works', async (t) => {
  const [spoke, set, namespace] = [hub.name(), hub.name(), await server.createNamespace()]
  await hub.agent(spoke)
  await until('the request to join', async () =>
    (await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${spoke}` })).items.length > 0
      ? true
      : undefined,
  )
  const used = new Set<string>(submitting)
  const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  for (const { route, body, once } of usesOf(spoke, set, namespace)) {
    const [method = '', path = ''] = route.split(/[ ?]/)
    // Literal segments come before parameters.
    const declared = hubRoutes()
      .filter((each) => each.method === method && patternOf(each.path).test(path))
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
    if (declared === undefined) continue
    used.add(`${declared.method} ${declared.path}`)
    await until(`${once ?? '200'} in ${route}`, async () => {
      const { status, text } = await send(route, body)
      if (status !== 200) throw new Error(`${route}: ${status} ${text}`)
      return text.includes(once ?? '') ? true : undefined
    })
  }
  t.deepEqual(
    hubRoutes()
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !used.has(route)),
    [],
  )
  const removed = await until('the end of the removal', async () => {
    const { json } = await expectStatus(
      service.send('GET', '/api/v1/tasks?kind=spokes.remove', { token: owner.token }),
      200,
    )
    const [task] = json as { state: string; message?: string; error?: unknown }[]
    return task === undefined || ['succeeded', 'failed'].includes(task.state) ? [task] : undefined
  })
  t.true(removed[0] === undefined || removed[0].state === 'succeeded', JSON.stringify(removed))
})

test.serial('the role acts as users of the hub, and of organizations only by gateway key', async (t) => {
  const { users } = parse(await accessConfig()) as { users: { user: { token: string } }[] }
  const review = async (resource: string, group: string): Promise<boolean> => {
    const [name, ...subresource] = resource.split('/')
    const resourceAttributes = { verb: 'impersonate', group, resource: name, subresource: subresource.join('/') }
    const { body } = await server.request(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      { token: users[0]!.user.token },
    )
    return (body as { status: { allowed: boolean } }).status.allowed
  }
  t.deepEqual(
    await Promise.all([
      review('users', ''),
      review('userextras/ace.appscode.com/org-id', 'authentication.k8s.io'),
      review('userextras/scopes', 'authentication.k8s.io'),
      review('groups', ''),
      review('serviceaccounts', ''),
    ]),
    [true, true, false, false, false],
  )
})

test.serial('without a right the failure names it', async (t) => {
  const role = manifests.find(({ kind }) => kind === 'ClusterRole')!
  const rulesBut = (resource: string) => role.rules?.filter(({ resources }) => resources?.includes(resource) !== true)
  const write = async (rules: Manifest['rules']): Promise<void> => {
    const { status } = await server.request(
      'PATCH',
      `${pathOf(role)}/${role.metadata.name}`,
      { rules },
      { contentType: 'application/merge-patch+json' },
    )
    if (status !== 200) throw new Error(`the role was answered with ${status}`)
  }
  t.teardown(() => write(role.rules))
  await write(rulesBut('namespaces'))
  const refused = await until('the refusal', async () => {
    const answer = await send('GET bound-namespaces')
    return answer.status === 200 ? undefined : answer
  })
  t.is(refused.status, 500)
  t.like(refused.json, {
    code: 'CredentialRefused',
    message: 'The hub does not let the stored credential list namespaces.',
  })
})
