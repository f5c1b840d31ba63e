import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { leavesPrefix } from '../../../adapters/kubernetes/cluster-api.ts'
import { checkProxyQuery, isForeignPath, parseProxyPath } from '../../../core/formats/kubernetes/proxy-path.ts'

const upstream = (path: string): string => {
  const parsed = parseProxyPath(path)
  if (isLeft(parsed)) return `refused: ${parsed.left}`
  return parsed.right.form === 'raw' || parsed.right.form === 'resource' ? parsed.right.path : parsed.right.form
}

const forwarded: readonly (readonly [string, string])[] = [
  ['/', '/'],
  ['/api', '/api'],
  ['/api/v1/namespaces/default/pods/web', '/api/v1/namespaces/default/pods/web'],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3anode',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/team%20a:view',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/team%20a%3Aview',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/r%C3%B4le',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/r%C3%B4le',
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/x|y%23%3F%5C;%0A',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/x%7Cy%23%3F%5C%3B%0A',
  ],
  [`/api/v1/${'a'.repeat(254)}`, `/api/v1/${'a'.repeat(254)}`],
  ['/rbac.authorization.k8s.io/v1/clusterroles/x|y', '/apis/rbac.authorization.k8s.io/v1/clusterroles/x%7Cy'],
  ['/version', '/version'],
  ['/openapi/v3/apis/apps/v1', '/openapi/v3/apis/apps/v1'],
  ['/.well-known/openid-configuration', '/.well-known/openid-configuration'],
  ['/api/v1/namespaces/a/services/https:web:443/proxy', '/api/v1/namespaces/a/services/https%3Aweb%3A443/proxy'],
  [
    '/core/v1/namespaces/a/services/web/proxy//x/?',
    'refused: The path contains a character that must be percent-encoded.',
  ],
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
for (const [path, expected] of forwarded)
  test(`${path} is forwarded as ${expected}`, (t) => t.is(upstream(path), expected))

const refused = [
  '',
  'api',
  '//',
  '/api//v1',
  '/api/./v1',
  '/api/../v1',
  '/api/%2e/v1',
  '/api/%2e%2e/v1',
  '/api/%2E%2e/v1',
  '/api/v1/a%2fb',
  '/api/v1/a%2Fb',
  '/api/v1/..%5cb',
  '/api/v1/a%5c..',
  '/api/v1/%5C.%5Cb',
  '/api/v1/%',
  '/api/v1/%e',
  '/api/v1/%252e',
  '/api/v1/%25',
  '/api/v1/%c0%ae',
  '/api/v1/%ff',
  '/apiz',
  '/core',
  '/core/x1/pods',
  '/core/v1/Pods',
  '/core/v1/namespaces/a/PODS',
  '/Core/v1/pods',
  '/ap_ps/v1/pods',
  '/apps/v1/namespaces//pods',
  '/../api',
  '/%2e%2e/api',
  '/ui',
  '/debug/pprof',
  '/logs',
  '/swagger-ui',
]
for (const path of refused) test(`refused: ${path.slice(0, 40)}`, (t) => t.true(isLeft(parseProxyPath(path))))

const hostile = fc
  .array(
    fc.constantFrom(
      '/',
      '.',
      '..',
      '%2f',
      '%2F',
      '%5c',
      '\\',
      '%00',
      '%252f',
      '%2e',
      ';',
      ':',
      'api',
      'apis',
      'v1',
      'core',
      'pods',
      'a',
      '%',
      '%zz',
      '//',
      '?',
      '#',
      'é',
      '%c0%af',
      ' ',
    ),
    { maxLength: 12 },
  )
  .map((parts) => `/${parts.join('')}`)

const check = (path: string): void => {
  const parsed = parseProxyPath(path)
  if (isLeft(parsed) || (parsed.right.form !== 'raw' && parsed.right.form !== 'resource')) return
  const { path: made, segments } = parsed.right
  // A decoder that runs once more, or a resolver of dots, must find nothing left to do.
  if (new URL(`https://cluster${made}`).pathname !== made) throw new Error(`${made} is resolved further`)
  const words = made
    .split('/')
    .slice(1)
    .filter((word) => word !== '')
  if (words.map(decodeURIComponent).join('\0') !== segments.join('\0'))
    throw new Error(`${made} is not ${segments.join(' ')}`)
  if (segments.some((segment) => /[/%]/.test(segment) || segment.split('\\').some((part) => /^\.{1,2}$/.test(part))))
    throw new Error('a segment hides another')
  const again = parseProxyPath(made)
  if (!isRight(again) || again.right.form !== 'raw' || again.right.path !== made)
    throw new Error(`${made} parses otherwise`)
}

test('a forwarded path has the same meaning and only one reading', (t) => {
  const own = fc
    .oneof(
      hostile,
      fc.webPath(),
      fc.string().map((s) => `/api/${s}`),
    )
    .filter((path) => !isForeignPath(path))
  fc.assert(fc.property(own, check), { numRuns: 3000 })
  t.pass()
})

/** The segments up to `proxy`, as an API server reads them. */
const readAs = (path: string): readonly string[] => path.split('/').slice(1).map(decodeURIComponent)

test('the service path that was read is sent, and its tail is unchanged', (t) => {
  const odd = fc.constantFrom(
    'a',
    'services',
    'pods',
    'nodes',
    'namespaces',
    'proxy',
    'secrets',
    'api',
    'v1',
    '.',
    '..',
    '%2e%2e',
    '%2f',
    '..%2f..',
    '%5c..',
    '%70roxy',
    '%73ervices',
    '%25',
    '%',
    '',
    'https:web:443',
    'x%20y',
    ';',
    '%00',
  )
  const head = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('api', 'core', '%61pi', 'Api'),
        fc.constantFrom('v1', 'v%31', 'v1beta1'),
        odd,
        odd,
        odd,
        odd,
      )
      .map((words) => words.join('/')),
    fc
      .tuple(fc.constantFrom('api/v1/namespaces'), odd, fc.constantFrom('services', 'pods', 'secrets'), odd)
      .map((words) => words.join('/')),
    fc.tuple(fc.constantFrom('api/v1/nodes', 'core/v1/nodes'), odd).map((words) => words.join('/')),
  )
  const tail = fc
    .array(
      fc.oneof(odd, fc.constantFrom('/', '//', '%20', '%C3%BC', '|', '[x]', '&', '?', '\\', ' ', 'a'.repeat(300))),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('/'))
  let foreign = 0
  fc.assert(
    fc.property(head, fc.constantFrom('', '/'), tail, (start, slash, end) => {
      const path = `/${start}/proxy${slash}${slash === '' ? '' : end}`
      const parsed = parseProxyPath(path)
      if (isLeft(parsed) || parsed.right.form !== 'raw' || parsed.right.isForeign !== true)
        return isForeignPath(path) ? isLeft(parsed) : (check(path), true)
      foreign += 1
      const { path: made, segments } = parsed.right
      const own = made
        .split('/')
        .slice(0, segments.length + 1)
        .join('/')
      const readOwn = readAs(own)
      if (
        readOwn.join('\0') !== segments.join('\0') ||
        readOwn.at(-1) !== 'proxy' ||
        !['services', 'pods', 'nodes'].includes(readOwn.at(-3) ?? '')
      )
        return false
      // No URL parser moves the boundary, and the rest is byte for byte what was received.
      return (
        new URL(`https://cluster${made}`).pathname.startsWith(own) &&
        !leavesPrefix(made) &&
        path.endsWith(made.slice(own.length))
      )
    }),
    { numRuns: 3000 },
  )
  t.true(foreign > 100, String(foreign))
})

test('a query passes unless an HTTP parser would refuse it', (t) => {
  t.true(isRight(checkProxyQuery('')))
  t.true(isRight(checkProxyQuery('labelSelector=a%3Db&watch=true&fieldSelector=x!=y')))
  for (const query of ['a b', 'a\r\nb', 'a#b', 'é', 'a\0']) t.true(isLeft(checkProxyQuery(query)))
})
