import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import { enterpriseSchema, userSchema, userShape } from '../../plugins/provisioning/scim/attributes.ts'
import { parseFilter } from '../../plugins/provisioning/scim/filter.ts'
import type { PatchOperation } from '../../plugins/provisioning/scim/patch.ts'
import { applyPatch } from '../../plugins/provisioning/scim/patch.ts'
import { readResource } from '../../plugins/provisioning/scim/resource.ts'

const ann: FreeObject = {
  userName: 'ann@acme.example',
  active: true,
  name: { givenName: 'Ann', familyName: 'Ay' },
  emails: [{ value: 'ann@acme.example', type: 'work', primary: true }],
}
const patched = (...operations: readonly PatchOperation[]) => {
  const result = applyPatch(userShape, ann, operations)
  return isLeft(result) ? result.left.type : result.right
}

test('Entra disables a user by the text False in three forms', (t) => {
  for (const operation of [
    { op: 'Replace', path: 'active', value: 'False' },
    { op: 'Replace', value: { active: 'False' } },
    { op: 'replace', path: `${userSchema}:active`, value: false },
  ])
    t.like(patched(operation), { active: false })
})

test('Entra adds the value of an element that does not exist', (t) => {
  const added = patched(
    { op: 'Add', path: 'emails[type eq "home"].value', value: 'ann@home.example' },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+47 1' },
  )
  t.deepEqual((added as FreeObject)['emails'], [
    { value: 'ann@acme.example', type: 'work', primary: true },
    { type: 'home', value: 'ann@home.example' },
  ])
  t.deepEqual((added as FreeObject)['phoneNumbers'], [{ type: 'mobile', value: '+47 1' }])
})

test('a PATCH without a path takes dotted keys and extension keys', (t) => {
  const changed = patched({
    op: 'Replace',
    value: {
      displayName: 'Ann Bee',
      'name.familyName': 'Bee',
      [`${enterpriseSchema}:department`]: 'Docks',
      [enterpriseSchema]: { manager: '7' },
      id: '99',
    },
  })
  t.deepEqual(changed, {
    ...ann,
    displayName: 'Ann Bee',
    name: { givenName: 'Ann', familyName: 'Bee' },
    [enterpriseSchema]: { department: 'Docks', manager: { value: '7' } },
  })
})

test('a replaced element keeps its other parts, and a missing one is noTarget', (t) => {
  t.like(patched({ op: 'replace', path: 'emails[type eq "work"].value', value: 'a@acme.example' }), {
    emails: [{ value: 'a@acme.example', type: 'work', primary: true }],
  })
  t.is(patched({ op: 'replace', path: 'emails[type eq "home"].value', value: 'x@y.example' }), 'noTarget')
})

test('a new primary value takes the place of the old one', (t) => {
  t.like(patched({ op: 'add', path: 'emails', value: [{ value: 'b@acme.example', primary: true }] }), {
    emails: [
      { value: 'ann@acme.example', type: 'work', primary: false },
      { value: 'b@acme.example', primary: true },
    ],
  })
})

test('remove takes an attribute, a part or matching elements', (t) => {
  t.deepEqual(
    Object.keys(patched({ op: 'remove', path: 'emails[value ew "ACME.example"]' }) as FreeObject).toSorted(),
    ['active', 'name', 'userName'],
  )
  t.like(patched({ op: 'remove', path: 'name.givenName' }), { name: { familyName: 'Ay' } })
  t.like(patched({ op: 'remove', path: 'emails', value: [{ value: 'other' }] }), { emails: ann['emails'] as object })
})

test('wrong operations are refused with their scimType', (t) => {
  for (const [operation, type] of [
    [{ op: 'move', path: 'title', value: 'x' }, 'invalidSyntax'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'remove', path: 'userName' }, 'invalidValue'],
    [{ op: 'replace', path: 'id', value: '9' }, 'mutability'],
    [{ op: 'add', path: 'favouriteColour', value: 'red' }, 'invalidPath'],
    [{ op: 'add', path: 'emails[type eq', value: 'red' }, 'invalidPath'],
    [{ op: 'add', path: 'title[value eq "x"]', value: 'red' }, 'invalidPath'],
    [{ op: 'replace', path: 'active', value: 'maybe' }, 'invalidValue'],
    [{ op: 'replace', path: 'title', value: 7 }, 'invalidValue'],
    [{ op: 'replace', value: 'x' }, 'invalidValue'],
    [{ op: 'add', path: 'title' }, 'invalidValue'],
  ] as const)
    t.is(patched(operation), type, JSON.stringify(operation))
})

test('attributes of other extensions are ignored', (t) => {
  t.deepEqual(patched({ op: 'add', path: 'urn:example:2.0:User:shoe', value: '9' }), ann)
})

test('a resource that is read again is unchanged, whatever was sent', (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('userName', 'EMAILS', 'active', 'name', 'x'), fc.jsonValue()), (sent) => {
      const read = readResource(userShape, { userName: 'a', ...sent } as FreeObject)
      if (isLeft(read)) return
      const again = readResource(userShape, read.right)
      t.deepEqual(again, read)
    }),
  )
})

test('any filter text is parsed or refused, and any path of a PATCH', (t) => {
  const words = fc.constantFrom(
    'userName',
    'eq',
    '"a"',
    'and',
    'or',
    'not',
    '(',
    ')',
    '[',
    ']',
    'pr',
    'true',
    '"',
    '7',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), (tokens) => {
      const text = tokens.join(' ')
      parseFilter(text)
      patched({ op: 'add', path: text, value: 'x' })
      t.pass()
    }),
  )
})
