import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import test from 'ava'
import fc from 'fast-check'
import { anyText } from '../support/any-text.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { networkOf } from '../../adapters/throttle/allowances.ts'
import type { Refusal } from '../../composition/http/failure-response.ts'
import { refusal } from '../../composition/http/failure-response.ts'
import { makeOwnAddress, makeTrustedProxies } from '../../composition/http/request/addresses.ts'
import { entityTag, noneMatch, parseIfMatch } from '../../composition/http/request/conditional.ts'
import { decodeWith, parseQuery } from '../../composition/http/request/decode.ts'
import { pageOffset } from '../../core/kernel/page.ts'
import { pageHeaders, pageRequest } from '../../composition/http/request/paging.ts'
import { makeRateLimit } from '../../composition/http/request/rate-limit.ts'
import { foreignHeaders } from '../../composition/http/request/credentials.ts'
import { guardTarget, isHost, originForm } from '../../composition/http/request/request-target.ts'
import { whileAdmitted } from '../../composition/http/streams/stream-route.ts'
import { readSmallJson } from '../../core/clusters/proxy/computed-responses.ts'
import { parseInstant } from '../../core/kernel/clock.ts'
import { parseJson, toWireJson } from '../../core/kernel/json.ts'
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

test('forwarded addresses count only behind a trusted proxy, and then the right-most stranger', (a) => {
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

test('forwarded schemes and hosts count only behind a trusted proxy, and only where they are some', (a) => {
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

test('query keys: single ones may occur once, repeatable ones often, unknown and prototype keys do nothing', (a) => {
  a.deepEqual(parseQuery(new URLSearchParams('q=a&many=1&many=2&z=1&z=2'), codec), {
    ok: true,
    value: { q: 'a', many: ['1', '2'] },
  })
  a.false(parseQuery(new URLSearchParams('q=a&q=b'), codec).ok)
  a.false(parseQuery(new URLSearchParams('token=a&token=b'), codec).ok)
  a.deepEqual(parseQuery(new URLSearchParams('__proto__[x]=1&a[b]=1&constructor=2'), codec), { ok: true, value: {} })
  a.is(({} as Record<string, unknown>)['x'], undefined)
})

test('a refusal names the field and what was expected, never the value, and lists at most 20', (a) => {
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

const valueOf = (text: string): unknown => {
  const parsed = parseJson(text)
  return parsed.ok ? parsed.value : parsed
}

test('ordinary JSON comes through as JSON.parse reads it', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value)
      fc.pre(!text.includes('__proto__'))
      return toWireJson(valueOf(text)) === JSON.stringify(JSON.parse(text))
    }),
  )
  t.pass()
})

test('every 64-bit integer goes through reading and writing exactly', (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      (n) => toWireJson({ n: (valueOf(`{"n":${n}}`) as { n: unknown }).n }) === `{"n":${n}}`,
    ),
  )
  t.pass()
})

test('an integer beyond 2^53 becomes bigint, one within stays a number', (t) => {
  t.is(valueOf('9007199254740993'), 9007199254740993n)
  t.is(valueOf('9007199254740991'), 9007199254740991)
})

for (const literal of ['1.0', '1e3', '10E-1']) {
  test(`${literal} is no integer literal: integer codecs see an object`, (t) => {
    t.true(valueOf(literal) instanceof Number)
    t.is(toWireJson(valueOf(literal)), String(Number(literal)))
  })
}

test('digits inside strings change nothing', (t) =>
  t.deepEqual(valueOf('{"a":"12345678901234567890 1.0"}'), { a: '12345678901234567890 1.0' }))

test('an instant is of a day and an hour that exist', (t) => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
      (at) => parseInstant(at.toISOString())?.getTime() === at.getTime(),
    ),
  )
  t.is(parseInstant('2028-02-29T23:30:00-01:00')?.toISOString(), '2028-03-01T00:30:00.000Z')
  for (const text of [
    '2026-02-29T00:00:00Z',
    '2026-02-30T12:00:00Z',
    '2026-11-31T00:00:00+02:00',
    '2026-11-30T24:00:00Z',
    '2026-11-00T00:00:00Z',
    '2026-13-01T00:00:00Z',
  ])
    t.is(parseInstant(text), undefined, text)
})

/** Reads each number from its text, which takes several times as long. */
const readExactly = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    if (!/^-?\d+$/.test(context.source)) return Number.isInteger(value) ? Object(value) : value
    return Number.isSafeInteger(value) ? value : BigInt(context.source)
  })

test('each number is read as from its text, whatever is in the strings beside it', (t) => {
  const numbers = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
    fc.constantFrom('1E5', '-1.0', '0', '1e+2'),
  )
  const strings = fc.oneof(
    fc.constantFrom(
      '1.5',
      '2e9',
      '12345678901234567890',
      '\\"1.5',
      'a1e5',
      '"',
      '\\',
      '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11',
    ),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(strings, numbers)), fc.constantFrom('', ' ', '\n'), (pairs, space) => {
      const text = `[${pairs.map(([string, number]) => `${space}{${JSON.stringify(`k${string}`)}:${space}${number},"s":[${JSON.stringify(string)}${space},${number}]}`).join(',')}]`
      return isDeepStrictEqual(valueOf(text), readExactly(text))
    }),
  )
  t.pass()
})

test('nesting beyond 64 is refused before it is built', (t) => {
  t.true(parseJson('['.repeat(64) + ']'.repeat(64)).ok)
  t.deepEqual(parseJson('['.repeat(65) + ']'.repeat(65)), { ok: false, why: 'depth' })
  t.deepEqual(parseJson('['.repeat(200_000)), { ok: false, why: 'depth' })
  t.true(parseJson(`"${'['.repeat(100)}"`).ok)
  t.true(parseJson(`"\\"${'['.repeat(100)}"`).ok)
})

for (const text of ['', '{', 'NaN', '[1,]', '\ufeff{}', '{} {}', "{'a':1}", '01', '+1', '0x10']) {
  test(`${JSON.stringify(text)} is refused as syntax`, (t) =>
    t.deepEqual(parseJson(text), { ok: false, why: 'syntax' }))
}

test('the key __proto__ is refused, at each level and however it is written', (t) => {
  const texts = [
    '{"__proto__":{"polluted":1}}',
    '{"a":[{"b":{"__proto__":[]}}]}',
    '{"\\u005f_proto__":1}',
    '{"b":{"__proto__":1,"__proto__":2}}',
  ]
  for (const text of texts) t.deepEqual(parseJson(text), { ok: false, why: 'reserved-key' }, text)
  for (const text of ['"__proto__"', '{"a":"__proto__"}', '{"constructor":1,"proto":{"prototype":1}}'])
    t.true(parseJson(text).ok, text)
})

test('a key that is repeated in one object is refused and named, with anything between', (t) => {
  const repeated = [
    '{"a":1,"a":2}',
    '{"a":{"b":[{"a":1}]},"a":1}',
    '[{"x":"{","a":",","a":""}]',
    '{"a":[1,2],"b":{},"a":0}',
    '{"a":1,"\\u0061":2}',
    '{ "a" :"\\"" , "a":1}',
  ]
  for (const text of repeated) t.deepEqual(parseJson(text), { ok: false, why: 'repeated-key', key: 'a' }, text)
  t.deepEqual(parseJson('{"b":1.0,"n":12345678901234567890,"b":2}'), { ok: false, why: 'repeated-key', key: 'b' })
  for (const text of [
    '{"a":{"a":{"a":"a"}}}',
    '[{"a":1},{"a":1}]',
    '["a","a"]',
    '{"b":"a","a":"b"}',
    '"a"',
    '1',
    '{"b":["a","a"],"a":"a,\\"a\\":"}',
  ])
    t.true(parseJson(text).ok, text)
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      (value) => parseJson(JSON.stringify(value)).ok || JSON.stringify(value).includes('__proto__'),
    ),
  )
})

test('the bodies that the Kubernetes proxy reads itself have each key once as well', async (t) => {
  const read = (text: string) =>
    readSmallJson(
      (async function* () {
        yield Buffer.from(text)
      })(),
    )
  t.deepEqual(await read('{"resources":[]}'), right({ resources: [] }))
  const refused = await read('{"resources":[],"resources":[{"name":"b"}]}')
  t.true(isLeft(refused) && refused.left.message.includes('"resources" is repeated'))
})

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

test('a list that was counted in part names its next page until one is not full, and no last page', (t) => {
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

const refusedHosts = [
  '',
  '[',
  'a b',
  'a/path',
  'a?x',
  'a#y',
  'a@b',
  'x:99999',
  'a|b',
  '[::1',
  'x:',
  'x:1:2',
  'é',
  'a\\b',
  '::1',
  'a,b',
]
for (const host of refusedHosts) {
  test(`the host ${JSON.stringify(host)} is refused`, (t) => t.false(guardTarget([host], '/api/v1/x').ok))
}

for (const host of [
  'localhost',
  'localhost:3000',
  '127.0.0.1',
  '127.0.0.1:80',
  '[::1]',
  '[::1]:3000',
  'moorage.example.com',
  'a_b.internal',
]) {
  test(`the host ${host} is taken`, (t) => t.true(guardTarget([host], '/api/v1/x').ok))
}

test('no host, and two hosts, are refused', (t) => {
  t.false(guardTarget([], '/x').ok)
  t.false(guardTarget(['a', 'b'], '/x').ok)
})

const refusedTargets = [
  'http://other/x',
  '*',
  '',
  '/a/../b',
  '/a/%2e%2e/b',
  '/a/%2E./b',
  '/..',
  '/a/.',
  '/a\\b',
  '/a%5cb',
  '/a%2fb',
  '/a%2Fb',
  '/a%00b',
  '/a\0b',
  '/a b',
  '/é',
  '/a%zz',
  '/a%',
  '//x',
  '/a//b',
  '/a#b',
  '/a%0d%0ab',
  '/x?a=%zz',
]
for (const target of refusedTargets) {
  test(`the target ${JSON.stringify(target)} is refused`, (t) => t.false(guardTarget(['localhost'], target).ok))
}

test('a target in absolute-form is read as its path, and names the host', (t) => {
  t.deepEqual(originForm('http://a.example:81/x/?y=http://z'), { authority: 'a.example:81', target: '/x/?y=http://z' })
  t.deepEqual(originForm('HTTPS://a'), { authority: 'a', target: '/' })
  t.deepEqual(originForm('http://a?x'), { authority: 'a', target: '/?x' })
  for (const target of ['/x', '*', '', '//a/x', 'http:///x', 'ftp://a/x', 'a:443'])
    t.deepEqual(originForm(target), { authority: undefined, target })
})

test('what the receiver checks stays as it is, and what precedes it is checked as ever', (t) => {
  const below =
    (from: number, isChecked = true) =>
    () => ({ from, isChecked, ownsQuery: isChecked })
  t.like(guardTarget(['h'], '/p/x//y/%2f/?q=%', below(2)), { ok: true, path: '/p/x//y/%2f/', query: 'q=%' })
  for (const target of ['/../x', '/%2f/x', '/p/x\\y', '/p/x y', '/p/é'])
    t.false(guardTarget(['h'], target, below(target.startsWith('/p') ? 2 : target.length - 2)).ok, target)
  for (const target of ['/p/x//y', '/p/%2f', '/p/../x', '/p?q=%'])
    t.false(guardTarget(['h'], target, below(2, false)).ok, target)
})

test('one trailing slash is dropped, the query kept as it is', (t) => {
  t.deepEqual(guardTarget(['h'], '/api/v1/users/?q=a%20b&q=c'), {
    ok: true,
    path: '/api/v1/users',
    query: 'q=a%20b&q=c',
  })
  t.deepEqual(guardTarget(['h'], '/'), { ok: true, path: '/', query: '' })
})

test('whatever passes is what a URL parser sees too: nothing can be routed elsewhere', (t) => {
  const piece = fc.constantFrom(
    'a',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '/',
    '\\',
    '?',
    '#',
    '%',
    '%00',
    ';',
    '@',
    ':',
    ' ',
    '//',
    'api',
    'v1',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const guarded = guardTarget(['localhost'], `/${pieces.join('')}`)
      if (!guarded.ok) return true
      const seen = new URL(`http://localhost${guarded.path}`)
      return seen.pathname === guarded.path && seen.hostname === 'localhost'
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

test('a host that passes never brings a path, a query or a user into the URL built from it', (t) => {
  const character = fc.constantFrom(...'abz09.-_:[]/?#@\\% ,|')
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (host) => {
      if (!isHost(host)) return true
      const seen = new URL(`http://${host}/p`)
      return seen.pathname === '/p' && seen.search === '' && seen.hash === '' && seen.username === ''
    }),
    { numRuns: 3000 },
  )
  t.pass()
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

test('a rate limit and a store that is away cut nothing', async (t) => {
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

test('what is for another receiver carries nothing that proves the caller here', (t) => {
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

test('a line of any length is one line, a text may have several, and neither has other control characters', (t) => {
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
