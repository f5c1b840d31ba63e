import fc from 'fast-check'
import test from 'ava'
import * as io from 'io-ts'
import { freeText, FreeObjectCodec, listOf, noted, optional, request } from '../../plugins/kit/codecs.ts'
import { namesNear, shapeOf, unknownFields } from '../../plugins/kit/unknown-fields.ts'
import { declaredRoutes } from '../support/declared-routes.ts'

const pathsOf = (codec: io.Any, value: unknown): readonly string[] =>
  unknownFields(shapeOf(codec), value).map(({ path }) => path)

test('the example of each body has known fields only', (t) => {
  for (const { bound } of declaredRoutes()) {
    if (bound.kind === 'json' && bound.route.body !== undefined)
      t.deepEqual(pathsOf(bound.route.body.codec, bound.route.body.example), [], bound.route.id)
  }
})

test('an unknown field of any body is found, unless the body is read whole', (t) => {
  let read = 0
  for (const { bound } of declaredRoutes()) {
    if (bound.kind !== 'json' || bound.route.body === undefined) continue
    const { codec, example } = bound.route.body
    const [isList, shape] = [Array.isArray(example), shapeOf(codec)]
    const object = isList ? (example as readonly object[])[0] : (example as object)
    const value = { ...object, 'never a field': 1 }
    const found = pathsOf(codec, isList ? [value] : value)
    if (found.length === 0)
      t.true(shape === undefined || (shape.kind === 'object' && !shape.dropsOthers), bound.route.id)
    else {
      read += 1
      t.deepEqual(found, [isList ? '0.never a field' : 'never a field'], bound.route.id)
    }
  }
  t.true(read > 60, String(read))
})

const Inner = request({ first: optional(freeText()), second: optional(FreeObjectCodec) }, 'Inner')
const Outer = request(
  {
    one: noted(Inner, { description: 'one' }),
    many: optional(listOf(Inner, 5)),
    array: io.readonlyArray(Inner),
    nullable: io.union([Inner, io.null]),
    either: io.union([Inner, request({ third: freeText() }, 'Third')]),
    both: io.intersection([Inner, request({ third: freeText() }, 'Third')]),
    free: io.intersection([FreeObjectCodec, Inner]),
    open: io.type({ first: io.string }),
    refined: io.refinement(Inner, () => true),
  },
  'Outer',
)

test('fields are looked for where values are read, and only there', (t) => {
  const some = { first: '', x: 1 }
  const value = {
    one: some,
    many: [some],
    array: [{ first: '' }, some],
    nullable: some,
    either: { ...some, third: '' },
    both: { ...some, third: '' },
    free: some,
    open: some,
    refined: some,
  }
  t.deepEqual(pathsOf(Outer, value), [
    'one.x',
    'many.0.x',
    'array.1.x',
    'nullable.x',
    'either.x',
    'both.x',
    'refined.x',
  ])
  t.deepEqual(
    pathsOf(Outer, { one: { second: { anything: { at: 'all' } } }, nullable: null, many: 'text', array: { x: 1 } }),
    [],
  )
  for (const other of [null, undefined, 7, 'text', [some], new Number(1)]) t.deepEqual(pathsOf(Outer, other), [])
  t.deepEqual(pathsOf(FreeObjectCodec, some), [])
})

test('unknown fields are named once, at most 20, misspelt ones first', (t) => {
  const Names = request({ visibility: optional(freeText()) }, 'Names')
  t.deepEqual(
    unknownFields(shapeOf(listOf(Names, 9)), [{ visibility: '', visibilty: '' }, { x: 1, visibilty: '' }, { x: 1 }]),
    [
      { path: '1.visibilty', meant: 'visibility' },
      { path: '1.x', meant: undefined },
    ],
  )
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field ${index}`, 1]))
  const found = unknownFields(shapeOf(Names), { ...many, Visibility: 1 })
  t.is(found.length, 20)
  t.deepEqual(found[0], { path: 'Visibility', meant: 'visibility' })
})

test('the keys of an object are never those of its prototype', (t) => {
  const Names = request({ toString: optional(freeText()) }, 'Names')
  t.deepEqual(unknownFields(shapeOf(Names), { to_string: 1, constructor: 1 }), [
    { path: 'to_string', meant: 'toString' },
    { path: 'constructor', meant: undefined },
  ])
})

const word = fc.stringMatching(/^[a-z]{6,20}$/)
const near = (name: string, other: string): boolean => namesNear(name, [other]).length === 1

test('a name is near when it differs in case, separators or one letter', (t) => {
  fc.assert(
    fc.property(word, fc.nat(), fc.constantFrom(...'bcdxyz'), (name, seed, letter) => {
      const at = seed % name.length
      const [head, tail] = [name.slice(0, at), name.slice(at)]
      t.true(near(name.toUpperCase(), name))
      t.true(near(`${head}_${tail}`, name))
      t.true(near(name, `${head}-${tail}`))
      t.true(near(head + letter + tail, name))
      t.true(near(name, head + letter + tail))
      t.true(near(head + letter + tail.slice(1), name))
      if (tail.length > 1) t.true(near(head + tail[1] + tail[0] + tail.slice(2), name))
      t.false(near(`${name}QQ`, name))
      t.false(near(`Q${name}Q`, name))
    }),
    { numRuns: 200 },
  )
  t.false(near('namee', 'name'), 'fewer than six letters')
  t.false(near('cluster', 'featureset'))
  t.true(near('visibilty', 'visibility'))
  t.deepEqual(namesNear('fullname', ['full_name', 'fullName', 'name']), ['full_name', 'fullName'])
})
