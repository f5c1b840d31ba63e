import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import type { SetMode } from '../../../core/formats/helm/set-grammar.ts'
import { assignAll, parseSet } from '../../../core/formats/helm/set-grammar.ts'

/** The `--set` grammar: the documented examples, its refusals, and what holds for any line. */
const set = (line: string, mode: SetMode = 'typed', base: FreeObject = {}): FreeObject => {
  const parsed = parseSet(line, mode)
  if (isLeft(parsed)) throw new Error(parsed.left)
  return assignAll(base, parsed.right)
}

const examples: readonly (readonly [string, FreeObject])[] = [
  ['name=value', { name: 'value' }],
  ['a=b,c=d', { a: 'b', c: 'd' }],
  ['outer.inner=value', { outer: { inner: 'value' } }],
  ['a.b=c,a.d=e', { a: { b: 'c', d: 'e' } }],
  ['name={a, b, c}', { name: ['a', ' b', ' c'] }],
  ['name={a,b},x=1', { name: ['a', 'b'], x: 1 }],
  ['name={}', { name: [''] }],
  ['name={1,true,null}', { name: [1, true, null] }],
  ['servers[0].port=80', { servers: [{ port: 80 }] }],
  ['servers[0].port=80,servers[0].host=example', { servers: [{ port: 80, host: 'example' }] }],
  ['list[1]=b', { list: [null, 'b'] }],
  ['list[0][1]=x', { list: [[null, 'x']] }],
  ['list[0]={a,b}', { list: [['a', 'b']] }],
  ['name=value1\\,value2', { name: 'value1,value2' }],
  ['nodeSelector.kubernetes\\.io/role=master', { nodeSelector: { 'kubernetes.io/role': 'master' } }],
  ['a=\\{b\\}', { a: '{b}' }],
  ['a=x=y', { a: 'x=y' }],
  ['a=', { a: '' }],
  ['a=,b=1', { a: '', b: 1 }],
  ['a=null,b=NULL', { a: null, b: null }],
  ['a=true,b=False,c=yes', { a: true, b: false, c: 'yes' }],
  ['a=0,b=-5,c=+7,d=007,e=1.5,f=1e3', { a: 0, b: -5, c: 7, d: '007', e: '1.5', f: '1e3' }],
  ['a=9007199254740993', { a: 9007199254740993n }],
  ['a=9223372036854775808', { a: '9223372036854775808' }],
  ['a=ü→,b=😀', { a: 'ü→', b: '😀' }],
  ['__proto__.x=1', JSON.parse('{"__proto__":{"x":1}}') as FreeObject],
]

for (const [line, expected] of examples) {
  test(`--set ${line}`, (t) => {
    t.deepEqual(set(line), expected)
  })
}

test('no line reaches the prototype of anything', (t) => {
  set('__proto__.polluted=1,constructor.prototype.polluted=1')
  t.is(({} as Record<string, unknown>).polluted, undefined)
})

for (const line of [
  'a',
  'a.b',
  'a,b=1',
  '=1',
  'a..b=1',
  '.a=1',
  'a[x]=1',
  'a[-1]=1',
  'a[0',
  'a[0]x=1',
  'a[70000]=1',
  'a={b',
  'a={b,c',
  'a[0]',
  `${'a.'.repeat(40)}b=1`,
]) {
  test(`refused: ${line.slice(0, 20)}`, (t) => {
    const parsed = parseSet(line, 'typed')
    t.true(isLeft(parsed))
    if (isLeft(parsed)) t.notRegex(parsed.left, /\d{5}x/)
  })
}

test('--set-string keeps every value a text', (t) => {
  t.deepEqual(set('a=1,b=true,c=null,d={1,x}', 'texts'), { a: '1', b: 'true', c: 'null', d: ['1', 'x'] })
})

test('a later value is merged into existing ones', (t) => {
  t.deepEqual(set('a.list[1].x=2,a.more=1', 'typed', { a: { list: [{ x: 1 }, { x: 1, y: 1 }], keep: true } }), {
    a: { list: [{ x: 1 }, { x: 2, y: 1 }], keep: true, more: 1 },
  })
  t.deepEqual(set('a.b=1', 'typed', { a: 'text' }), { a: { b: 1 } })
})

const escape = (text: string): string => text.replace(/[\\,.=[\]{}]/g, '\\$&')
const name = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => text.isWellFormed())
const text = fc.string({ maxLength: 20 }).filter((value) => value.isWellFormed())

test('escaped characters arrive unchanged at any path', (t) => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), text, (path, value) => {
      const expected = path.reduceRight<Json>((inner, key) => Object.fromEntries([[key, inner]]), value)
      t.deepEqual(set(`${path.map(escape).join('.')}=${escape(value)}`, 'texts'), expected as FreeObject)
    }),
  )
})

test('any line is parsed or refused in linear time', (t) => {
  const line = fc.string({
    unit: fc.constantFrom('a', '.', ',', '=', '[', ']', '{', '}', '\\', '0', '1', ' ', '-'),
    maxLength: 60,
  })
  fc.assert(
    fc.property(line, (given) => {
      t.deepEqual(parseSet(given, 'typed'), parseSet(given, 'typed'))
    }),
    { numRuns: 2000 },
  )
})

test('an assignment does not change its source', (t) => {
  const base: FreeObject = { a: { b: [1, { c: 1 }] }, kept: { x: 1 } }
  const before = structuredClone(base)
  const shared: Json = { y: [1] }
  const path = (key: string): readonly [{ readonly key: string }] => [{ key }]
  const assigned = assignAll(base, [
    { path: [{ key: 'a' }, { key: 'b' }, { index: 1 }, { key: 'c' }], value: 2 },
    { path: path('one'), value: shared },
    { path: path('two'), value: shared },
    { path: [{ key: 'one' }, { key: 'y' }, { index: 0 }], value: 2 },
  ])
  t.deepEqual(base, before)
  t.deepEqual(shared, { y: [1] })
  t.deepEqual(assigned, { a: { b: [1, { c: 2 }] }, kept: { x: 1 }, one: { y: [2] }, two: { y: [1] } })
})

test('the cost grows linearly with the number of names', (t) => {
  const line = Array.from({ length: 50_000 }, (_, index) => `k${index}=1`).join(',')
  t.is(Object.keys(set(line)).length, 50_000)
})
