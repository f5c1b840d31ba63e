import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { hashSync, verifySync } from '@node-rs/argon2'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import { openOtlpTracing } from '../../adapters/tracing/otlp-tracing.ts'
import type { GuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import type { EgressClient } from '../../adapters/outbound/egress-client.ts'
import type { HashingThreads } from '../../adapters/security/passwords.ts'
import { makeArgon2PasswordHasher, makeHashingQueue } from '../../adapters/security/passwords.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { wiringOf, compose } from '../../composition/runtime/service/compose.ts'
import { passingFoundation } from '../../composition/runtime/service/foundation.ts'
import type { StorageKey } from '../../core/clouds/types.ts'
import { BucketDirectoryPort } from '../../core/clouds/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { portKey } from '../../core/kernel/port-key.ts'
import { leaks, makeCanaries } from '../canary/canaries.ts'
import { importCluster, makePeople } from '../clusters/cluster-fixture.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ReceivedSpan } from '../support/otlp-receiver.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import type { ServiceOptions } from '../support/service.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { order, untilEnd } from '../tasks/task-client.ts'
import { makeTinyPlugin } from '../tasks/tiny-plugin.ts'

const tracedService = async (
  t: ExecutionContext,
  settings: Readonly<Record<string, string>> = {},
  options: Pick<ServiceOptions, 'passwordHasher'> = {},
) => {
  const receiver = await startOtlpReceiver()
  const service = await startService({
    ...options,
    settings: {
      MOORAGE_OTLP_ENDPOINT: receiver.url,
      MOORAGE_OTLP_HEADERS: 'authorization=Basic%20dHJhY2Vz',
      ...settings,
    },
    plugins: [makeTinyPlugin()],
  })
  t.teardown(async () => {
    await service.stop()
    await receiver.stop()
  })
  const spansOf = (traceId: string, name: string): Promise<ReceivedSpan> =>
    until(`the span ${name} of ${traceId}`, () =>
      Promise.resolve(receiver.spans.find((span) => span.traceId === traceId && span.name === name)),
    )
  return { receiver, service, spansOf }
}

const freshTrace = (flags = '01') => {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` }
}

const attributeOf = ({ attributes }: ReceivedSpan, key: string): unknown =>
  Object.values(attributes.find((attribute) => attribute.key === key)?.value ?? {})[0]

test("a request continues its caller's trace in spans, errors and log lines", async (t) => {
  const { receiver, service, spansOf } = await tracedService(t)
  const caller = freshTrace()
  const answer = await service.send('GET', '/api/v1/clusters/nobody/nothing', {
    token: service.adminToken,
    headers: { traceparent: caller.traceparent },
  })
  t.is(answer.status, 404)
  t.is(answer.json.traceId, caller.traceId)
  const root = await spansOf(caller.traceId, 'GET')
  t.is(root.parentSpanId, caller.spanId)
  t.is(root.kind, 2)
  t.is(attributeOf(root, 'http.route'), '/clusters/{owner}/{cluster}')
  t.is(Number(attributeOf(root, 'http.response.status_code')), 404)
  t.is(attributeOf(root, 'moorage.request_id'), answer.json.requestId)
  const authenticate = await spansOf(caller.traceId, 'authenticate')
  const authorize = await spansOf(caller.traceId, 'authorize')
  t.deepEqual([authenticate.parentSpanId, authorize.parentSpanId], [root.spanId, root.spanId])
  t.is(authorize.status.code, 2)
  t.is(attributeOf(authorize, 'error.type'), 'ObjectHidden')
  const statements = receiver.spans.filter(
    ({ parentSpanId, kind }) => parentSpanId === authenticate.spanId && kind === 3,
  )
  t.true(statements.some(({ name }) => name === 'SELECT access_tokens'))
  const line = await until('the line of the request', () =>
    Promise.resolve(
      service.logLines().find(({ requestId, msg }) => requestId === answer.json.requestId && msg === 'request'),
    ),
  )
  t.is(line['traceId'], caller.traceId)
  t.deepEqual(receiver.faults, [])
  t.deepEqual([...new Set(receiver.authorizations)], ['Basic dHJhY2Vz'])
})

test('a traceparent that is none begins a new trace', async (t) => {
  const { service } = await tracedService(t)
  for (const traceparent of [
    'x',
    `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
    `00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`,
  ]) {
    const { json } = await service.send('GET', '/api/v1/user', { headers: { traceparent } })
    t.regex(String(json.traceId), /^(?!0{32})[0-9a-f]{32}$/)
    t.not(json.traceId, 'a'.repeat(32))
  }
})

test("a task continues its request's trace and logs its id", async (t) => {
  const { receiver, service, spansOf } = await tracedService(t)
  const person = await makePeople(service).person('ada')
  const caller = freshTrace()
  const ordered = await service.send('POST', '/api/v1/tiny-work/', {
    token: person.token,
    body: { title: 'Count', throws: true },
    headers: { traceparent: caller.traceparent },
  })
  t.is(ordered.status, 200, ordered.text)
  const requestId = ordered.headers['x-request-id']
  await untilEnd(service, person.token, String(ordered.json.id))
  const task = await spansOf(caller.traceId, 'task tiny.work')
  const root = await spansOf(caller.traceId, 'POST')
  t.is(task.kind, 5)
  t.is(task.status.code, 2)
  const above = new Map(receiver.spans.map((span) => [span.spanId, span.parentSpanId]))
  t.is(task.parentSpanId, root.spanId)
  t.is(above.get(root.spanId), caller.spanId)
  t.is(attributeOf(task, 'moorage.task.ref'), ordered.json.id)
  const line = service
    .logLines()
    .find(({ msg, task: ref }) => msg === 'a task failed unexpectedly' && ref === ordered.json.id)
  t.truthy(line)
  const withRequest = service
    .logLines()
    .filter(({ task: ref, requestId: of }) => ref === ordered.json.id && of === requestId)
  t.true(withRequest.every(({ traceId }) => traceId === undefined || traceId === caller.traceId))
  // A task of a request without a trace begins its own.
  await order(service, person.token, { title: 'Again' })
})

test('the wait for a place in a pool is a span of its own, in the trace of who waited', async (t) => {
  const queue = makeHashingQueue()
  let isHeld = false
  const threads: HashingThreads = {
    run: async (task) => {
      // The first check ends once another one waits.
      if (isHeld) await until('another check', () => queue.load().waiting > 0 || undefined)
      isHeld = false
      return task.kind === 'hash' ? hashSync(task.password, task.parameters) : verifySync(task.phc, task.password)
    },
  }
  const passwordHasher = makeArgon2PasswordHasher(queue, { memoryCost: 8, timeCost: 1 }, threads)
  const { receiver, service } = await tracedService(t, {}, { passwordHasher })
  isHeld = true
  const callers = Array.from({ length: 4 }, () => freshTrace())
  await Promise.all(
    callers.map(({ traceparent }) =>
      service.send('GET', '/api/v1/user', { basic: [adminLogin, adminPassword], headers: { traceparent } }),
    ),
  )
  const wait = await until('a wait', () => receiver.spans.find(({ name }) => name === 'wait passwords'))
  t.is(attributeOf(wait, 'moorage.pool'), 'passwords')
  t.true(callers.some(({ traceId }) => traceId === wait.traceId))
  const above = await until('the span of the check', () =>
    receiver.spans.find(({ spanId, traceId }) => spanId === wait.parentSpanId && traceId === wait.traceId),
  )
  t.is(above.name, 'queue passwords: verify')
  t.deepEqual(receiver.faults, [])
})

test('outgoing requests carry the trace, and a cluster gets no other', async (t) => {
  const { service } = await tracedService(t, {
    MOORAGE_EGRESS_ALLOW: '127.0.0.1',
    MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
  })
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await importCluster(service.send, owner.token, org, 'quay', fake.kubeconfig())
  const headersOf = (url: string): readonly string[] =>
    fake.seen
      .filter((seen) => seen.url.startsWith(url))
      .flatMap(({ headers }) => headers.flatMap(([name, value]) => (name === 'traceparent' ? [value] : [])))
  t.true(headersOf('/api/v1/namespaces/kube-system').length > 0, 'the survey of the import')
  const caller = freshTrace()
  const proxied = await service.send('GET', `/api/v1/clusters/${org}/quay/proxy/api/v1/namespaces/shop/configmaps`, {
    token: owner.token,
    headers: { traceparent: caller.traceparent, tracestate: 'a=b' },
  })
  t.is(proxied.status, 200, proxied.text)
  const [passedOn, ...others] = headersOf('/api/v1/namespaces/shop/configmaps')
  t.deepEqual(others, [])
  t.regex(passedOn ?? '', new RegExp(`^00-${caller.traceId}-[0-9a-f]{16}-01$`))
  t.false(passedOn?.includes(caller.spanId), 'the span is that of this service')

  const seen: Record<string, string> = {}
  const upstream = createServer((req, res) => {
    seen[(req.url ?? '').split('?')[0] ?? ''] = String(req.headers['traceparent'])
    res.end('<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const other = await tracedService(t, {
    MOORAGE_EGRESS_ALLOW: '127.0.0.1',
    MOORAGE_CLOUD_A_STORAGE_ENDPOINT: base,
  })
  t.teardown(() => new Promise<void>((resolve) => upstream.close(() => resolve())))
  const { container } = other.service.running
  const chartSource = container.resolve(portKey<{ readonly fetch: GuardedFetch }>('packages.ChartFetch'))
  await chartSource.fetch({ url: new URL(`${base}/index.yaml`), limitBytes: 1000 }, new AbortController().signal)
  await container.resolve(portKey<EgressClient>('clouds.OperatorEgress')).fetch(`${base}/provider`)
  const key: StorageKey = {
    kind: 's3',
    places: [],
    accessKeyId: 'AKIAEXAMPLE',
    secretAccessKey: secret('example'),
    sessionToken: undefined,
  }
  await container.resolve(BucketDirectoryPort).list(key, new AbortController().signal)
  for (const path of ['/index.yaml', '/provider', '/'])
    t.regex(seen[path] ?? 'nothing', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/, path)
})

test('no secret and no text of a user is in a span', async (t) => {
  const { receiver, service, spansOf } = await tracedService(t)
  const canaries = makeCanaries()
  const people = makePeople(service)
  const ada = await people.person('ada')
  canaries.keep('token', ada.token)
  const path = canaries.fresh('path').toLowerCase()
  canaries.keep('path in lower case', path)
  await service.send('GET', `/api/v1/users/${path}?token=${canaries.fresh('query token')}&q=${canaries.fresh('query')}`)
  await service.send('GET', '/api/v1/user', { basic: [canaries.fresh('login'), canaries.fresh('password')] })
  await service.send('POST', '/api/v1/orgs', {
    token: ada.token,
    body: { username: canaries.fresh('organization'), description: canaries.fresh('description') },
    headers: {
      'user-agent': canaries.fresh('user agent'),
      cookie: `a=${canaries.fresh('cookie')}`,
      baggage: `a=${canaries.fresh('baggage')}`,
    },
  })
  await service.send('GET', `/api/v1/users/search?q=${canaries.fresh('search')}`, { token: ada.token })
  const task = await order(service, ada.token, {
    title: canaries.fresh('title'),
    secret: canaries.fresh('input'),
    fails: true,
  })
  await untilEnd(service, ada.token, task.id)
  const last = freshTrace()
  await service.send('GET', '/api/v1/user', { token: ada.token, headers: { traceparent: last.traceparent } })
  await spansOf(last.traceId, 'GET')
  t.true(receiver.spans.length > 30)
  t.deepEqual(leaks(receiver.text(), canaries.made), [])
  t.false(receiver.text().includes(ada.login))
  t.false(receiver.text().includes('127.0.0.1'))
})

test('an unavailable receiver delays no request, and losses are counted', async (t) => {
  const { receiver, service } = await tracedService(t)
  receiver.answerWith(400)
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  await until('spans are lost', async () => {
    const text = await (await fetch(`${service.opsUrl}/metrics`)).text()
    return /^moorage_trace_spans_lost_total [1-9]/m.test(text) || undefined
  })
  t.true(service.logText().includes('spans of traces were not exported and are lost'))
})

test('of a percentage of 0 only traces that the caller records are recorded', async (t) => {
  const { receiver, service, spansOf } = await tracedService(t, { MOORAGE_TRACE_PERCENT: '0' })
  const unrecorded = freshTrace('00')
  await service.send('GET', '/api/v1/user', { token: service.adminToken })
  await service.send('GET', '/api/v1/user', {
    token: service.adminToken,
    headers: { traceparent: unrecorded.traceparent },
  })
  const recorded = freshTrace()
  await service.send('GET', '/api/v1/user', {
    token: service.adminToken,
    headers: { traceparent: recorded.traceparent },
  })
  await spansOf(recorded.traceId, 'GET')
  t.deepEqual([...new Set(receiver.spans.map(({ traceId }) => traceId))], [recorded.traceId])
})

test('callers cannot force recording, and tasks continue their traces', async (t) => {
  const receiver = await startOtlpReceiver()
  t.teardown(() => receiver.stop())
  const tracing = await openOtlpTracing({
    endpoint: receiver.url,
    headers: {},
    percent: 0,
    release: 'v1',
    instanceId: 'a',
    onTrouble: (reason) => t.fail(reason),
  })
  const spanOf = (kind: 'server' | 'consumer', parent: string) =>
    tracing.span({ name: kind, kind, parent }, () => Promise.resolve())
  for (let at = 0; at < 400; at += 1) await spanOf('server', freshTrace().traceparent)
  for (let at = 0; at < 100; at += 1) await spanOf('consumer', freshTrace().traceparent)
  await tracing.close()
  const asked = receiver.spans.filter(({ name }) => name === 'server').length
  t.true(asked >= 60 && asked < 400, `${asked} traces of callers`)
  t.is(receiver.spans.filter(({ name }) => name === 'consumer').length, 100)
})

test('without a receiver log lines have the request id and no trace', async (t) => {
  const service = await startService({ plugins: [makeTinyPlugin()] })
  t.teardown(() => service.stop())
  const { json } = await service.send('GET', '/api/v1/clusters/nobody/nothing', {
    token: service.adminToken,
    headers: { traceparent: freshTrace().traceparent },
  })
  t.false('traceId' in json)
  const ada = await makePeople(service).person('ada')
  const ordered = await service.send('POST', '/api/v1/tiny-work/', {
    token: ada.token,
    body: { title: 'Count', throws: true },
  })
  await untilEnd(service, ada.token, String(ordered.json.id))
  const line = service.logLines().find(({ msg }) => msg === 'a task failed unexpectedly')
  t.is(line?.['task'], ordered.json.id)
})

test('the ports whose work is traced exist', async (t) => {
  const names = new Set<string>()
  const traced = new Set<string>()
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  for (const type of ['VendorHosted', 'CloudAMarketplaceDeployment', 'CloudCMarketplaceDeployment']) {
    const config = await loadConfig({
      environment: {
        MOORAGE_DEPLOYMENT_TYPE: type,
        MOORAGE_CONTRACT_DOCUMENTS: 's3://key:secret@s3.eu-central-1.amazonaws.com/documents/x?region=eu-central-1',
      },
    })
    for (const { spans = [] } of config.parts) for (const { port } of spans) traced.add(port.name)
    const foundation = await passingFoundation()
    const { boot } = compose({ config, foundation, log, stops: { add: () => undefined } })
    for (const { bindings } of wiringOf(config, boot).sources)
      for (const { token: port } of bindings) names.add(port.name)
    await foundation.database.close()
  }
  t.true(traced.size >= 15)
  t.deepEqual(
    [...traced].filter((name) => !names.has(name)),
    [],
  )
})
