import test from 'ava'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { own } from '../../core/kernel/json.ts'
import { findAttribute, userShape } from '../../plugins/provisioning/scim/attributes.ts'
import { parseFilter } from '../../plugins/provisioning/scim/filter.ts'
import type { Find } from '../../plugins/provisioning/scim/resource.ts'
import { fulfils } from '../../plugins/provisioning/scim/resource.ts'

const ann: FreeObject = {
  userName: 'Ann@acme.example',
  externalId: 'A-1',
  active: true,
  name: { givenName: 'Ann' },
  emails: [
    { value: 'ann@acme.example', type: 'work' },
    { value: 'ann@home.example', type: 'home' },
  ],
  meta: { created: '2026-01-02T03:04:05.000Z' },
}

const find: Find = (path) => {
  const place = findAttribute(userShape, path)
  if (place === undefined) return undefined
  const value = own(ann, place.attribute.name)
  const values = value === undefined ? [] : Array.isArray(value) ? (value as readonly Json[]) : [value]
  const { part } = place
  return part === undefined
    ? { attribute: place.attribute, values }
    : { attribute: part, values: values.map((each) => own(each as FreeObject, part.name) ?? null) }
}

const holds = (text: string): boolean | string => {
  const filter = parseFilter(text)
  return isLeft(filter) ? filter.left : fulfils(filter.right, find)
}

for (const [text, isTrue] of [
  ['userName eq "ann@ACME.example"', true],
  ['USERNAME EQ "bob"', false],
  ['externalId eq "a-1"', false],
  ['externalId eq "A-1"', true],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ann"', true],
  ['name.givenName co "NN"', true],
  ['title pr', false],
  ['not (title pr)', true],
  ['title ne "x"', true],
  ['active eq true', true],
  ['active eq "true"', false],
  ['emails.value ew "home.example"', true],
  ['emails[type eq "work" and value co "home"]', false],
  ['emails[type eq "home" and value co "home"]', true],
  ['meta.created gt "2026-01-01T00:00:00Z"', true],
  ['meta.created lt "2026-01-02T04:04:05+01:00"', false],
  ['userName eq "bob" or active eq true and externalId eq "A-1"', true],
  ['(userName eq "bob" or active eq true) and externalId eq "x"', false],
  ['userName eq "a\\"b"', false],
] as const)
  test(`${text} is ${String(isTrue)}`, (t) => {
    t.is(holds(text), isTrue)
  })

test('and binds closer than or, and not closest', (t) => {
  const compare = (path: string) => ({ kind: 'compare', path, by: 'eq', value: 1 }) as const
  t.deepEqual(
    parseFilter('a eq 1 or not (b eq 1) and c eq 1'),
    right({
      kind: 'either',
      of: [compare('a'), { kind: 'both', of: [{ kind: 'not', of: compare('b') }, compare('c')] }],
    }),
  )
})

test('a wrong filter is refused with its reason', (t) => {
  for (const [text, reason] of [
    ['', /ends too early/],
    ['userName', /one of eq/],
    ['userName eq', /before a value/],
    ['userName eq ann', /double quotes/],
    ['userName eq "ann', /double quote is missing/],
    ['userName xx "a"', /one of eq/],
    ['(userName eq "a"', /\) is missing/],
    ['userName eq "a" "b"', /not expected/],
    ['9 eq "a"', /not an attribute/],
    [`${'('.repeat(50)}a pr${')'.repeat(50)}`, /levels/],
    [`userName eq "${'x'.repeat(3000)}"`, /longer/],
  ] as const)
    t.regex(String(holds(text)), reason, text.slice(0, 40))
})
