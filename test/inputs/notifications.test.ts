// process: own - keeps its process busy
import { gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { listenerRoots } from '../../composition/runtime/assemble.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { rawRequest } from '../http/raw-request.ts'
import type { MarketService } from '../marketplace/market-service.ts'
import { secretOf, startMarket } from '../marketplace/market-service.ts'
import { openStoreOf } from '../marketplace/store-of.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { makeSendJson } from '../support/send-json.ts'
import { badBodies, malformed, nested } from './mutations.ts'

/** Bodies up to this size are read. */
const limitBytes = 262_144

/** The listener of notifications of each cloud, with senders that are proven. */
const services: { readonly cloud: string; readonly service: MarketService }[] = []
test.before(async () => {
  for (const cloud of ['A', 'B', 'C'] as const)
    services.push({
      cloud: `cloud${cloud}`,
      service: await startMarket(cloud, {
        settings: {
          MOORAGE_RUN_MODE: 'development',
          // One of them has a socket of its own, and the others share that of the API.
          ...(cloud === 'C' ? { MOORAGE_MARKETPLACE_LISTEN: `127.0.0.1:${await reservedPort()}` } : {}),
        },
      }),
    })
})
test.after.always(async () => {
  for (const { service } of services) await service.stop()
})

const methodOf = ({ bound }: AssembledRoute): string => (bound.kind === 'json' ? bound.route.method : '')

const hookRoutes = (service: MarketService): readonly AssembledRoute[] =>
  service.running.assembly.routes.filter(({ listener, bound }) => listener === 'marketplace' && bound.kind === 'json')

/** The address of a route, with a claim that does not exist and the secret of the marketplace. */
const targetOf = (route: AssembledRoute): string =>
  route.fullPath.replace('{claimID}', 'a'.repeat(32)) + (methodOf(route) === 'POST' ? `?secret=${secretOf}` : '')

/** What is wrong with an answer of this listener, whose errors are `{message}` alone; undefined if nothing is. */
const faultOf = ({ status, json, text }: ServiceAnswer, wanted: readonly number[]): string | undefined => {
  if (!wanted.includes(status)) return `${status}, not ${wanted.join(' or ')}: ${text.slice(0, 200)}`
  const body = json as { readonly message?: unknown } | undefined
  const isShaped = typeof body?.message === 'string' && Object.keys(body).length === 1
  return status < 400 || isShaped ? undefined : `${status} without the documented body: ${text.slice(0, 200)}`
}

/** Asks each route that takes a body on the deployment of its own cloud, and returns what was wrong. */
const askingEach = async (
  ask: (
    given: { readonly route: AssembledRoute; readonly send: (text: string, more?: object) => Promise<ServiceAnswer> },
    expect: (what: string, answer: ServiceAnswer, wanted: readonly number[]) => void,
  ) => Promise<void>,
): Promise<readonly string[]> => {
  const faults: string[] = []
  for (const { cloud, service } of services) {
    const sendTo = makeSendJson(service.running.marketplaceUrl ?? '')
    const own = hookRoutes(service).filter((route) => methodOf(route) === 'POST' && route.fullPath.includes(cloud))
    if (own.length !== 1) faults.push(`${cloud} has ${own.length} routes`)
    for (const route of own)
      await ask(
        { route, send: (body, more = {}) => sendTo('POST', targetOf(route), { body, ...more }) },
        (what, answer, wanted) => {
          const found = faultOf(answer, wanted)
          if (found !== undefined) faults.push(`${cloud}, ${what}: ${found}`)
        },
      )
  }
  return faults
}

/** Nothing was stored, nothing failed, and the listener still answers. */
const hadNoEffect = async (t: ExecutionContext): Promise<void> => {
  for (const { cloud, service } of services) {
    const rows = await openStoreOf(service, async (database) =>
      Promise.all(
        ['marketplace_subscriptions', 'marketplace_inbox', 'marketplace_events', 'marketplace_installers'].map(
          async (table) => (await database.query((k) => k(table).select('*'))).length,
        ),
      ),
    )

    t.deepEqual(rows, [0, 0, 0, 0], cloud)
    t.deepEqual(
      service.logLines().filter(({ level }) => Number(level) >= 50),
      [],
      cloud,
    )
    t.deepEqual((await service.sendTo('GET', '/version')).status, 200, cloud)
  }
}

test.serial('each mutation of a notification that its codec refuses is 400', async (t) => {
  const faults = await askingEach(async ({ route, send }, expect) => {
    const { body } = route.bound.kind === 'json' ? route.bound.route : { body: undefined }
    if (body === undefined) throw new Error('a notification has no body')
    const bad = badBodies(body)
    t.true(bad.length >= 10, `${bad.length} mutations`)
    for (const { what, text } of bad) expect(what, await send(text), [400])
  })
  t.deepEqual(faults, [])
  await hadNoEffect(t)
})

test.serial('invalid notifications are refused by their form', async (t) => {
  const json = { 'Content-Type': 'application/json' }
  const faults = await askingEach(async ({ send }, expect) => {
    const headed = (headers: object, text: string) => send(text, { headers })
    for (const text of malformed) expect(`malformed ${text.slice(0, 30)}`, await headed(json, text), [400])
    for (const depth of [65, 1000, 100_000]) expect(`depth ${depth}`, await headed(json, nested(depth)), [400])
    expect('300 KB', await headed(json, `{"eventType":"${'x'.repeat(300_000)}"}`), [413])
    expect('of the limit', await headed(json, `{"a":"${'x'.repeat(limitBytes - 8)}"}`), [400])
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/jsonx'])
      expect(type, await headed({ 'Content-Type': type }, '{}'), [415])
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip'])
      expect(
        encoding,
        await headed({ ...json, 'Content-Encoding': encoding }, gzipSync('{}').toString('latin1')),
        [415],
      )
    // Fields that are not known are ignored, and do not make a notification of a body that is none.
    for (const text of ['{"unknown":1}', '{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{}}}'])
      expect(text, await headed(json, text), [400])
  })
  t.deepEqual(faults, [])
  t.is(({} as Record<string, unknown>)['polluted'], undefined)
  await hadNoEffect(t)
})

test.serial('other methods, paths, queries and secrets are refused', async (t) => {
  const faults: string[] = []
  for (const { cloud, service } of services) {
    const sendTo = makeSendJson(service.running.marketplaceUrl ?? '')
    const expect = (what: string, answer: ServiceAnswer, wanted: readonly number[]): void => {
      const found = faultOf(answer, wanted)
      if (found !== undefined) faults.push(`${cloud}, ${what}: ${found}`)
    }
    const root = listenerRoots.marketplace
    for (const route of hookRoutes(service)) {
      const target = targetOf(route)
      for (const method of ['PUT', 'DELETE', 'PATCH', methodOf(route) === 'GET' ? 'POST' : 'GET'])
        expect(`${method} ${target}`, await sendTo(method, target), [405])
    }
    for (const path of ['', '/', '/none', '/marketplaces', '/marketplaces/cloudD/notification/resource', '/%00'])
      expect(path, await sendTo('GET', root + path), [400, 404])
    for (const claim of [
      'none',
      'A'.repeat(32),
      'a'.repeat(31),
      'a'.repeat(33),
      "a'--",
      '%00',
      'a%2fb',
      'a'.repeat(1000),
    ])
      expect(claim, await sendTo('GET', `${root}/marketplaces/standalone-organizations/${claim}/claimable`), [400, 404])
    const path = `${root}/marketplaces/${cloud}/notification/resource`
    if (cloud === 'cloudC') expect('outside of the root', await sendTo('GET', '/api/v1/version'), [404])
    // Development mode judges no address; there is no secret for cloud A, whose route takes no query.
    const refused = cloud === 'cloudA' ? [400] : [403]
    for (const query of [
      '',
      '?secret=',
      '?secret=x',
      `?secret=${secretOf}&secret=${secretOf}`,
      `?Secret=${secretOf}`,
      `?secret[]=${secretOf}`,
    ])
      expect(query, await sendTo('POST', path + query, { body: '{"bindingInfo":{}}' }), refused)
    expect('a token', await sendTo('POST', path, { body: '{"bindingInfo":{}}', token: service.adminToken }), refused)
  }
  t.deepEqual(faults, [])
  await hadNoEffect(t)
})

const post = (path: string, headers: string, body = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`

test.serial('requests that are not HTTP or repeat single headers are refused', async (t) => {
  for (const { cloud, service } of services) {
    const port = Number(new URL(service.running.marketplaceUrl ?? '').port)
    const path = `${listenerRoots.marketplace}/marketplaces/${cloud}/notification/resource?secret=${secretOf}`
    const get = (headers: string) => `GET ${listenerRoots.marketplace}/version HTTP/1.1\r\n${headers}\r\n`
    const long = `Content-Length: 2\r\n`
    const cases: readonly (readonly [string, string, readonly number[]])[] = [
      ...['[', 'a b', 'a/path', 'a?x', 'a@b', 'a:99999', '[::1', 'ü', '', 'a,b'].map(
        (host) => [`Host ${host}`, get(`Host: ${host}\r\n`), [400]] as const,
      ),
      ['two hosts', get('Host: a\r\nHost: b\r\n'), [400]],
      ['no host', get(''), [400]],
      ['two Content-Lengths', post(path, 'Content-Length: 2\r\nContent-Length: 3\r\n', '{}'), [400]],
      ['Content-Length and Transfer-Encoding', post(path, `${long}Transfer-Encoding: chunked\r\n`, '0\r\n\r\n'), [400]],
      ['a chunk size that is none', post(path, 'Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'), [400]],
      ['two Content-Types', post(path, `${long}Content-Type: text/plain\r\n`, '{}'), [400, 415]],
      ['two Content-Encodings', post(path, `${long}Content-Encoding: gzip\r\nContent-Encoding: br\r\n`, '{}'), [415]],
      ['100 MB announced', post(path, 'Content-Length: 104857600\r\n', '{'), [413]],
      ['a header of 20 KB', post(path, `${long}X-A: ${'x'.repeat(20_000)}\r\n`, '{}'), [431]],
      ['bytes that are no UTF-8', post(path, 'Content-Length: 4\r\n', '"\u00ff\u00fe"'), [400]],
      ['no HTTP at all', '\u0080\u0003\u0001\u0002\u0000', [400]],
    ]
    for (const [what, payload, wanted] of cases) {
      const reply = await rawRequest(port, Buffer.from(payload, 'latin1'))
      t.true(wanted.includes(reply.status), `${cloud}, ${what}: ${reply.status} ${reply.text.slice(0, 200)}`)
    }
  }
  await hadNoEffect(t)
})
