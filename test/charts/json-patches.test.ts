import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { fastJsonPatches as patches } from '../../adapters/charts/json-patches.ts'
import type { Json } from '../../core/kernel/json.ts'

const apply = (document: Json, patch: Json, options?: { readonly tolerateMissing?: boolean }): Json | string => {
  const applied = patches.apply(document, patch, options)
  return isLeft(applied) ? `refused: ${applied.left.message}` : applied.right
}
const json = fc.json({ maxDepth: 3 }).filter((text) => !text.includes('__proto__')).map((text) => JSON.parse(text) as Json)

test('operations of RFC 6902', (t) => {
  t.deepEqual(apply({ a: [1, 2] }, [{ op: 'add', path: '/a/1', value: 9 }, { op: 'add', path: '/a/-', value: 3 }]), { a: [1, 9, 2, 3] })
  t.deepEqual(apply({ a: 1, b: { c: 2 } }, [{ op: 'move', from: '/b/c', path: '/d' }, { op: 'copy', from: '/a', path: '/e' }, { op: 'remove', path: '/b' }]), { a: 1, d: 2, e: 1 })
  t.deepEqual(apply({ 'a/b': 1, 'c~d': 2 }, [{ op: 'replace', path: '/a~1b', value: 3 }, { op: 'test', path: '/c~0d', value: 2 }]), { 'a/b': 3, 'c~d': 2 })
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

test('a removal of what is not there is skipped where that is asked for, and nothing else is', (t) => {
  t.deepEqual(apply({ a: 1 }, [{ op: 'remove', path: '/b/c' }, { op: 'remove', path: '/a' }], { tolerateMissing: true }), {})
  t.regex(String(apply({ a: 1 }, [{ op: 'replace', path: '/b', value: 1 }], { tolerateMissing: true })), /Operation 0/)
})

test('copies of copies end', (t) => {
  const doubling = [{ op: 'add', path: '/a', value: Array(1000).fill(1) as Json }, ...Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/c${i}` }))]
  t.regex(String(apply({}, doubling)), /refused/)
  t.regex(String(apply({}, Array.from({ length: 10_001 }, () => ({ op: 'add', path: '/a', value: 1 })))), /10000/)
})

test('big integers pass', (t) => {
  t.deepEqual(apply({ a: 9007199254740993n }, [{ op: 'copy', from: '/a', path: '/b' }, { op: 'add', path: '/c', value: 9007199254740995n }]), { a: 9007199254740993n, b: 9007199254740993n, c: 9007199254740995n })
  t.deepEqual(patches.between({ a: 1n }, { a: 1n }), [])
})

test('what is between two documents leads from one to the other, and changes neither', (t) => {
  fc.assert(fc.property(json, json, (from, to) => {
    const before = JSON.stringify([from, to])
    t.deepEqual(apply(from, patches.between(from, to)), to)
    t.is(JSON.stringify([from, to]), before)
  }), { numRuns: 300 })
})
