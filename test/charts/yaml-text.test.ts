import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { parse as parseAs12 } from 'yaml'
import { kubernetesYamlText as yaml } from '../../adapters/charts/kubernetes-yaml.ts'
import type { Json } from '../../core/kernel/json.ts'
import { plainNumbers } from '../support/charts/plain-numbers.ts'

const value = (text: string): Json | undefined => {
  const parsed = yaml.parse(text)
  if (isLeft(parsed)) throw new Error(parsed.left.message)
  return parsed.right
}
const refusal = (text: string): string | undefined => {
  const parsed = yaml.parse(text)
  return isLeft(parsed) ? parsed.left.message : undefined
}

test('empty text is undefined, and null is null', (t) => {
  t.is(value(''), undefined)
  t.is(value('# nothing\n'), undefined)
  t.is(value('null'), null)
})

test('integers beyond 2^53 keep each digit', (t) => {
  t.deepEqual(value('[9007199254740993, 18446744073709551615, -9223372036854775808]'), [9007199254740993n, 18446744073709551615n, -9223372036854775808n])
  t.is(yaml.print([9007199254740993n]), '- 9007199254740993\n')
})

test('several documents are refused as one, and listed as all', (t) => {
  t.regex(refusal('a: 1\n---\nb: 2\n') ?? '', /several documents/)
  t.deepEqual(yaml.parseAll('---\n---\na: 1\n---\n# none\n---\nb: 2\n...\n'), { _tag: 'Right', right: [{ a: 1 }, { b: 2 }] })
})

test('aliases that grow are refused, and those that do not are values of their own', (t) => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]', ...[...'bcdefgh'].map((c, i) => `${c}: &${c} [${Array(10).fill(`*${'abcdefg'[i] ?? ''}`).join(',')}]`)].join('\n')
  t.regex(refusal(bomb) ?? '', /aliases/)
  const long = `a: &a ${'x'.repeat(100_000)}\nb: [${Array(5_000).fill('*a').join(',')}]`
  t.regex(refusal(long) ?? '', /aliases/)
  t.regex(refusal(`a: &a 1\nb: [${Array(20_000).fill('*a').join(',')}]`) ?? '', /aliases/)
  const shared = value('a: &a {b: 1}\nc: *a\n') as { readonly a: object; readonly c: object }
  t.not(shared.a, shared.c)
})

test('a value that holds itself is refused', (t) => {
  t.is(typeof refusal('a: &a [*a]'), 'string')
  t.is(typeof refusal('a: &a {b: *a}'), 'string')
})

test('depth and length are bounded', (t) => {
  t.regex(refusal('['.repeat(500) + ']'.repeat(500)) ?? '', /depth|maxDepth|nesting/i)
  t.regex(refusal(Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')) ?? '', /nesting|depth/i)
  t.regex(refusal('x'.repeat(8 * 1024 * 1024 + 1)) ?? '', /longer/)
})

test('merge keys that multiply are refused', (t) => {
  const lines = ['a0: &a0 {k0: 0}']
  for (let i = 1; i <= 400; i += 1) lines.push(`a${i}: &a${i} {<<: *a${i - 1}, k${i}: ${i}}`)
  t.is(typeof refusal(lines.join('\n')), 'string')
})

test('no key reaches the prototype', (t) => {
  t.regex(refusal('__proto__: {polluted: yes}') ?? '', /__proto__/)
  t.regex(refusal('a: &a {"__proto__": {x: 1}}') ?? '', /__proto__/)
  t.deepEqual(value('constructor: 1\ntoString: 2\n'), { constructor: 1, toString: 2 } as unknown as Json)
})

test('a refusal repeats nothing of a value', (t) => {
  t.false((refusal('password: "hunter2\nother: [') ?? '').includes('hunter2'))
})

const json = fc.json({ maxDepth: 4 }).filter((text) => !text.includes('__proto__')).map((text) => JSON.parse(text) as Json)

test('what is printed is read again', (t) => {
  fc.assert(fc.property(json, (made) => {
    const read = yaml.parse(yaml.print(made))
    t.true(isRight(read))
    t.deepEqual(isRight(read) ? plainNumbers(read.right ?? null) : undefined, made)
  }), { numRuns: 400 })
})

const misread = ['y', 'no', 'Off', '0777', '0o17', '1:30', '1e3', '2001-01-01', '~', '', '=', '<<', '.5', '1_000', '+1', '0x1F', 'null', '- a', ': b', '#c', '.inf', '1.', '12e03', '.', '-', 'true']

test('other readers read the same texts', (t) => {
  t.deepEqual(parseAs12(yaml.print(misread)) as unknown, misread)
  t.deepEqual(parseAs12(yaml.print(misread), { version: '1.1' }) as unknown, misread)
  fc.assert(fc.property(fc.array(fc.string(), { maxLength: 5 }), (made) => t.deepEqual(parseAs12(yaml.print(made)) as unknown, made)), { numRuns: 300 })
})

test('lists stand under their key as kubectl prints them', (t) => {
  t.is(yaml.print({ b: [1, { c: 'yes' }], a: 'x\ny\n' }), 'b:\n- 1\n- c: "yes"\na: |\n  x\n  y\n')
})
