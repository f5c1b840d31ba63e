import type { IncomingMessage } from 'node:http'
import test from 'ava'
import fc from 'fast-check'
import { anyText } from '../support/any-text.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { networkOf } from '../../adapters/system/allowances.ts'
import type { Refusal } from '../../composition/runtime/http/failure-response.ts'
import { refusal } from '../../composition/runtime/http/failure-response.ts'
import { makeOwnAddress, makeTrustedProxies } from '../../composition/runtime/http/request/addresses.ts'
import { entityTag, noneMatch, parseIfMatch } from '../../composition/runtime/http/request/conditional.ts'
import { decodeWith, parseQuery } from '../../composition/runtime/http/request/decode.ts'
import { pageOffset } from '../../core/kernel/page.ts'
import { pageHeaders, pageRequest } from '../../composition/runtime/http/request/paging.ts'
import { makeRateLimit } from '../../composition/runtime/http/request/rate-limit.ts'
import { foreignHeaders } from '../../composition/runtime/http/request/credentials.ts'
import { whileAdmitted } from '../../composition/runtime/http/streams/stream-route.ts'
import type { Principal } from '../../core/kernel/principal.ts'
import {
  freeText,
  givenText,
  noteOf,
  optional,
  QueryInt,
  textLines,
  repeatable,
  request,
} from '../../plugins/kit/codecs.ts'

const from = (peer: string, forwarded?: string) =>
  ({
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as never

test('forwarded addresses count behind a trusted proxy, right-most first', (a) => {
  a.is(makeTrustedProxies([]).clientIp(from('203.0.113.9', '1.2.3.4')), '203.0.113.9')
  const ip = makeTrustedProxies(['10.0.0.0/8', '::1']).clientIp
  a.is(ip(from('203.0.113.9', '1.2.3.4')), '203.0.113.9')
  a.is(ip(from('10.1.1.1', '6.6.6.6, 203.0.113.9, 10.2.2.2')), '203.0.113.9')
  a.is(ip(from('::ffff:10.1.1.1', '203.0.113.9')), '203.0.113.9')
  a.is(ip(from('::1', 'not an address, 203.0.113.9')), '203.0.113.9')
  a.is(ip(from('10.1.1.1', 'garbage')), '10.1.1.1')
  for (const [sent, read] of [
    ['203.0.113.9:50123', '203.0.113.9'],
    ['[2001:db8::9]:443', '2001:db8::9'],
    ['[2001:db8::9]', '2001:db8::9'],
    ['203.0.113.9:1, 10.2.2.2:443', '203.0.113.9'],
    ['203.0.113.9:port', '10.1.1.1'],
  ] as const) {
    a.is(ip(from('10.1.1.1', sent)), read, sent)
  }
  a.is(ip(from('10.1.1.1', '10.9.9.9')), '10.9.9.9')
})

test('forwarded schemes and hosts count only behind a trusted proxy', (a) => {
  const proxies = makeTrustedProxies(['10.0.0.0/8'])
  const ownUrl = makeOwnAddress({ configured: undefined, listening: 'http://127.0.0.1:3000', proxies })
  const asked = (peer: string, headers: Record<string, string>, encrypted = false) =>
    ({ socket: { remoteAddress: peer, encrypted }, headers }) as never
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'Front.Example' }
  a.deepEqual(ownUrl(asked('10.1.1.1', forwarded), 'inner'), { url: 'https://front.example', isDirect: false })
  a.deepEqual(ownUrl(asked('203.0.113.9', forwarded), 'inner'), { url: 'http://inner', isDirect: true })
  a.deepEqual(ownUrl(asked('203.0.113.9', forwarded, true), 'Inner:8443'), {
    url: 'https://inner:8443',
    isDirect: true,
  })
  a.deepEqual(ownUrl(asked('10.1.1.1', { 'x-forwarded-proto': 'ftp', 'x-forwarded-host': 'a@b' }), 'inner'), {
    url: 'http://inner',
    isDirect: true,
  })
  a.deepEqual(ownUrl(asked('10.1.1.1', {}, true), undefined), { url: 'https://127.0.0.1:3000', isDirect: true })
  const fixed = makeOwnAddress({ configured: 'https://platform.example', listening: 'http://127.0.0.1:3000', proxies })
  a.is(fixed(asked('10.1.1.1', forwarded), 'inner').url, 'https://platform.example')
})

test('entity tags: every pair of bodies and versions has its own', (a) => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.nat(),
      fc.string(),
      fc.nat(),
      (x, v, y, w) => (entityTag(x, v) === entityTag(y, w)) === (x === y && v === w),
    ),
  )
  a.is(parseIfMatch(undefined).kind, 'absent')
  a.deepEqual(parseIfMatch(entityTag('x', 12)), { kind: 'version', version: 12 })
  a.is(parseIfMatch(entityTag('x')).kind, 'never')
  a.is(parseIfMatch('"1-a", "2-b"').kind, 'never')
  a.true(noneMatch('"a", "b"', '"c"'))
  a.false(noneMatch('"a", W/"c"', '"c"'))
})

test('pages are always within bounds', (a) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.bigInt().map(String)), fc.string(), fc.boolean(), (page, limit, isWhole) => {
      const asked = pageRequest(new URLSearchParams({ page, limit }), isWhole)
      return asked.page >= 1 && Number.isSafeInteger(pageOffset(asked)) && asked.limit >= 1 && asked.limit <= 50
    }),
  )
  a.deepEqual(pageRequest(new URLSearchParams('page=3&limit=20'), true), { page: 3, limit: 20 })
  a.deepEqual(pageRequest(new URLSearchParams('limit=20'), true), { page: 1, limit: 20 })
  a.deepEqual(pageRequest(new URLSearchParams('q=x'), true), { page: 1, limit: 10_000 })
  a.deepEqual(pageRequest(new URLSearchParams(''), false), { page: 1, limit: 30 })
})

const codec = request({ q: optional(t.string), n: optional(QueryInt), many: repeatable(t.string) }, 'Q')

test('query keys occur once or repeatedly as declared, others do nothing', (a) => {
  a.deepEqual(parseQuery(new URLSearchParams('q=a&many=1&many=2&z=1&z=2'), codec), {
    ok: true,
    value: { q: 'a', many: ['1', '2'] },
  })
  a.false(parseQuery(new URLSearchParams('q=a&q=b'), codec).ok)
  a.false(parseQuery(new URLSearchParams('token=a&token=b'), codec).ok)
  a.deepEqual(parseQuery(new URLSearchParams('__proto__[x]=1&a[b]=1&constructor=2'), codec), { ok: true, value: {} })
  a.is(({} as Record<string, unknown>)['x'], undefined)
})

test('a refusal names at most 20 fields with their rules, never values', (a) => {
  const refused = decodeWith(t.type({ password: t.number }), { password: 'hunter2' })
  a.false(refused.ok)
  a.notRegex(JSON.stringify(refused), /hunter2/)
  const named = request({ name: t.string }, 'PersonOptions')
  for (const wrong of [[], 'x', null, 3])
    a.deepEqual(decodeWith(named, wrong), { ok: false, errors: ['the value must be an object'] })
  a.deepEqual(decodeWith(t.type({ who: named }), { who: [] }), { ok: false, errors: ['who must be an object'] })
  a.deepEqual(decodeWith(named, {}), { ok: false, errors: ['name is missing; expected string'] })
  const many = decodeWith(
    t.array(t.number),
    Array.from({ length: 100_000 }, () => 'x'),
  )
  a.true(!many.ok && many.errors.length <= 21)
})

test('a bucket allows the limit at once, then refills with time, each caller by itself', (a) => {
  let now = 0
  const limit = makeRateLimit(60, () => now)
  if (limit === undefined) return a.fail()
  for (let i = 0; i < 60; i++) a.true(limit('x').allowed)
  a.like(limit('x'), { allowed: false, remaining: 0, resetSeconds: 1 })
  a.true(limit('y').allowed)
  now += 1000
  a.true(limit('x').allowed)
  a.false(limit('x').allowed)
  now += 3_600_000
  a.is(limit('x').remaining, 59)
})

test('an IPv6 caller counts by network, an IPv4 caller by address', (a) => {
  a.is(networkOf('2001:db8:1:2:3::4'), networkOf('2001:db8:1:2:ffff::1'))
  a.not(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
  a.is(networkOf('203.0.113.9'), '203.0.113.9')
})

test('no limit means none', (a) =>
  a.is(
    makeRateLimit(0, () => 0),
    undefined,
  ))

const page = (total: number) => ({ items: [], total })

test('links keep the filters of the caller and leave credentials out', (t) => {
  const headers = pageHeaders(
    'http://a/list',
    new URLSearchParams('q=x&token=t&access_token=t&page=2'),
    { page: 2, limit: 10 },
    page(35),
  )
  t.is(
    headers['Link'],
    ['next:3', 'last:4', 'first:1', 'prev:1']
      .map((each) => each.split(':'))
      .map(([rel, number]) => `<http://a/list?q=x&page=${number}&limit=10>; rel="${rel}"`)
      .join(', '),
  )
  t.is(headers['X-Total-Count'], '35')
})

test('a partly counted list names its next page and no last page', (t) => {
  const rels = (page: number, items: number, total: number, isCapped: boolean, limit = 50) =>
    [
      ...(
        pageHeaders(
          'http://a/list',
          new URLSearchParams(),
          { page, limit },
          { items: Array.from({ length: items }), total, ...(isCapped ? { totalIsCapped: true } : {}) },
        )['Link'] ?? ''
      ).matchAll(/page=(\d+)&limit=(\d+)>; rel="(\w+)"/g),
    ].map(([, number, size, rel]) => `${rel} ${number}/${size}`)
  t.deepEqual(rels(1, 10_000, 10_000, true, 10_000), ['next 201/50'])
  t.deepEqual(rels(1, 10_000, 10_000, false, 10_000), [])
  t.deepEqual(rels(200, 50, 10_000, true), ['next 201/50', 'first 1/50', 'prev 199/50'])
  t.deepEqual(rels(201, 7, 10_000, true), ['first 1/50', 'prev 200/50'])
  t.deepEqual(rels(900, 0, 10_000, true), ['first 1/50', 'prev 200/50'])
})

test('a query that is too long to be repeated in links costs the links, not the answer', (t) => {
  const headers = pageHeaders(
    'http://a/list',
    new URLSearchParams({ q: 'x'.repeat(8000) }),
    { page: 1, limit: 10 },
    page(35),
  )
  t.is(headers['Link'], undefined)
  t.is(headers['X-Total-Count'], '35')
})

const answering = (...answers: readonly (Either<Refusal, unknown> | Error)[]) => {
  const state = { asked: 0, cut: 0 }
  const stopped = new Promise<typeof state>((resolve) => {
    const stop = whileAdmitted(
      () => {
        const answer = answers[state.asked] ?? left(refusal(403, 'AccessDenied', 'no'))
        state.asked += 1
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
      },
      () => {
        state.cut += 1
        stop()
        resolve(state)
      },
      1,
    )
  })
  // The timers of streams keep no process alive, so this test must.
  const alive = setInterval(() => undefined, 1000)
  return stopped.finally(() => clearInterval(alive))
}

test('a stream is cut when its caller loses the right, and is checked no longer', async (t) => {
  t.deepEqual(await answering(right(1), right(1), left(refusal(401, 'NotAuthenticated', 'gone'))), { asked: 3, cut: 1 })
})

test('a refusal that is not about the caller, and a store that is away, cut nothing', async (t) => {
  t.deepEqual(
    await answering(
      left(refusal(429, 'RateLimited', 'slow')),
      left(refusal(500, 'Unavailable', 'away')),
      new Error('away'),
      left(refusal(404, 'ObjectHidden', 'gone')),
    ),
    { asked: 4, cut: 1 },
  )
})

test("a proxied request omits the caller's credentials", (t) => {
  const bag = (
    headersDistinct: Record<string, string[]>,
    method: 'session' | 'token',
    sessionCookie = 'moorage_session',
  ) =>
    foreignHeaders(
      { headersDistinct } as unknown as IncomingMessage,
      { principal: { method } as Principal },
      sessionCookie,
    )
  const own = {
    authorization: ['Bearer x'],
    sudo: ['eve'],
    'x-otp': ['1'],
    'x-gitea-otp': ['1'],
    'x-forgejo-otp': ['1'],
  }
  t.deepEqual(bag({ ...own, 'x-csrf-token': ['t'], accept: ['a', 'b'] }, 'session'), { accept: ['a', 'b'] })
  t.deepEqual(bag({ ...own, 'x-csrf-token': ['t'] }, 'token'), { 'x-csrf-token': ['t'] })
  const cookies =
    'moorage_session=s; __Host-moorage_session=s;moorage_session_remember=r; __Host-moorage_session_remember=r; moorage_bus=b; _csrf=c; theme=dark; a=b=c'
  for (const name of ['moorage_session', '__Host-moorage_session'])
    t.deepEqual(bag({ cookie: [cookies] }, 'session', name), { cookie: 'theme=dark; a=b=c' })
  t.deepEqual(bag({ cookie: ['_csrf=of-the-app', 'x=y'] }, 'token'), { cookie: '_csrf=of-the-app; x=y' })
  t.deepEqual(bag({ cookie: ['moorage_session=s; _csrf=c'] }, 'token'), {})
})

test('lines and texts contain no other control characters', (t) => {
  const line = freeText()
  const short = freeText(100)
  const lines = textLines(1000)
  fc.assert(
    fc.property(
      anyText({ maxLength: 40 }),
      fc.integer({ min: 0, max: 159 }),
      anyText({ maxLength: 40 }),
      (before, code, after) => {
        const control = code < 32 || code >= 127
        const text =
          before.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '') +
          String.fromCharCode(code) +
          after.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '')
        if (!text.isWellFormed()) return !line.is(text)
        const pattern = (codec: typeof line): boolean => new RegExp(String(noteOf(codec)?.pattern)).test(text)
        if (pattern(line) !== line.is(text) || pattern(lines) !== lines.is(text)) return false
        return (
          line.is(text) === !control &&
          short.is(text) === !control &&
          lines.is(text) === (!control || code === 9 || code === 10 || code === 13)
        )
      },
    ),
  )
  t.true(givenText().is('a password\nof two lines'))
  t.false(givenText().is('a\0b'))
})
