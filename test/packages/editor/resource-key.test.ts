import test from 'ava'
import fc from 'fast-check'
import {
  nameOfKey,
  resourceFilenames,
  resourceKey,
  camelCase,
  dashCase,
  pascalCase,
  snakeCase,
} from '../../../core/packages/editors/resource-keys.ts'

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

test('keys are those that charts of the interface use', (t) => {
  for (const [apiVersion, kind, name, release, key] of known) t.is(resourceKey({ apiVersion, kind, name }, release), key)
})

test('words', (t) => {
  t.deepEqual(['MongoDB', 'API', 'kubedb_com', 'my-api', '', '__', 'HTTPRoute'].map(camelCase), ['mongoDB', 'api', 'kubedbCom', 'myAPI', '', '', 'httproute'])
  t.deepEqual(['MongoDB', 'kubedb_com', 'dns_io', ''].map(pascalCase), ['MongoDB', 'KubedbCom', 'DnsIo', ''])
  t.deepEqual(['MongoDB', 'ServiceAccount', '-my.conf-', 'WebAPIServer', 'a--b'].map(snakeCase), ['mongo_db', 'service_account', 'myconf', 'web_apiserver', 'a_b'])
  t.deepEqual(['my_config', 'kube_prometheus', 'api'].map(dashCase), ['my-config', 'kube-prometheus', 'api'])
})

const letters = (min: number, max: number) => fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), minLength: min, maxLength: max })
const label = fc.string({ unit: fc.constantFrom(...'abcxyz0189'), minLength: 1, maxLength: 6 })
const suffix = fc.array(label, { minLength: 0, maxLength: 3 }).map((parts) => parts.join('-'))
const kind = fc.array(letters(2, 6), { minLength: 1, maxLength: 3 }).map((words) => words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''))
const group = fc.constantFrom('', 'apps', 'kubedb.com', 'cert-manager.io', 'networking.k8s.io')
const release = fc.array(label, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('-'))
const nameOf = (releaseName: string, end: string): string => (end === '' ? releaseName : `${releaseName}-${end}`)

test('the name that a key demands is the name that it was made of', (t) => {
  fc.assert(
    fc.property(group, kind, release, suffix, (of, what, releaseName, end) => {
      const name = nameOf(releaseName, end)
      return nameOfKey(resourceKey({ apiVersion: of === '' ? 'v1' : `${of}/v1`, kind: what, name }, releaseName), releaseName) === name
    }),
  )
  t.pass()
})

test('objects of one group that differ in kind or name differ in key', (t) => {
  const object = fc.record({ kind, end: suffix })
  fc.assert(
    fc.property(group, release, object, object, (of, releaseName, one, other) => {
      const keyOf = (each: typeof one): string => resourceKey({ apiVersion: of === '' ? 'v1' : `${of}/v1`, kind: each.kind, name: nameOf(releaseName, each.end) }, releaseName)
      return (keyOf(one) === keyOf(other)) === (one.kind === other.kind && one.end === other.end)
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

test('the version is no part of a key', (t) => {
  fc.assert(fc.property(kind, release, (what, name) => resourceKey({ apiVersion: 'x.io/v1', kind: what, name }, name) === resourceKey({ apiVersion: 'x.io/v2beta1', kind: what, name }, name)))
  t.pass()
})

test('file names say as much as is needed, and never the same twice', (t) => {
  const of = (...objects: readonly (readonly [string, string, string])[]) => resourceFilenames(objects.map(([apiVersion, kind_, name]) => ({ apiVersion, kind: kind_, name })), 'web')
  t.deepEqual(of(['apps/v1', 'Deployment', 'web'], ['v1', 'Service', 'web']), ['deployment', 'service'])
  t.deepEqual(of(['v1', 'Secret', 'web-auth'], ['v1', 'Secret', 'web-config']), ['secret_auth', 'secret_config'])
  t.deepEqual(of(['networking.k8s.io/v1', 'Ingress', 'web'], ['extensions/v1beta1', 'Ingress', 'web']), ['networking_ingress', 'extensions_ingress'])
  t.deepEqual(of(['v1', 'Secret', 'web'], ['v1', 'Secret', 'web']), ['secret', 'secret_2'])
  const object = fc.record({ apiVersion: group.map((each) => (each === '' ? 'v1' : `${each}/v1`)), kind: fc.constantFrom('Secret', 'ConfigMap', 'MongoDB', 'Secret2'), name: suffix.map((end) => nameOf('web', end)) })
  fc.assert(
    fc.property(fc.array(object, { maxLength: 8 }), (objects) => {
      const names = resourceFilenames(objects, 'web')
      return names.length === objects.length && new Set(names).size === names.length && names.every((name) => /^[a-z0-9_]+$/.test(name))
    }),
  )
})

test('no text breaks a key or a file name', (t) => {
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  fc.assert(
    fc.property(text, text, text, text, (apiVersion, kind_, name, releaseName) => {
      const object = { apiVersion, kind: kind_, name }
      return !/[\s./:-]/.test(resourceKey(object, releaseName)) && !/[\s./:-]/.test(resourceFilenames([object], releaseName)[0] ?? '')
    }),
  )
  t.pass()
})
