import test from 'ava'
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { mergeTables, overridePatch } from '../../../core/formats/helm/value-tables.ts'

const overridePatchCases: readonly (readonly [string, FreeObject, FreeObject, readonly unknown[]])[] = [
  ['nothing', { a: 1 }, {}, []],
  ['the same', { a: { b: [1, { c: null }] } }, { a: { b: [1, { c: null }] } }, []],
  ['another value', { a: 1 }, { a: 2 }, [{ op: 'replace', path: '/a', value: 2 }]],
  ['a new key', { a: 1 }, { b: { c: 1 } }, [{ op: 'add', path: '/b', value: { c: 1 } }]],
  ['a key below', { a: { b: 1, c: 2 } }, { a: { c: 3 } }, [{ op: 'replace', path: '/a/c', value: 3 }]],
  ['a list as a whole', { a: [1, 2, 3] }, { a: [1] }, [{ op: 'replace', path: '/a', value: [1] }]],
  ['a map in place of a list', { a: [1] }, { a: {} }, [{ op: 'replace', path: '/a', value: {} }]],
  ['null over a default', { a: { b: 1 } }, { a: null }, [{ op: 'replace', path: '/a', value: null }]],
  ['null where there is none', {}, { a: null }, [{ op: 'add', path: '/a', value: null }]],
  ['null over null', { a: null }, { a: null }, []],
  [
    'signs of pointers',
    { 'a/b': { '~c': 1 } },
    { 'a/b': { '~c': 2 } },
    [{ op: 'replace', path: '/a~1b/~0c', value: 2 }],
  ],
  [
    'names that objects inherit',
    {},
    { constructor: 1, toString: 2 },
    [
      { op: 'add', path: '/constructor', value: 1 },
      { op: 'add', path: '/toString', value: 2 },
    ],
  ],
]
for (const [what, values, overrides, patch] of overridePatchCases)
  test(`overrides as a patch: ${what}`, (t) => t.deepEqual(overridePatch(values, overrides), patch as never))

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as Json)
const map = fc
  .dictionary(
    fc.oneof(fc.constantFrom('a', 'b', 'a/b', '~', '', '0'), fc.string()).filter((key) => key !== '__proto__'),
    json,
    { maxKeys: 4 },
  )
  .map((value) => ({ ...value }) as FreeObject)

test("the patch applied to the defaults gives Helm's merge", (t) => {
  fc.assert(
    fc.property(map, map, (values, overrides) => {
      const patch = overridePatch(values, overrides)
      for (const { op } of patch) t.true(op === 'add' || op === 'replace')
      t.deepEqual(fastJsonPatches.apply(values, patch as Json), right(mergeTables(values, overrides)))
      t.deepEqual(overridePatch(mergeTables(values, overrides), overrides), [])
    }),
  )
})
