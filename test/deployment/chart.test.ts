// process: waiting - uses components
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseAllDocuments, parse, stringify } from 'yaml'
import { releaseVersion } from '../../core/platform/version.ts'
import { expectStatus, importCluster, makePeople } from '../clusters/cluster-fixture.ts'
import { chartFrom } from '../packages/chart-archive.ts'
import { chartSource } from '../packages/chart-source.ts'
import { packageClient, startCharts } from '../packages/package-fixture.ts'
import { startWorkloadController } from '../packages/workload-controller.ts'
import { helm, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { makeHelmCli } from '../support/run-helm.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fromRoot } from '../docs/asvs-table.ts'
import { pairwise } from './pairwise.ts'

/** The definitions of the resources of other projects that the chart uses, as those projects publish them. */
const definitions = ['servicemonitors', 'prometheusrules', 'httproutes'].map(
  (name) => parse(readFileSync(new URL(`definitions/${name}.yaml`, import.meta.url), 'utf8')) as object,
)

const chart = fileURLToPath(new URL('../../deploy/helm/moorage', import.meta.url))
const test = needing('helm', 'kubernetes')
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const image = { image: { digest } }

interface KubeDocument {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: Readonly<Record<string, unknown>>
}

/** What may differ between two deployments. Each value of an axis is a piece of the values. */
const axes = {
  database: [
    {},
    { database: { embedded: true }, replicas: 1, data: { size: '5Gi' }, keyring: { secret: { name: '' } } },
  ],
  migration: [{}, { migration: { job: false } }],
  scaling: [{}, { autoscaling: { enabled: true } }],
  data: [{}, { data: { size: '10Gi', storageClassName: 'fast' } }, { data: { existingClaim: 'kept' } }],
  tls: [{}, { tls: { secretName: 'certificate' } }],
  marketplace: [{}, { marketplace: { enabled: true } }],
  ingress: [
    {},
    { ingress: { enabled: true, host: 'moorage.example.com' } },
    {
      ingress: {
        enabled: true,
        host: 'moorage.example.com',
        className: 'nginx',
        tlsSecretName: 'public',
        annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' },
      },
    },
  ],
  gateway: [{}, { gateway: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['moorage.example.com'] } }],
  network: [
    {},
    { networkPolicy: { enabled: true } },
    {
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: {} }],
        metricsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
      },
    },
  ],
  monitoring: [
    {},
    { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
    { prometheusRule: { enabled: true, labels: { release: 'prometheus' }, groups: [{ name: 'own', rules: [] }] } },
    parse(readFileSync(fromRoot('deploy/monitoring/chart-values.yaml'), 'utf8')) as object,
  ],
  disruption: [{}, { podDisruptionBudget: { enabled: false } }, { podDisruptionBudget: { maxUnavailable: '25%' } }],
  pods: [
    {},
    {
      admin: { secret: { name: 'first-admin' } },
      settings: { MOORAGE_BASE_URL: 'https://moorage.example.com', MOORAGE_BILLING_ENABLED: true },
      secretSettings: { MOORAGE_MAIL: { name: 'mail', key: 'url' } },
      podLabels: { team: 'harbour' },
      podAnnotations: { note: 'none' },
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'a', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      imagePullSecrets: [{ name: 'pull' }],
      topologySpread: { enabled: false },
    },
  ],
} as const

type Values = Readonly<Record<string, unknown>>

const merged = (...pieces: readonly Values[]): Values => {
  const all: Record<string, unknown> = {}
  for (const piece of pieces)
    for (const [key, value] of Object.entries(piece))
      all[key] = isObject(all[key]) && isObject(value) ? { ...all[key], ...value } : value
  return all
}
const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An embedded database has one instance. */
const isPossible = (choice: Readonly<Record<string, number>>): boolean =>
  !(choice['database'] === 1 && choice['scaling'] === 1)

const combinations = pairwise(
  Object.fromEntries(Object.entries(axes).map(([name, choices]) => [name, choices.length])),
  isPossible,
).map((choice) => {
  const pieces = Object.entries(axes).map(([name, choices]) => choices[choice[name] ?? 0] as Values)
  const [database = {}, ...others] = pieces
  // The volume of an embedded database comes from the axis of the volume where that has one.
  return merged(image, database, ...others)
})

const collections: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  Ingress: 'ingresses',
}
const pathOf = ({ apiVersion, kind }: KubeDocument, namespace: string): string => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return `${root}/namespaces/${namespace}/${collections[kind] ?? `${kind.toLowerCase()}s`}`
}

const withValues = async <A>(values: Values, work: (file: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-chart-'))
  try {
    const file = join(folder, 'values.yaml')
    writeFileSync(file, stringify(values))
    return await work(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('the chart is of this release, lints without a warning, and its schema is valid', async (t) => {
  const { helm3, helm4 } = (await helm())!
  const metadata = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as { readonly appVersion: string }
  t.is(`v${metadata.appVersion}`, releaseVersion)
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as { readonly $schema: string }
  t.is(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  const isValid = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false }).compile(schema)
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values
  t.false(isValid(values), 'a digest is required')
  t.true(isValid(merged(values, { image: { ...(values['image'] as object), digest } })), JSON.stringify(isValid.errors))
  for (const command of [helm4, helm3]) {
    const cli = makeHelmCli(command, '')
    t.teardown(() => cli.remove())
    t.regex(await cli.must('lint', '--strict', chart, '--set', `image.digest=${digest}`), /0 chart\(s\) failed/)
  }
})

const limited = (memory: string | number): Values => ({ resources: { limits: { memory } } })

const refused: readonly (readonly [Values, RegExp])[] = [
  [{ image: { digest: '' } }, /image\/digest/],
  [{ image: { digest, tag: 'latest' } }, /tag/],
  [{ replica: 3 }, /replica/],
  [{ drainSeconds: 20 }, /drainSeconds/],
  [{ settings: { MOORAGE_DATABASE_URL: 'mysql://u:secret@h/d' } }, /MOORAGE_DATABASE_URL/],
  [{ settings: { PATH: '/bin' } }, /PATH/],
  [{ ingress: { enabled: true } }, /ingress\/host/],
  [{ gateway: { enabled: true } }, /gateway\/parentRefs/],
  [{ database: { embedded: true }, replicas: 2, data: { size: '1Gi' } }, /replicas/],
  [{ database: { embedded: true }, replicas: 1 }, /data/],
  [{ database: { secret: { name: '', key: 'url' } } }, /database\/secret\/name/],
  [{ migration: { secret: { name: '', key: 'url' } } }, /migration\/secret\/name/],
  [{ settings: { MOORAGE_WORKERS: 3 } }, /MOORAGE_WORKERS is 3, .* at least 1070Mi, and it is 1Gi/],
  [{ settings: { MOORAGE_WORKERS: '2' }, ...limited('749Mi') }, /at least 750Mi, and it is 749Mi/],
  [{ settings: { MOORAGE_WORKERS: 2 }, ...limited('786431k') }, /at least 750Mi, and it is 786431k/],
  [{ settings: { MOORAGE_WORKERS: 2 }, ...limited(786_000_000) }, /at least 750Mi, and it is 7.86e\+08/],
]

const accepted: readonly Values[] = [
  { settings: { MOORAGE_WORKERS: 2 } },
  { settings: { MOORAGE_WORKERS: '2' }, ...limited('0.74Gi') },
  { settings: { MOORAGE_WORKERS: 2 }, ...limited(787_000_000) },
  { settings: { MOORAGE_WORKERS: 64 }, resources: { limits: null } },
  { settings: { MOORAGE_WORKERS: 64 }, ...limited('1Ti') },
]

test('values that would not work are refused before anything is sent', async (t) => {
  const cli = makeHelmCli((await helm())!.helm4, '')
  t.teardown(() => cli.remove())
  for (const [values, message] of refused) {
    const { status, stderr } = await withValues(merged(image, values), (file) =>
      cli.run('template', 'moorage', chart, '-f', file),
    )
    t.not(status, 0, JSON.stringify(values))
    t.regex(stderr, message)
  }
  for (const values of accepted)
    await t.notThrowsAsync(
      withValues(merged(image, values), (file) => cli.must('template', 'moorage', chart, '-f', file)),
      JSON.stringify(values),
    )
})

test('the API server accepts each pair of chart values under the restricted standard', async (t) => {
  t.timeout(300_000)
  const server = (await kubernetes())!
  const cli = makeHelmCli((await helm())!.helm4, server.kubeconfig())
  t.teardown(() => cli.remove())
  for (const definition of definitions) {
    const { status, body } = await server.request(
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definition,
    )
    t.true(status === 201 || status === 409, JSON.stringify(body).slice(0, 1000))
  }
  const namespace = await server.createNamespace('chart')
  const level = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } }
  const merge = { contentType: 'application/merge-patch+json' }
  t.is((await server.request('PATCH', `/api/v1/namespaces/${namespace}`, level, merge)).status, 200)
  await until('the definitions', async () =>
    (await server.request('GET', `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes`)).status ===
    200
      ? true
      : undefined,
  )
  const account = { metadata: { name: 'moorage' } }
  for (const { name } of [account.metadata, { name: 'default' }])
    await server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  const options = '?dryRun=All&fieldValidation=Strict'
  const kinds = new Set<string>()
  t.true(combinations.length > 8)
  for (const values of combinations) {
    const rendered = await withValues(values, (file) =>
      cli.must('template', 'moorage', chart, '--namespace', namespace, '-f', file),
    )
    const documents = parseAllDocuments(rendered).flatMap((one) => (one.toJS() as KubeDocument | null) ?? [])
    for (const document of documents) {
      kinds.add(document.kind)
      if (document.kind === 'ServiceAccount') continue
      const answer = await server.request('POST', `${pathOf(document, namespace)}${options}`, document)
      t.is(answer.status, 201, `${JSON.stringify(answer.body)}\n${JSON.stringify(values)}`)
      const { template } = (document.spec ?? {}) as { readonly template?: Readonly<Record<string, unknown>> }
      if (template === undefined) continue
      const spec = { ...(template['spec'] as object), priorityClassName: undefined }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec }
      const made = await server.request('POST', `/api/v1/namespaces/${namespace}/pods${options}`, pod)
      t.is(made.status, 201, `${JSON.stringify(made.body)}\n${JSON.stringify(values)}`)
    }
  }
  t.deepEqual(
    [...kinds].toSorted(),
    'Deployment HorizontalPodAutoscaler HTTPRoute Ingress Job NetworkPolicy PersistentVolumeClaim PodDisruptionBudget PrometheusRule Service ServiceAccount ServiceMonitor'
      .split(' ')
      .toSorted(),
  )
})

test('this service installs its own chart by its package routes, the migration first', async (t) => {
  t.timeout(180_000)
  const server = (await kubernetes())!
  const namespace = await server.createNamespace('self')
  const controller = await startWorkloadController(server, namespace)
  const files = readdirSync(chart, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const packed = await chartFrom(
    Object.fromEntries(
      files.map(({ parentPath, name }) => [
        join(parentPath, name).slice(chart.length + 1),
        readFileSync(join(parentPath, name)),
      ]),
    ),
  )
  const { charts, settings } = await startCharts(packed)
  const service = await startService({ settings: { ...settings, MOORAGE_HELM: (await helm())!.helm4 } })
  t.teardown(async () => {
    await service.stop()
    await charts.stop()
    await controller.stop()
  })
  const owner = await makePeople(service).person('ada')
  await expectStatus(importCluster(service.send, owner.token, owner.login, 'prod', server.kubeconfig()), 200)
  const client = packageClient(service.send, owner.token, `${owner.login}/prod`)
  const install = (values: readonly string[]) =>
    client.done('POST', '/v3/releases/', {
      ...chartSource(charts, 'moorage'),
      releaseName: 'moorage',
      namespace,
      wait: true,
      timeout: '60s',
      values,
    })
  const without = await install([])
  t.is(without.state, 'failed')
  t.regex(`${without.error}`, /image\/digest|does not match pattern/)
  const done = await install([`image.digest=${digest}`])
  t.is(done.state, 'succeeded', `${done.message} ${done.error}`)
  const deployment = await server.request('GET', `/apis/apps/v1/namespaces/${namespace}/deployments/moorage`)
  t.is(deployment.status, 200)
  t.is(
    (await server.request('GET', `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/moorage`)).status,
    200,
  )
  const events = await server.request('GET', `/apis/batch/v1/namespaces/${namespace}/jobs`)
  t.deepEqual(
    (events.body as { readonly items: readonly unknown[] }).items,
    [],
    'the job is gone once it has succeeded',
  )
  t.deepEqual(controller.complaints, [])
})
