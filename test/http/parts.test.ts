import test from 'ava'
import fc from 'fast-check'
import * as t from 'io-ts'
import { makeTrustedProxies, makeOwnAddress } from '../../composition/http/request/addresses.ts'
import { entityTag, noneMatch, parseIfMatch } from '../../composition/http/request/conditional.ts'
import { decodeWith } from '../../composition/http/request/decode.ts'
import { pageRequest } from '../../composition/http/request/paging.ts'
import { parseQuery } from '../../composition/http/request/query-string.ts'
import { networkOf } from '../../adapters/throttle/shared-limiter.ts'
import { makeRateLimit } from '../../composition/http/request/rate-limit.ts'
import { optional, QueryInt, repeatable, request } from '../../plugins/kit/codecs.ts'

const from = (peer: string, forwarded?: string) =>
  ({ socket: { remoteAddress: peer }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as never

test('forwarded addresses count only behind a trusted proxy, and then the right-most stranger', (a) => {
  a.is(makeTrustedProxies([]).clientIp(from('203.0.113.9', '1.2.3.4')), '203.0.113.9')
  const ip = makeTrustedProxies(['10.0.0.0/8', '::1']).clientIp
  a.is(ip(from('203.0.113.9', '1.2.3.4')), '203.0.113.9')
  a.is(ip(from('10.1.1.1', '6.6.6.6, 203.0.113.9, 10.2.2.2')), '203.0.113.9')
  a.is(ip(from('::ffff:10.1.1.1', '203.0.113.9')), '203.0.113.9')
  a.is(ip(from('::1', 'not an address, 203.0.113.9')), '203.0.113.9')
  a.is(ip(from('10.1.1.1', 'garbage')), '10.1.1.1')
  a.is(ip(from('10.1.1.1', '10.9.9.9')), '10.9.9.9')
})

test('forwarded schemes and hosts count only behind a trusted proxy, and only where they are some', (a) => {
  const proxies = makeTrustedProxies(['10.0.0.0/8'])
  const ownUrl = makeOwnAddress({ configured: undefined, listening: 'http://127.0.0.1:3000', proxies })
  const asked = (peer: string, headers: Record<string, string>, encrypted = false) => ({ socket: { remoteAddress: peer, encrypted }, headers }) as never
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'Front.Example' }
  a.deepEqual(ownUrl(asked('10.1.1.1', forwarded), 'inner'), { url: 'https://front.example', isDirect: false })
  a.deepEqual(ownUrl(asked('203.0.113.9', forwarded), 'inner'), { url: 'http://inner', isDirect: true })
  a.deepEqual(ownUrl(asked('203.0.113.9', forwarded, true), 'Inner:8443'), { url: 'https://inner:8443', isDirect: true })
  a.deepEqual(ownUrl(asked('10.1.1.1', { 'x-forwarded-proto': 'ftp', 'x-forwarded-host': 'a@b' }), 'inner'), { url: 'http://inner', isDirect: true })
  a.deepEqual(ownUrl(asked('10.1.1.1', {}, true), undefined), { url: 'https://127.0.0.1:3000', isDirect: true })
  const fixed = makeOwnAddress({ configured: 'https://platform.example', listening: 'http://127.0.0.1:3000', proxies })
  a.is(fixed(asked('10.1.1.1', forwarded), 'inner').url, 'https://platform.example')
})

test('entity tags: every pair of bodies and versions has its own', (a) => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.string(), fc.nat(), (x, v, y, w) => (entityTag(x, v) === entityTag(y, w)) === (x === y && v === w)),
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
    fc.property(fc.string(), fc.string(), (page, limit) => {
      const asked = pageRequest(new URLSearchParams({ page, limit }))
      return asked.page >= 1 && asked.page <= 1_000_000 && asked.limit >= 1 && asked.limit <= 50
    }),
  )
  a.deepEqual(pageRequest(new URLSearchParams('page=3&limit=20')), { page: 3, limit: 20 })
  a.deepEqual(pageRequest(new URLSearchParams('')), { page: 1, limit: 30 })
})

const codec = request({ q: optional(t.string), n: optional(QueryInt), many: repeatable(t.string) }, 'Q')

test('query keys: single ones may occur once, repeatable ones often, unknown and prototype keys do nothing', (a) => {
  a.deepEqual(parseQuery(new URLSearchParams('q=a&many=1&many=2&z=1&z=2'), codec), { ok: true, value: { q: 'a', many: ['1', '2'] } })
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
  for (const wrong of [[], 'x', null, 3]) a.deepEqual(decodeWith(named, wrong), { ok: false, errors: ['the value must be an object'] })
  a.deepEqual(decodeWith(t.type({ who: named }), { who: [] }), { ok: false, errors: ['who must be an object'] })
  a.deepEqual(decodeWith(named, {}), { ok: false, errors: ['name is missing; expected string'] })
  const many = decodeWith(t.array(t.number), Array.from({ length: 100_000 }, () => 'x'))
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

test('no limit means none', (a) => a.is(makeRateLimit(0, () => 0), undefined))
