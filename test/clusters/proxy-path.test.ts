import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { checkProxyQuery, parseProxyPath } from '../../core/clusters/proxy/path.ts'

const upstream = (path: string): string => {
  const parsed = parseProxyPath(path)
  if (isLeft(parsed)) return `refused: ${parsed.left.message}`
  return parsed.right.form === 'raw' || parsed.right.form === 'resource' ? parsed.right.path : parsed.right.form
}

const forwarded: readonly (readonly [string, string])[] = [
  ['/', '/'],
  ['/api', '/api'],
  ['/api/v1/namespaces/default/pods/web', '/api/v1/namespaces/default/pods/web'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node', '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3anode', '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode'],
  ['/version', '/version'],
  ['/openapi/v3/apis/apps/v1', '/openapi/v3/apis/apps/v1'],
  ['/.well-known/openid-configuration', '/.well-known/openid-configuration'],
  ['/api/v1/namespaces/a/services/https:web:443/proxy', '/api/v1/namespaces/a/services/https%3Aweb%3A443/proxy/'],
  ['/core/v1/namespaces', '/api/v1/namespaces'],
  ['/core/v1/namespaces/a', '/api/v1/namespaces/a'],
  ['/core/v1/namespaces/a/status', '/api/v1/namespaces/a/status'],
  ['/core/v1/namespaces/a/events', '/api/v1/namespaces/a/events'],
  ['/core/v1/namespaces/a/secrets/', '/api/v1/namespaces/a/secrets'],
  ['/core/v1/namespaces/a/pods/web/log', '/api/v1/namespaces/a/pods/web/log'],
  ['/apps/v1/namespaces/a/deployments/web/scale', '/apis/apps/v1/namespaces/a/deployments/web/scale'],
  ['/storage.k8s.io/v1/storageclasses', '/apis/storage.k8s.io/v1/storageclasses'],
  ['/core/v1/nodes/n1/metrics', '/apis/metrics.k8s.io/v1beta1/nodes/n1'],
  ['/core/v1/namespaces/a/pods/web/metrics', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/web'],
  ['/core/v1/all-available', 'all-available'],
  ['/batch-delete', 'batch-delete'],
]
for (const [path, expected] of forwarded) test(`${path} is forwarded as ${expected}`, (t) => t.is(upstream(path), expected))

const refused = [
  '', 'api', '//', '/api//v1', '/api/v1/', '/api/./v1', '/api/../v1', '/api/%2e/v1', '/api/%2e%2e/v1', '/api/%2E%2e/v1', '/api/v1/a%2fb', '/api/v1/a%2Fb', '/api/v1/a%5cb',
  '/api/v1/a\\b', '/api/v1/a%00', '/api/v1/a%0ab', '/api/v1/a%20b', '/api/v1/a b', '/api/v1/%', '/api/v1/%e', '/api/v1/%252e', '/api/v1/%25', '/api/v1/%c0%ae', '/api/v1/%ff', '/api/v1/é', '/api/v1/%c3%a9',
  '/api/v1/a;b', '/api/v1/a%3bb', '/api/v1/a%3fb', '/api/v1/a%23b', '/api/v1/a#b', '/api/v1/a?b', '/api/v1/a"b', '/api/v1/<a>', '/api/v1/a|b', '/api/v1/a^b', '/api/v1/`a`', '/api/v1/{a}',
  `/api/v1/${'a'.repeat(254)}`, '/apiz', '/core', '/core/x1/pods', '/core/v1/Pods', '/core/v1/namespaces/a/PODS', '/Core/v1/pods', '/ap_ps/v1/pods', '/apps/v1/namespaces//pods', '/../api', '/%2e%2e/api', '/ui', '/debug/pprof', '/logs', '/swagger-ui',
].filter((path) => path !== '/api/v1/')
for (const path of refused) test(`refused: ${path.slice(0, 40)}`, (t) => t.true(isLeft(parseProxyPath(path))))

const hostile = fc.array(fc.constantFrom('/', '.', '..', '%2f', '%2F', '%5c', '\\', '%00', '%252f', '%2e', ';', ':', 'api', 'apis', 'v1', 'core', 'pods', 'a', '%', '%zz', '//', '?', '#', 'é', '%c0%af', ' '), { maxLength: 12 }).map((parts) => `/${parts.join('')}`)

test('a forwarded path has the same meaning and only one reading', (t) => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.webPath(), fc.string().map((s) => `/api/${s}`)), (path) => {
      const parsed = parseProxyPath(path)
      if (isLeft(parsed) || (parsed.right.form !== 'raw' && parsed.right.form !== 'resource')) return
      const { path: made, segments } = parsed.right
      // A decoder that runs once more, or a resolver of dots, must find nothing left to do.
      if (new URL(`https://cluster${made}`).pathname !== made) throw new Error(`${made} is resolved further`)
      const words = made.split('/').slice(1).filter((word) => word !== '')
      if (words.map(decodeURIComponent).join('\0') !== segments.join('\0')) throw new Error(`${made} is not ${segments.join(' ')}`)
      if (segments.some((segment) => decodeURIComponent(segment) !== segment || /[/\\]/.test(segment) || /^\.{1,2}$/.test(segment))) throw new Error('a segment hides another')
      const again = parseProxyPath(made)
      if (!isRight(again) || again.right.form !== 'raw' || again.right.path !== made) throw new Error(`${made} parses otherwise`)
    }),
    { numRuns: 3000 },
  )
  t.pass()
})

test('a query passes unless it holds what no HTTP parser would let through', (t) => {
  t.true(isRight(checkProxyQuery('')))
  t.true(isRight(checkProxyQuery('labelSelector=a%3Db&watch=true&fieldSelector=x!=y')))
  for (const query of ['a b', 'a\r\nb', 'a#b', 'é', 'a\0']) t.true(isLeft(checkProxyQuery(query)))
})
