import test from 'ava'
import fc from 'fast-check'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { readEditorChart } from '../../../core/packages/editors/editor-charts.ts'
import type { Refill } from '../../../core/packages/editors/previews.ts'
import { refillModel } from '../../../core/packages/editors/previews.ts'
import {
  camelCase,
  dashCase,
  nameOfKey,
  pascalCase,
  resourceFilenames,
  resourceKey,
  snakeCase,
} from '../../../core/packages/editors/manifests.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartOf } from './charts.ts'
import { refusalOf } from './refusal.ts'
import { anyText } from '../../support/any-text.ts'

const values: FreeObject = {
  metadata: {
    resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' },
    release: { name: 'ignored', namespace: 'ignored' },
  },
  resources: {
    appsDeployment: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } },
    secret_config: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'x', annotations: { 'helm.sh/hook': 'pre-install' } },
    },
    rbacAuthorizationClusterRole: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
  },
}
const refillBy = (changes: Partial<Refill> = {}, chartValues: FreeObject = values): Refill => ({
  chart: unwrap(readEditorChart(chartOf('editor', chartValues))),
  release: { name: 'web', namespace: 'shop' },
  isFeatureSet: false,
  labelPaths: ({ kind }) => (kind === 'Deployment' ? [['spec', 'selector', 'matchLabels']] : []),
  ...changes,
})
interface Filled {
  readonly metadata: unknown
  readonly resources: Readonly<Record<string, { readonly metadata: Readonly<Record<string, unknown>> }>>
  readonly form?: unknown
}
const refilled = (model: unknown, refill = refillBy()): Filled =>
  unwrap(refillModel(model as FreeObject, refill)) as unknown as Filled
const problems = (model: unknown, refill = refillBy()): readonly string[] =>
  refusalOf(refillModel(model as FreeObject, refill)).errors ?? []

test('kind, name and namespace come from the chart and the release', (t) => {
  const hostile = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'cluster-admin', namespace: 'kube-system', generateName: 'x-' },
    spec: { replicas: 2 },
  }
  const filled = refilled({
    metadata: { release: { name: 'other', namespace: 'kube-system' } },
    resources: { appsDeployment: hostile, secret_config: hostile },
  })
  t.deepEqual(filled, {
    metadata: {
      resource: (values['metadata'] as Record<string, unknown>)['resource'],
      release: { name: 'web', namespace: 'shop' },
    },
    resources: {
      appsDeployment: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'shop' },
        spec: { replicas: 2 },
      },
      secret_config: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { annotations: { 'helm.sh/hook': 'pre-install' }, name: 'web-config', namespace: 'shop' },
        spec: { replicas: 2 },
      },
    },
  })
})

test('no input of a caller changes kind, name or namespace', (t) => {
  const key = fc.constantFrom('appsDeployment', 'secret_config', 'rbacAuthorizationClusterRole')
  const text = fc.constantFrom('kube-system', 'ClusterRoleBinding', 'cluster-admin', 'v1', '')
  const metadata = fc.dictionary(
    fc.constantFrom('name', 'namespace', 'generateName', 'uid', 'labels', 'annotations', '__proto__', 'constructor'),
    fc.oneof(text, fc.dictionary(fc.constantFrom('app.kubernetes.io/instance', 'helm.sh/hook', 'x'), text)),
  )
  const object = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        apiVersion: text,
        kind: text,
        metadata,
        items: fc.array(fc.dictionary(text, text)),
        status: fc.anything(),
      }),
    },
    { weight: 1, arbitrary: fc.anything() },
  )
  const kinds: Readonly<Record<string, string>> = {
    appsDeployment: 'Deployment',
    secret_config: 'Secret',
    rbacAuthorizationClusterRole: 'ClusterRole',
  }
  fc.assert(
    fc.property(fc.dictionary(key, object), fc.anything(), (resources, aside) => {
      const result = refillModel({ metadata: aside, resources, extra: aside } as never, refillBy())
      if (result._tag === 'Left') return (result.left.errors ?? []).length > 0
      const filled = result.right['resources'] as Record<
        string,
        {
          kind: string
          status?: unknown
          metadata: Record<string, Record<string, string>> & { name: string; namespace?: string }
        }
      >
      return Object.entries(filled).every(
        ([name, each]) =>
          each.kind === kinds[name] &&
          each.metadata.name === (name === 'secret_config' ? 'web-config' : 'web') &&
          each.metadata.namespace === (name === 'rbacAuthorizationClusterRole' ? undefined : 'shop') &&
          !('status' in each) &&
          (each.metadata['annotations']?.['helm.sh/hook'] ?? 'none') ===
            (name === 'secret_config' ? 'pre-install' : 'none') &&
          (each.metadata['labels']?.['app.kubernetes.io/instance'] ?? 'web') === 'web',
      )
    }),
    { numRuns: 1500 },
  )
  t.pass()
})

test('filling twice changes nothing more', (t) => {
  const model = {
    resources: {
      appsDeployment: {
        metadata: { labels: { a: 'b', 'app.kubernetes.io/instance': 'old' } },
        spec: { selector: { matchLabels: { 'app.kubernetes.io/instance': 'old' } } },
      },
    },
  }
  const once = refilled(model)
  t.deepEqual(refilled(once), once)
})

test('instance labels follow the release where they stand, and appear nowhere else', (t) => {
  const instance = 'app.kubernetes.io/instance'
  const { resources } = refilled({
    resources: {
      appsDeployment: {
        metadata: { labels: { [instance]: 'old', tier: 'web' } },
        spec: {
          selector: { matchLabels: { [instance]: 'old' } },
          template: { metadata: { labels: { [instance]: 'old' } } },
        },
      },
      secret_config: { metadata: { labels: { tier: 'web' } } },
    },
  })
  t.deepEqual(resources['appsDeployment'], {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { labels: { tier: 'web', [instance]: 'web' }, name: 'web', namespace: 'shop' },
    // The template's path is not among those of this editor.
    spec: {
      selector: { matchLabels: { [instance]: 'web' } },
      template: { metadata: { labels: { [instance]: 'old' } } },
    },
  })
  t.deepEqual(resources['secret_config']?.metadata['labels'], { tier: 'web' })
})

test('fields that an API server wrote are not sent back', (t) => {
  const live = {
    metadata: {
      name: 'web',
      uid: 'u',
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: 'now',
      managedFields: [{}],
      selfLink: '/x',
      finalizers: ['keep'],
    },
    status: { replicas: 1 },
    spec: {},
  }
  const { resources } = refilled({ resources: { appsDeployment: live } })
  t.deepEqual(resources['appsDeployment'], {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { finalizers: ['keep'], name: 'web', namespace: 'shop' },
    spec: {},
  })
})

test('a key that the editor does not have is refused, however it is called', (t) => {
  for (const key of ['service', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'appsdeployment', '']) {
    const model = JSON.parse(`{"resources":{${JSON.stringify(key)}:{"kind":"Pod"}}}`) as unknown
    t.deepEqual(problems(model), [`resources.${key}: does not exist in the editor`])
  }
})

test('with a form such keys are left out, and only they', (t) => {
  const withForm = refillBy({}, { ...values, form: {} })
  const filled = refilled(
    {
      form: { size: 3 },
      resources: { appsDeployment: {}, service: { kind: 'Pod', metadata: { namespace: 'kube-system' } } },
    },
    withForm,
  )
  t.deepEqual(Object.keys(filled.resources), ['appsDeployment'])
  t.deepEqual(filled.form, { size: 3 })
})

test('a body key named __proto__ stays a key and changes no prototype', (t) => {
  const filled = refilled(
    JSON.parse(
      '{"__proto__":{"polluted":1},"resources":{"appsDeployment":{"__proto__":{"polluted":1},"metadata":{"__proto__":{"polluted":1}}}}}',
    ),
  )
  t.is(({} as Record<string, unknown>)['polluted'], undefined)
  t.is(Object.getPrototypeOf(filled), Object.prototype)
  t.true(Object.hasOwn(filled, '__proto__'))
})

test('a model without resources is none, unless it has a form', (t) => {
  const withForm = refillBy({}, { ...values, form: {} })
  for (const model of [{}, { resources: null }, { form: {} }])
    t.deepEqual(problems(model), ['resources: an object is expected'])
  t.deepEqual(problems({ form: 7 }, withForm), ['resources: an object is expected'])
  t.deepEqual(refilled({ form: { a: 1 } }, withForm).resources, {})
  t.deepEqual(refilled({ resources: {} }).resources, {})
})

test('wrong types are refused with their places', (t) => {
  t.deepEqual(problems({ resources: [] }), ['resources: an object is expected'])
  t.deepEqual(problems({ resources: { appsDeployment: 'x' } }), ['resources.appsDeployment: an object is expected'])
  t.deepEqual(problems({ resources: { appsDeployment: null } }), ['resources.appsDeployment: an object is expected'])
  t.deepEqual(problems({ resources: { appsDeployment: { metadata: 7 } } }), [
    'resources.appsDeployment.metadata: an object is expected',
  ])
  t.deepEqual(problems({ resources: { appsDeployment: { metadata: { annotations: 'a', labels: 'b' } } } }), [
    'resources.appsDeployment.metadata.annotations: an object is expected',
    'resources.appsDeployment.metadata.labels: an object is expected',
  ])
  t.deepEqual(problems({ resources: { appsDeployment: { spec: { selector: ['x'] } } } }), [
    'resources.appsDeployment.spec.selector: an object is expected',
  ])
  t.deepEqual(
    problems({ resources: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`k${n}`, {}])) }).length,
    20,
  )
})

test('objects of a feature set keep names that belong to their keys', (t) => {
  const release = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' }
  const ofSet = refillBy(
    { isFeatureSet: true },
    { metadata: { resource: {} }, resources: { helmToolkitFluxcdIoHelmRelease_kube_prometheus: release } },
  )
  const nameOf = (metadata: object): unknown =>
    refilled({ resources: { helmToolkitFluxcdIoHelmRelease_kube_prometheus: { metadata } } }, ofSet).resources[
      'helmToolkitFluxcdIoHelmRelease_kube_prometheus'
    ]?.metadata['name']
  t.is(nameOf({ name: 'kube-prometheus' }), 'kube-prometheus')
  t.is(nameOf({}), 'kube-prometheus')
  t.deepEqual(
    problems({ resources: { helmToolkitFluxcdIoHelmRelease_kube_prometheus: { metadata: { name: 'other' } } } }, ofSet),
    ['resources.helmToolkitFluxcdIoHelmRelease_kube_prometheus.metadata.name: does not belong to this key'],
  )
})

test('a chart that lacks the parts of an editor is reported', (t) => {
  t.regex(refusalOf(readEditorChart(chartOf('bare', {}))).message, /metadata\.resource/)
  t.regex(
    refusalOf(readEditorChart(chartOf('odd', { metadata: { resource: {} }, resources: { a: { kind: 'Pod' } } })))
      .message,
    /resources\.a/,
  )
  const declared = unwrap(
    readEditorChart(
      chartOf('keys', values, {
        'meta.x-helm.dev/resource-keys': 'appsDeployment, secret_config',
        'meta.x-helm.dev/form-keys': 'service',
      }),
    ),
  )
  t.deepEqual(
    [[...declared.resourceKeys], [...declared.formKeys], declared.usesForm],
    [['appsDeployment', 'secret_config'], ['service'], false],
  )
})

/** Keys that charts and clients of the interface are known to use: apiVersion, kind, name, release, key. */
const known: readonly (readonly [string, string, string, string, string])[] = [
  ['kubedb.com/v1alpha2', 'MongoDB', 'mongo', 'mongo', 'kubedbComMongoDB'],
  ['kubedb.com/v1', 'RedisSentinel', 'redissentinel', 'redissentinel', 'kubedbComRedisSentinel'],
  ['gitops.kubedb.com/v1alpha1', 'RedisSentinel', 'redissentinel', 'redissentinel', 'gitopsKubedbComRedisSentinel'],
  ['app.k8s.io/v1beta1', 'Application', 'web', 'web', 'appApplication'],
  ['v1', 'ServiceAccount', 'web', 'web', 'serviceAccount'],
  ['v1', 'Secret', 'web-config', 'web', 'secret_config'],
  ['v1', 'Secret', 'redissentinel-auth', 'redissentinel', 'secret_auth'],
  ['cert-manager.io/v1', 'Issuer', 'redis-ca', 'redissentinel', 'certManagerIoIssuer_redis_ca'],
  ['cert-manager.io/v1', 'Issuer', 'web-ca', 'web', 'certManagerIoIssuer_ca'],
  ['monitoring.coreos.com/v1', 'ServiceMonitor', 'redis', 'redissentinel', 'monitoringCoreosComServiceMonitor_redis'],
  ['monitoring.coreos.com/v1', 'ServiceMonitor', 'web', 'web', 'monitoringCoreosComServiceMonitor'],
  ['helm.toolkit.fluxcd.io/v2', 'HelmRelease', 'kube-prometheus', '', 'helmToolkitFluxcdIoHelmRelease_kube_prometheus'],
  ['apps/v1', 'Deployment', 'web', 'web', 'appsDeployment'],
  ['v1', 'ConfigMap', 'web', 'web', 'configMap'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding', 'web', 'web', 'rbacAuthorizationRoleBinding'],
  ['batch/v1', 'CronJob', 'web-nightly', 'web', 'batchCronJob_nightly'],
]

test("keys match those of the interface's charts", (t) => {
  for (const [apiVersion, kind, name, release, key] of known)
    t.is(resourceKey({ apiVersion, kind, name }, release), key)
})

test('words', (t) => {
  t.deepEqual(['MongoDB', 'API', 'kubedb_com', 'my-api', '', '__', 'HTTPRoute'].map(camelCase), [
    'mongoDB',
    'api',
    'kubedbCom',
    'myAPI',
    '',
    '',
    'httproute',
  ])
  t.deepEqual(['MongoDB', 'kubedb_com', 'dns_io', ''].map(pascalCase), ['MongoDB', 'KubedbCom', 'DnsIo', ''])
  t.deepEqual(['MongoDB', 'ServiceAccount', '-my.conf-', 'WebAPIServer', 'a--b'].map(snakeCase), [
    'mongo_db',
    'service_account',
    'myconf',
    'web_apiserver',
    'a_b',
  ])
  t.deepEqual(['my_config', 'kube_prometheus', 'api'].map(dashCase), ['my-config', 'kube-prometheus', 'api'])
})

const letters = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), minLength: min, maxLength: max })
const label = fc.string({ unit: fc.constantFrom(...'abcxyz0189'), minLength: 1, maxLength: 6 })
const suffix = fc.array(label, { minLength: 0, maxLength: 3 }).map((parts) => parts.join('-'))
const kind = fc
  .array(letters(2, 6), { minLength: 1, maxLength: 3 })
  .map((words) => words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''))
const group = fc.constantFrom('', 'apps', 'kubedb.com', 'cert-manager.io', 'networking.k8s.io')
const release = fc.array(label, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('-'))
const nameOf = (releaseName: string, end: string): string => (end === '' ? releaseName : `${releaseName}-${end}`)

test('the name that a key demands is the name that it was made of', (t) => {
  fc.assert(
    fc.property(group, kind, release, suffix, (of, what, releaseName, end) => {
      const name = nameOf(releaseName, end)
      return (
        nameOfKey(
          resourceKey({ apiVersion: of === '' ? 'v1' : `${of}/v1`, kind: what, name }, releaseName),
          releaseName,
        ) === name
      )
    }),
  )
  t.pass()
})

test('objects of one group that differ in kind or name differ in key', (t) => {
  const object = fc.record({ kind, end: suffix })
  fc.assert(
    fc.property(group, release, object, object, (of, releaseName, one, other) => {
      const keyOf = (each: typeof one): string =>
        resourceKey(
          { apiVersion: of === '' ? 'v1' : `${of}/v1`, kind: each.kind, name: nameOf(releaseName, each.end) },
          releaseName,
        )
      return (keyOf(one) === keyOf(other)) === (one.kind === other.kind && one.end === other.end)
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

test('the version is no part of a key', (t) => {
  fc.assert(
    fc.property(
      kind,
      release,
      (what, name) =>
        resourceKey({ apiVersion: 'x.io/v1', kind: what, name }, name) ===
        resourceKey({ apiVersion: 'x.io/v2beta1', kind: what, name }, name),
    ),
  )
  t.pass()
})

test('file names say as much as is needed, and never the same twice', (t) => {
  const of = (...objects: readonly (readonly [string, string, string])[]) =>
    resourceFilenames(
      objects.map(([apiVersion, kind_, name]) => ({ apiVersion, kind: kind_, name })),
      'web',
    )
  t.deepEqual(of(['apps/v1', 'Deployment', 'web'], ['v1', 'Service', 'web']), ['deployment', 'service'])
  t.deepEqual(of(['v1', 'Secret', 'web-auth'], ['v1', 'Secret', 'web-config']), ['secret_auth', 'secret_config'])
  t.deepEqual(of(['networking.k8s.io/v1', 'Ingress', 'web'], ['extensions/v1beta1', 'Ingress', 'web']), [
    'networking_ingress',
    'extensions_ingress',
  ])
  t.deepEqual(of(['v1', 'Secret', 'web'], ['v1', 'Secret', 'web']), ['secret', 'secret_2'])
  const object = fc.record({
    apiVersion: group.map((each) => (each === '' ? 'v1' : `${each}/v1`)),
    kind: fc.constantFrom('Secret', 'ConfigMap', 'MongoDB', 'Secret2'),
    name: suffix.map((end) => nameOf('web', end)),
  })
  fc.assert(
    fc.property(fc.array(object, { maxLength: 8 }), (objects) => {
      const names = resourceFilenames(objects, 'web')
      return (
        names.length === objects.length &&
        new Set(names).size === names.length &&
        names.every((name) => /^[a-z0-9_]+$/.test(name))
      )
    }),
  )
})

test('no text breaks a key or a file name', (t) => {
  const text = anyText({ maxLength: 20 })
  fc.assert(
    fc.property(text, text, text, text, (apiVersion, kind_, name, releaseName) => {
      const object = { apiVersion, kind: kind_, name }
      return (
        !/[\s./:-]/.test(resourceKey(object, releaseName)) &&
        !/[\s./:-]/.test(resourceFilenames([object], releaseName)[0] ?? '')
      )
    }),
  )
  t.pass()
})
