import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import test from 'ava'
import fc from 'fast-check'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SentMetrics } from '../../core/metrics-proxy/requests.ts'
import { identifierText, isProjectId, metricsOf, parseIdentifier } from '../../core/metrics-proxy/requests.ts'
import { unwrap } from '../support/outcome.ts'

const owner = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).map((id) => id as AccountId)
const project = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/)

test('an identifier is read as it was written, and in one spelling', (t) => {
  fc.assert(
    fc.property(owner, fc.uuid(), fc.option(project, { nil: undefined }), (ownerId, clusterUid, projectId) => {
      const identifier = { ownerId, clusterUid, projectId }
      const text = identifierText(identifier)
      t.deepEqual(unwrap(parseIdentifier(text)), identifier)
      t.true(text.length <= 75, 'Perses takes names of 75 characters')
    }),
  )
})

test('a request is written as it was read', (t) => {
  const piece = fc.oneof(fc.uuid(), project, fc.integer().map(String), fc.string({ maxLength: 8 }))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
      const text = pieces.join('.')
      const parsed = parseIdentifier(text)
      if (isRight(parsed)) t.is(identifierText(parsed.right), text)
    }),
  )
  t.pass()
})

const sent = (changes: Partial<SentMetrics> = {}): SentMetrics => ({
  url: '',
  service: undefined,
  basicAuth: undefined,
  bearerToken: undefined,
  tls: undefined,
  ...changes,
})
const service = { scheme: '', name: 'prom', namespace: 'monitoring', port: '', path: '', query: '' }

test('a service is reached through the API server of the cluster, and nowhere else', (t) => {
  const endpoint = 'https://api.example:6443/prefix'
  const urlOf = (changes: Partial<typeof service>): string =>
    unwrap(metricsOf(sent({ service: { ...service, ...changes } }), endpoint)).url
  const root = `${endpoint}/api/v1/namespaces/monitoring/services`
  t.is(urlOf({}), `${root}/prom/proxy/`)
  t.is(urlOf({ port: '9090' }), `${root}/prom:9090/proxy/`)
  t.is(urlOf({ scheme: 'https', port: '9090', path: '/a b/c' }), `${root}/https:prom:9090/proxy/a%20b/c`)
  t.is(urlOf({ scheme: 'http' }), `${root}/http:prom:/proxy/`)
  t.is(urlOf({ query: '?tenant=a' }), `${root}/prom/proxy/?tenant=a`)
  fc.assert(
    fc.property(
      fc.record({ path: fc.string(), query: fc.string(), name: fc.string(), port: fc.string() }),
      (changes) => {
        const read = metricsOf(sent({ service: { ...service, ...changes } }), endpoint)
        if (isLeft(read)) return
        const url = new URL(read.right.url)
        t.is(url.origin, 'https://api.example:6443')
        t.true(url.pathname.startsWith('/prefix/api/v1/namespaces/monitoring/services/'), read.right.url)
        t.regex(url.pathname, /\/services\/[^/]+\/proxy\//)
      },
    ),
  )
  t.true(isLeft(metricsOf(sent({ service }), '')))
})

test('an address of a user is read as URLs are, and carries no credentials', (t) => {
  t.is(unwrap(metricsOf(sent({ url: 'HTTPS://Example.com/prom' }), '')).url, 'https://example.com/prom')
  fc.assert(
    fc.property(fc.oneof(fc.webUrl(), fc.string()), (url) => {
      const read = metricsOf(sent({ url }), '')
      if (isLeft(read)) return
      const { protocol, username, password } = new URL(read.right.url)
      t.true(['http:', 'https:'].includes(protocol))
      t.is(username + password, '')
    }),
  )
})

test('a project is a label that no case and no dot distinguishes', (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 24 }), (text) => {
      if (isProjectId(text)) t.regex(text, /^[a-z0-9-]{1,20}$/)
    }),
  )
  t.true(isProjectId('p-8xk2c'))
})
