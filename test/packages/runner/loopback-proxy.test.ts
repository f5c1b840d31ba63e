import { request as httpRequest, type IncomingMessage } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { LoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import { makeLoopbackProxy, calledObject } from '../../../adapters/helm/process/loopback-proxy.ts'
import { ClusterUnreachable, CredentialRefused, ProxyPathRefused, type MemberCluster } from '../../../core/clusters/ports.ts'
import type { Exchange } from '../../../core/kernel/exchange.ts'
import type { HelmEvent } from '../../../core/packages/releases/ports.ts'
import { until } from '../../support/until.ts'

type Relay = MemberCluster['relay']

const clusterOf = (relay: Relay): MemberCluster => ({ relay }) as unknown as MemberCluster

const answering = (status = 200, body = '{}'): Relay => async (exchange) => {
  exchange.respond(status, [['content-type', 'application/json']])
  exchange.write(new TextEncoder().encode(body))
  exchange.end()
  return right(undefined)
}

const ask = (url: string, options: { readonly method?: string; readonly body?: string; readonly headers?: Record<string, string> } = {}): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: options.method ?? 'GET', headers: options.headers ?? {} }, (answer: IncomingMessage) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(options.body)
  })

const openProxy = (t: ExecutionContext): LoopbackProxy => {
  const proxy = makeLoopbackProxy()
  t.teardown(() => proxy.close())
  return proxy
}

test('only who knows the segment gets through, and only to its own cluster', async (t) => {
  const proxy = openProxy(t)
  const nobody = (): void => undefined
  const one = await proxy.open({ cluster: clusterOf(answering(200, '"one"')), onEvent: nobody })
  const two = await proxy.open({ cluster: clusterOf(answering(200, '"two"')), onEvent: nobody })
  t.regex(one.url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/)
  t.not(one.url, two.url)
  t.is((await ask(`${one.url}/version`)).text, '"one"')
  t.is((await ask(`${two.url}/version`)).text, '"two"')
  const origin = new URL(one.url).origin
  const segment = new URL(one.url).pathname.slice(1)
  const flipped = `${segment.slice(0, -1)}${segment.endsWith('0') ? '1' : '0'}`
  for (const path of ['/', '/version', `/${'0'.repeat(32)}/version`, `/${flipped}/version`, `/${segment.toUpperCase()}x/version`, `//${segment}/version`, `/a/${segment}/version`]) t.is((await ask(`${origin}${path}`)).status, 404, path)
  one.close()
  t.is((await ask(`${one.url}/version`)).status, 404)
  t.is((await ask(`${two.url}/version`)).status, 200)
  await proxy.close()
  await t.throwsAsync(ask(`${two.url}/version`))
})

test('path, query, headers and body pass as they are', async (t) => {
  const seen: { readonly method: string; readonly path: string; readonly query: string; readonly accept: unknown; readonly body: string | undefined }[] = []
  const proxy = openProxy(t)
  const relay: Relay = async (exchange, signal) => {
    let body: string | undefined
    if (exchange.body !== undefined) for await (const chunk of exchange.body) body = (body ?? '') + new TextDecoder().decode(chunk)
    seen.push({ method: exchange.method, path: exchange.path, query: exchange.query, accept: exchange.headers['accept'], body })
    return answering()(exchange, signal)
  }
  const door = await proxy.open({ cluster: clusterOf(relay), onEvent: () => undefined })
  await ask(`${door.url}/api/v1/namespaces/a%2Fb/pods?watch=true&x=%20?&`, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
  await ask(`${door.url}/api/v1/namespaces`, { method: 'POST', body: 'k8s\u0000bytes' })
  t.deepEqual(seen, [
    { method: 'GET', path: '/api/v1/namespaces/a%2Fb/pods', query: 'watch=true&x=%20?&', accept: 'application/vnd.kubernetes.protobuf', body: undefined },
    { method: 'POST', path: '/api/v1/namespaces', query: '', accept: undefined, body: 'k8s\u0000bytes' },
  ])
})

test('what changes something is reported when it is answered, dry runs as such, and reads never', async (t) => {
  const events: HelmEvent[] = []
  const proxy = openProxy(t)
  const door = await proxy.open({ cluster: clusterOf(answering(201)), onEvent: (event) => void events.push(event) })
  await ask(`${door.url}/api/v1/namespaces/a/secrets?fieldManager=helm`, { method: 'POST', body: '{}' })
  await ask(`${door.url}/apis/apps/v1/namespaces/a/deployments/web?dryRun=All&force=true`, { method: 'PATCH', body: '{}' })
  await ask(`${door.url}/api/v1/namespaces/a/secrets`)
  t.deepEqual(events, [
    { kind: 'call', method: 'POST', target: '/api/v1/namespaces/a/secrets', status: 201, isDryRun: false, object: { group: 'core', version: 'v1', resource: 'secrets', namespace: 'a', name: undefined } },
    { kind: 'call', method: 'PATCH', target: '/apis/apps/v1/namespaces/a/deployments/web', status: 201, isDryRun: true, object: { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'a', name: 'web' } },
  ])
})

test('a cluster that does not answer is reported as a Kubernetes Status, and remembered', async (t) => {
  const proxy = openProxy(t)
  const told = async (failure: Awaited<ReturnType<Relay>>): Promise<unknown> => {
    const door = await proxy.open({ cluster: clusterOf(async () => failure), onEvent: () => undefined })
    const { status, text } = await ask(`${door.url}/version`)
    const { kind, message } = JSON.parse(text) as { readonly kind: string; readonly message: string }
    return [status, kind, message, door.trouble()]
  }
  t.deepEqual(await told(left(ClusterUnreachable('no way'))), [502, 'Status', 'no way', 'no way'])
  t.deepEqual(await told(left(CredentialRefused('not you'))), [502, 'Status', 'not you', 'not you'])
  t.deepEqual(await told(left(ProxyPathRefused('bad path'))), [400, 'Status', 'bad path', 'bad path'])
  const throwing = await proxy.open({ cluster: clusterOf(() => Promise.reject(new Error('secret words'))), onEvent: () => undefined })
  const failed = await ask(`${throwing.url}/version`)
  t.is(failed.status, 500)
  t.false(failed.text.includes('secret words'))
})

test('a watch lives until the door is shut, or its client leaves', async (t) => {
  const proxy = openProxy(t)
  const aborted: string[] = []
  const relay: Relay = (exchange: Exchange, signal) => {
    exchange.respond(200, [])
    exchange.write(new TextEncoder().encode('event\n'))
    return new Promise((resolve) => signal.addEventListener('abort', () => (aborted.push(exchange.path), resolve(right(undefined)))))
  }
  const door = await proxy.open({ cluster: clusterOf(relay), onEvent: () => undefined })
  const watching = (path: string): Promise<{ leave(): void; readonly ended: Promise<void> }> =>
    new Promise((resolve) => {
      const sent = httpRequest(`${door.url}${path}`, (answer) => {
        answer.on('error', () => undefined)
        const ended = new Promise<void>((done) => answer.once('close', () => done()))
        answer.once('data', () => resolve({ leave: () => void sent.destroy(), ended }))
      })
      sent.on('error', () => undefined)
      sent.end()
    })
  const leaving = await watching('/api/v1/pods')
  const staying = await watching('/api/v1/nodes')
  leaving.leave()
  await until('the client has left', () => aborted[0])
  t.deepEqual(aborted, ['/api/v1/pods'])
  door.close()
  await staying.ended
  t.deepEqual(aborted, ['/api/v1/pods', '/api/v1/nodes'])
})

test('a path names an object, a collection, or nothing', (t) => {
  t.deepEqual(calledObject('/api/v1/namespaces'), { group: 'core', version: 'v1', resource: 'namespaces', namespace: undefined, name: undefined })
  t.deepEqual(calledObject('/api/v1/namespaces/a'), { group: 'core', version: 'v1', resource: 'namespaces', namespace: undefined, name: 'a' })
  t.deepEqual(calledObject('/apis/rbac.authorization.k8s.io/v1/clusterroles/x'), { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespace: undefined, name: 'x' })
  t.deepEqual(calledObject('/apis/apps/v1/namespaces/a/deployments/web/scale'), { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'a', name: 'web' })
  for (const path of ['/', '/version', '/api', '/apis', '/api/v1', '/apis/apps/v1', '/openapi/v2']) t.is(calledObject(path), undefined, path)
})
