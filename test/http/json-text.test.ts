import { isDeepStrictEqual } from 'node:util'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { readSmallJson } from '../../adapters/kubernetes/computed-responses.ts'
import { parseInstant } from '../../core/kernel/clock.ts'
import { parseJson, toWireJson } from '../../core/kernel/json.ts'

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
