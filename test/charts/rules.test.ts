import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { parse as parseAs12 } from 'yaml'
import { fastJsonPatches as patches } from '../../adapters/charts/json-patches.ts'
import { kubernetesYamlText as yaml } from '../../adapters/charts/kubernetes-yaml.ts'
import { chooseVersion, isInRange, newestFirst } from '../../adapters/charts/versions.ts'
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
  t.deepEqual(value('[9007199254740993, 18446744073709551615, -9223372036854775808]'), [
    9007199254740993n,
    18446744073709551615n,
    -9223372036854775808n,
  ])
  t.is(yaml.print([9007199254740993n]), '- 9007199254740993\n')
})

test('several documents are refused as one, and listed as all', (t) => {
  t.regex(refusal('a: 1\n---\nb: 2\n') ?? '', /several documents/)
  t.deepEqual(yaml.parseAll('---\n---\na: 1\n---\n# none\n---\nb: 2\n...\n'), {
    _tag: 'Right',
    right: [{ a: 1 }, { b: 2 }],
  })
})

test('growing aliases are refused, and others become separate values', (t) => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...[...'bcdefgh'].map(
      (c, i) =>
        `${c}: &${c} [${Array(10)
          .fill(`*${'abcdefg'[i] ?? ''}`)
          .join(',')}]`,
    ),
  ].join('\n')
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

const json = fc
  .json({ maxDepth: 4 })
  .filter((text) => !text.includes('__proto__'))
  .map((text) => JSON.parse(text) as Json)

test('printed values parse to the same values', (t) => {
  fc.assert(
    fc.property(json, (made) => {
      const read = yaml.parse(yaml.print(made))
      t.true(isRight(read))
      t.deepEqual(isRight(read) ? plainNumbers(read.right ?? null) : undefined, made)
    }),
    { numRuns: 400 },
  )
})

const misread = [
  'y',
  'no',
  'Off',
  '0777',
  '0o17',
  '1:30',
  '1e3',
  '2001-01-01',
  '~',
  '',
  '=',
  '<<',
  '.5',
  '1_000',
  '+1',
  '0x1F',
  'null',
  '- a',
  ': b',
  '#c',
  '.inf',
  '1.',
  '12e03',
  '.',
  '-',
  'true',
]

test('other readers read the same texts', (t) => {
  t.deepEqual(parseAs12(yaml.print(misread)) as unknown, misread)
  t.deepEqual(parseAs12(yaml.print(misread), { version: '1.1' }) as unknown, misread)
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 5 }), (made) =>
      t.deepEqual(parseAs12(yaml.print(made)) as unknown, made),
    ),
    { numRuns: 300 },
  )
})

test('lists stand under their key as kubectl prints them', (t) => {
  t.is(yaml.print({ b: [1, { c: 'yes' }], a: 'x\ny\n' }), 'b:\n- 1\n- c: "yes"\na: |\n  x\n  y\n')
})

const apply = (document: Json, patch: Json, options?: { readonly tolerateMissing?: boolean }): Json | string => {
  const applied = patches.apply(document, patch, options)
  return isLeft(applied) ? `refused: ${applied.left.message}` : applied.right
}
const jsonPatchesJson = fc
  .json({ maxDepth: 3 })
  .filter((text) => !text.includes('__proto__'))
  .map((text) => JSON.parse(text) as Json)

test('operations of RFC 6902', (t) => {
  t.deepEqual(
    apply({ a: [1, 2] }, [
      { op: 'add', path: '/a/1', value: 9 },
      { op: 'add', path: '/a/-', value: 3 },
    ]),
    { a: [1, 9, 2, 3] },
  )
  t.deepEqual(
    apply({ a: 1, b: { c: 2 } }, [
      { op: 'move', from: '/b/c', path: '/d' },
      { op: 'copy', from: '/a', path: '/e' },
      { op: 'remove', path: '/b' },
    ]),
    { a: 1, d: 2, e: 1 },
  )
  t.deepEqual(
    apply({ 'a/b': 1, 'c~d': 2 }, [
      { op: 'replace', path: '/a~1b', value: 3 },
      { op: 'test', path: '/c~0d', value: 2 },
    ]),
    { 'a/b': 3, 'c~d': 2 },
  )
  t.deepEqual(apply({ a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }]), { b: 2 })
})

const refused: readonly (readonly [string, Json, Json])[] = [
  ['a patch that is no list', {}, { op: 'add' }],
  ['an operation that is no object', {}, ['add']],
  ['an unknown op', {}, [{ op: 'merge', path: '/a', value: 1 }]],
  ['the op of the library alone', {}, [{ op: '_get', path: '/a' }]],
  ['a value that is missing', {}, [{ op: 'add', path: '/a' }]],
  ['a path that does not begin with a slash', {}, [{ op: 'add', path: 'a', value: 1 }]],
  ['a tilde that escapes nothing', {}, [{ op: 'add', path: '/a~2', value: 1 }]],
  ['a parent that is not there', {}, [{ op: 'add', path: '/a/b', value: 1 }]],
  ['an index behind the end', { a: [] }, [{ op: 'add', path: '/a/1', value: 1 }]],
  ['an index with a leading zero', { a: [1, 2] }, [{ op: 'replace', path: '/a/01', value: 1 }]],
  ['the length of a list', { a: [1, 2] }, [{ op: 'replace', path: '/a/length', value: 0 }]],
  ['a test that fails', { a: 1 }, [{ op: 'test', path: '/a', value: 2 }]],
  ['a move into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/c' }]],
  ['a removal of everything', { a: 1 }, [{ op: 'remove', path: '' }]],
  ['__proto__', {}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }]],
  ['constructor/prototype', {}, [{ op: 'add', path: '/constructor/prototype/polluted', value: 1 }]],
  ['an inherited function', {}, [{ op: 'add', path: '/toString/polluted', value: 1 }]],
  ['a copy of what is inherited', {}, [{ op: 'copy', from: '/toString', path: '/a' }]],
  ['a copy from __proto__', {}, [{ op: 'copy', from: '/__proto__', path: '/a' }]],
]
for (const [what, document, patch] of refused) {
  test(`a patch is refused for ${what}`, (t) => {
    t.regex(String(apply(document, patch)), /^refused: /)
    t.is(({} as Record<string, unknown>)['polluted'], undefined)
    t.is((Object.prototype.toString as unknown as Record<string, unknown>)['polluted'], undefined)
  })
}

test('removing an absent value is skipped only where requested', (t) => {
  t.deepEqual(
    apply(
      { a: 1 },
      [
        { op: 'remove', path: '/b/c' },
        { op: 'remove', path: '/a' },
      ],
      { tolerateMissing: true },
    ),
    {},
  )
  t.regex(String(apply({ a: 1 }, [{ op: 'replace', path: '/b', value: 1 }], { tolerateMissing: true })), /Operation 0/)
})

test('copies of copies end', (t) => {
  const doubling = [
    { op: 'add', path: '/a', value: Array(1000).fill(1) as Json },
    ...Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/c${i}` })),
  ]
  t.regex(String(apply({}, doubling)), /refused/)
  t.regex(
    String(
      apply(
        {},
        Array.from({ length: 10_001 }, () => ({ op: 'add', path: '/a', value: 1 })),
      ),
    ),
    /10000/,
  )
})

test('big integers pass', (t) => {
  t.deepEqual(
    apply({ a: 9007199254740993n }, [
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/c', value: 9007199254740995n },
    ]),
    { a: 9007199254740993n, b: 9007199254740993n, c: 9007199254740995n },
  )
  t.deepEqual(patches.between({ a: 1n }, { a: 1n }), [])
})

test('the difference of two documents transforms one into the other', (t) => {
  fc.assert(
    fc.property(jsonPatchesJson, jsonPatchesJson, (from, to) => {
      const before = JSON.stringify([from, to])
      t.deepEqual(apply(from, patches.between(from, to)), to)
      t.is(JSON.stringify([from, to]), before)
    }),
    { numRuns: 300 },
  )
})

const ranges: readonly (readonly [string, string, boolean])[] = [
  ['1.2.3', '', true],
  ['1.2.3', '*', true],
  ['1.2.3', '1.2.3', true],
  ['v1.2.3', '1.2.3', true],
  ['1.2', '1.2.0', true],
  ['1.9.9', '^1.2', true],
  ['2.0.0', '^1.2', false],
  ['0.2.9', '^0.2.3', true],
  ['0.3.0', '^0.2.3', false],
  ['1.2.9', '~1.2.3', true],
  ['1.3.0', '~1.2.3', false],
  ['1.9.0', '~1', true],
  ['1.2.9', '~> 1.2.3', true],
  ['2.3.9', '1.2 - 2.3', true],
  ['2.4.0', '1.2 - 2.3', false],
  ['2.3.5', '1.2.0 - 2.3.4', false],
  ['1.5.0', '>=1.2, <2', true],
  ['2.0.0', '>=1.2, <2', false],
  ['1.5.0', '>= 1.2 < 2', true],
  ['3.0.0', '<2 || >=3', true],
  ['1.2.3', '!=1.2.3', false],
  ['1.2.4', '!=1.2.3', true],
  ['1.5.0', '>=1.0.0, !=1.5.0', false],
  ['1.5.1', '>=1.0.0, !=1.5.0', true],
  ['1.2.3', '1.2.x', true],
  ['1.3.0', '1.2.x', false],
  ['1.2.5', '1.2', true],
  ['1.3.0', '>1.2', true],
  ['1.2.9', '>1.2', false],
  ['1.2.3-beta.1', '*', false],
  ['1.2.3-beta.1', '^1.2', false],
  ['1.2.3-beta.1', '>0.0.0-0', true],
  ['1.2.3-beta.1', '>=1.2.3-alpha', true],
  ['1.3.0-rc1', '^1.2.0-0', true],
  ['2.0.0-rc1', '^1.2.0-0', false],
  ['1.2.3+build', '1.2.3', true],
  ['nonsense', '*', false],
  ['1.2.3', 'nonsense', false],
  ['1.2.3', '>=', false],
  ['1.2.3', `>=1 ${'1'.repeat(300)}`, false],
]
for (const [version, range, expected] of ranges)
  test(`${version} is ${expected ? '' : 'not '}in "${range.slice(0, 40)}"`, (t) =>
    t.is(isInRange(version, range), expected))

test('the newest stable version is the default', (t) => {
  const versions = ['1.0.0', '2.0.0-rc.1', '1.10.0', 'v1.9.0', 'latest', '1.10.0-beta']
  t.is(chooseVersion(versions, ''), '1.10.0')
  t.is(chooseVersion(versions, '>0.0.0-0'), '2.0.0-rc.1')
  t.is(chooseVersion(versions, '~1.9'), 'v1.9.0')
  t.is(chooseVersion(versions, '1.10.0-beta'), '1.10.0-beta')
  t.is(chooseVersion(versions, '3'), undefined)
  t.is(chooseVersion([], ''), undefined)
})

test('versions are sorted by their numbers', (t) => {
  t.deepEqual(newestFirst(['1.2.0', '1.10.0', 'x', '1.2.0-a', 'v2']), ['v2', '1.10.0', '1.2.0', '1.2.0-a'])
})

test('no text makes a range throw', (t) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (version, range) => t.is(typeof isInRange(version, range), 'boolean')),
  )
})
