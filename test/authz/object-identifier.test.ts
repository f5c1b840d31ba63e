import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { parseObjectIdentifiers } from '../../core/authz/allowed-permissions.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { schema } from './catalogue.ts'

const own = 5 as UserId
const parse = (objectType: unknown, objectID: unknown) =>
  parseObjectIdentifiers(schema, own, [{ objectType, objectID }], (index) => `element ${index}: `)

const listed = fc.constantFrom(...schema.listedTypes.filter((type) => type !== 'user'))
const goodId = fc.oneof(
  fc.integer({ min: 1 }),
  fc
    .maxSafeNat()
    .map((id) => id + 1)
    .filter(Number.isSafeInteger),
  fc.bigInt(2n ** 53n, 2n ** 63n - 1n),
)
const badId = fc.oneof(
  fc.integer({ max: 0 }),
  fc.double({ noInteger: true }),
  fc.constantFrom(Number.NaN, Infinity, 2 ** 53, 2n ** 63n, 0n, -1n, '1', null, true, [], {}, Object(1)),
)

test('every listed type with an id of 1 to 2^63-1 is taken as it is', (t) => {
  fc.assert(
    fc.property(listed, goodId, (type, id) => {
      const parsed = parse(type, id)
      t.deepEqual(isRight(parsed) && parsed.right, [{ type, id }])
    }),
  )
})

test('every other id is refused', (t) => {
  fc.assert(fc.property(listed, badId, (type, id) => t.true(isLeft(parse(type, id)))))
})

test('every other type is refused', (t) => {
  const others = fc.anything().filter((type) => !schema.listedTypes.includes(type as string))
  fc.assert(fc.property(others, (type) => t.true(isLeft(parse(type, 1)))))
})

test('the type user takes the own id only', (t) => {
  t.true(isRight(parse('user', 5)))
  t.true(isLeft(parse('user', 6)))
  t.true(isLeft(parse('user', 2n ** 60n)))
})

test('the first bad element is named', (t) => {
  const good = { objectType: 'team', objectID: 1 }
  const parsed = parseObjectIdentifiers(
    schema,
    own,
    [good, good, { objectType: 'team', objectID: 0 }, { objectType: 'x', objectID: 0 }],
    (index) => `#${index} `,
  )
  t.regex(isLeft(parsed) ? parsed.left.message : '', /^#2 invalid object id/)
})
