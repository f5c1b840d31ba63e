import { randomBytes } from 'node:crypto'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { ClusterApi, ClusterTransport, UpstreamRequest } from '../../core/clusters/ports.ts'
import type { ClusterConnection, ClusterCredential } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { recordedExchange, type RecordedExchange } from './recorded-exchange.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A cluster and the adapters that reach it. */
export interface ClusterBench {
  readonly api: ClusterApi
  readonly transport: ClusterTransport
  readonly credential: ClusterCredential
  /** Absent for a server that test files share: another file may make it a hub at any time. */
  readonly isHub?: boolean
  /** A namespace that nobody else uses. */
  namespace(): Promise<string>
  close?(): Promise<void>
}

const connectionTo = (credential: ClusterCredential, version = 1): ClusterConnection => ({
  link: {
    id: (randomBytes(4).readUInt32BE() + 1) as ClusterId,
    ownerId: 1 as AccountId,
    name: 'c',
    ownerName: 'acme',
    version,
    impersonatesUsers: false,
  },
  credential,
})

const upstream = (method: string, target: string, changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  method,
  target,
  headers: [],
  isLongLived: false,
  createdAsOk: false,
  answerHeaders: (headers) =>
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  acceptHeaders: () => [],
  ...changes,
})

const open = new AbortController().signal
const json = [['content-type', 'application/json']] as const

const about: SuiteAbout = {
  name: 'cluster-adapters',
  ports: ['ClusterApi', 'ClusterTransport'],
  needs: 'A Kubernetes API, with a credential of an administrator.',
  isShared: true,
}

/** What ClusterApi and ClusterTransport keep, whatever API server is behind them. */
export const clusterAdaptersSuite = contractSuite<ClusterBench>(about, (on) => {
  const relay = async (
    bench: ClusterBench,
    connection: ClusterConnection,
    method: string,
    target: string,
    body?: string,
    changes: Partial<UpstreamRequest> = {},
  ): Promise<RecordedExchange> => {
    const exchange = recordedExchange(method, target, body === undefined ? {} : { body })
    const outcome = await bench.transport.relay(
      connection,
      upstream(method, target, { ...(body === undefined ? {} : { headers: json }), ...changes }),
      exchange,
      open,
    )
    if (isLeft(outcome)) throw new Error(outcome.left.message)
    return exchange
  }

  on('a survey tells identity, version and readiness', async (t, { api, credential, isHub }) => {
    const surveyed = await api.survey(credential, open)
    if (isLeft(surveyed)) return t.fail(surveyed.left.message)
    t.regex(surveyed.right.uid, /^[0-9a-f-]{36}$/)
    t.regex(surveyed.right.kubernetesVersion, /^v1\./)
    t.true(surveyed.right.isReady)
    t.true(surveyed.right.servesDeployments)
    t.true(surveyed.right.groups.includes('apps'))
    if (isHub !== undefined) t.is(surveyed.right.servesManagedClusters, isHub)
  })

  on(
    'a wrong token is reported by survey, request and relay, without a response',
    async (t, { api, transport, credential }) => {
      const wrong = connectionTo({ ...credential, identity: { kind: 'token', token: secret('wrong') } })
      const exchange = recordedExchange('GET', '/version')
      const outcomes = [
        await api.survey(wrong.credential, open),
        await api.request(wrong, { method: 'GET', target: '/api/v1/namespaces' }, open),
        await transport.relay(wrong, upstream('GET', '/api/v1/namespaces'), exchange, open),
      ]
      for (const outcome of outcomes) t.true(isLeft(outcome) && outcome.left.tag === 'CredentialRefused')
      t.false(exchange.hasResponded)
    },
  )

  on('a certificate of another authority is not trusted', async (t, { api, credential }) => {
    const surveyed = await api.survey({ ...credential, authorityPem: undefined }, open)
    t.true(isLeft(surveyed) && surveyed.left.tag === 'ClusterUnreachable')
    if (isLeft(surveyed)) t.regex(surveyed.left.message, /certificate/)
  })

  on('create, read, patch, list and delete pass with their statuses', async (t, bench) => {
    const namespace = await bench.namespace()
    const at = `/api/v1/namespaces/${namespace}/configmaps`
    const connection = connectionTo(bench.credential)
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } })
    t.is((await relay(bench, connection, 'POST', at, body)).answer.status, 201)
    const again = await relay(bench, connection, 'POST', at, body)
    t.is(again.answer.status, 409)
    t.is(JSON.parse(await again.whole()).reason, 'AlreadyExists')
    const read = await relay(bench, connection, 'GET', `${at}/a`)
    t.deepEqual(JSON.parse(await read.whole()).data, { k: 'v' })
    t.regex(read.answer.headers['content-type'] ?? '', /^application\/json/)
    t.truthy(read.answer.headers['audit-id'])
    const patched = await relay(bench, connection, 'PATCH', `${at}/a`, '{"data":{"x":"y"}}', {
      headers: [['content-type', 'application/merge-patch+json']],
    })
    t.deepEqual(JSON.parse(await patched.whole()).data, { k: 'v', x: 'y' })
    t.deepEqual(
      JSON.parse(await (await relay(bench, connection, 'GET', at)).whole())
        .items.map((each: { metadata: { name: string } }) => each.metadata.name)
        .filter((each: string) => each !== 'kube-root-ca.crt'),
      ['a'],
    )
    t.is((await relay(bench, connection, 'DELETE', `${at}/a`)).answer.status, 200)
    const gone = await relay(bench, connection, 'GET', `${at}/a`)
    t.is(gone.answer.status, 404)
    t.is(JSON.parse(await gone.whole()).reason, 'NotFound')
    t.is(await (await relay(bench, connection, 'GET', '/no/such/path')).whole(), '404 page not found\n')
  })

  on('a create returns 200 if requested', async (t, bench) => {
    const at = `/api/v1/namespaces/${await bench.namespace()}/configmaps`
    const exchange = await relay(
      bench,
      connectionTo(bench.credential),
      'POST',
      at,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}',
      { createdAsOk: true },
    )
    t.is(exchange.answer.status, 200)
  })

  on('a read with a tag is not sent twice', async (t, bench) => {
    const at = `/api/v1/namespaces/${await bench.namespace()}/configmaps`
    const connection = connectionTo(bench.credential)
    await relay(bench, connection, 'POST', at, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}')
    const first = await relay(bench, connection, 'GET', `${at}/c`, undefined, { entityTag: { ifNoneMatch: undefined } })
    const tag = first.answer.headers['etag']
    t.regex(tag ?? '', /^"[\w-]{43}"$/)
    const second = await relay(bench, connection, 'GET', `${at}/c`, undefined, {
      entityTag: { ifNoneMatch: `"other", ${tag}` },
    })
    t.is(second.answer.status, 304)
    t.is(await second.whole(), '')
    await relay(bench, connection, 'PATCH', `${at}/c`, '{"data":{"n":"1"}}', {
      headers: [['content-type', 'application/merge-patch+json']],
    })
    const third = await relay(bench, connection, 'GET', `${at}/c`, undefined, { entityTag: { ifNoneMatch: tag } })
    t.is(third.answer.status, 200)
    t.not(third.answer.headers['etag'], tag)
  })

  on('a watch is answered at once, tells changes, and ends with its signal or with its record', async (t, bench) => {
    const namespace = await bench.namespace()
    const at = `/api/v1/namespaces/${namespace}/configmaps`
    const connection = connectionTo(bench.credential)
    const leaving = new AbortController()
    const watches = [leaving.signal, open].map((signal) => {
      const exchange = recordedExchange('GET', at)
      return {
        exchange,
        ended: bench.transport.relay(
          connection,
          upstream('GET', `${at}?watch=true&fieldSelector=metadata.name%3Dw`, { isLongLived: true }),
          exchange,
          signal,
        ),
      }
    })
    await relay(bench, connection, 'POST', at, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"}}')
    for (const { exchange } of watches)
      t.like(JSON.parse(await exchange.next()), { type: 'ADDED', object: { metadata: { name: 'w' } } })
    leaving.abort()
    t.true(isRight(await watches[0]!.ended))
    t.false(watches[1]!.exchange.answer.aborted)
    await bench.transport.forget(connection.link.id)
    await watches[1]!.ended
    t.true(watches[1]!.exchange.answer.aborted)
  })

  on('a request of our own gives the answer with its JSON', async (t, { api, credential }) => {
    const answered = await api.request(connectionTo(credential), { method: 'GET', target: '/version' }, open)
    t.true(isRight(answered) && answered.right.status === 200)
    const missing = await api.request(connectionTo(credential), { method: 'GET', target: '/no/such/path' }, open)
    t.true(isRight(missing) && missing.right.status === 404 && missing.right.json === undefined)
  })

  on('an answer larger than the asker wants to read is refused', async (t, { api, credential }) => {
    const asked = async (limitBytes: number) =>
      api.request(connectionTo(credential), { method: 'GET', target: '/version', limitBytes }, open)
    const whole = await asked(1_000_000)
    if (isLeft(whole)) return t.fail(whole.left.message)
    const bytes = Buffer.byteLength(whole.right.text)
    t.true(isRight(await asked(bytes)))
    const tooMuch = await asked(bytes - 1)
    t.true(isLeft(tooMuch) && tooMuch.left.tag === 'ClusterUnreachable')
  })
})
