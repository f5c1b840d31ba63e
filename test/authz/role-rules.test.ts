import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { compileSchema } from '../../core/authz/schema.ts'
import { mayGivePermissions, parseRoleName, parseRolePermissions } from '../../core/authz/role-rules.ts'
import type { AccessContext } from '../../core/kernel/access.ts'
import { permissionKey, levels } from '../../core/kernel/access.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { rightsOf } from '../../core/kernel/rights.ts'
import { tagOf } from '../support/outcome.ts'
import { schema } from './catalogue.ts'

const maxRoleNameLength = 100

const anyPermission = fc.constantFrom(...schema.permissions)
const anyContext: fc.Arbitrary<AccessContext> = fc.record({
  accountId: fc.constant(11 as AccountId),
  accountKind: fc.constant('organization'),
  accountName: fc.constant('org'),
  isOpen: fc.boolean(),
  isPublic: fc.boolean(),
  isMember: fc.boolean(),
  level: fc.constantFrom(...levels),
  permissions: fc.array(anyPermission).map((all) => new Set(all.map(permissionKey))),
  teamIds: fc.constant([]),
})

for (const [text, name] of [
  ['Viewers', 'Viewers'],
  ['  two words ', 'two words'],
  ['e\u0301', '\u00e9'],
  ['x'.repeat(maxRoleNameLength), 'x'.repeat(maxRoleNameLength)],
] as const) {
  test(`the name ${JSON.stringify(text.slice(0, 12))} is taken`, (t) => {
    const parsed = parseRoleName(text)
    t.is(isRight(parsed) && parsed.right, name)
  })
}

for (const text of ['', '   ', 'x'.repeat(maxRoleNameLength + 1), 'a\nb', 'a\u200bb', 'a\u202eb', 'a\u0000b']) {
  test(`the name ${JSON.stringify(text.slice(0, 12))} is refused`, (t) =>
    t.is(tagOf(parseRoleName(text)), 'RoleNameRefused'))
}

test('a list of permissions must contain all companions, once and sorted', (t) => {
  fc.assert(
    fc.property(fc.array(anyPermission, { minLength: 1 }), (wanted) => {
      const keys = new Set(wanted.map(permissionKey))
      const isComplete = wanted.every((one) =>
        (one.associated ?? []).every((other) => !other.required || keys.has(permissionKey(other))),
      )
      const parsed = parseRolePermissions(schema, [...wanted, ...wanted])
      t.is(isRight(parsed), isComplete)
      if (isRight(parsed)) t.deepEqual(parsed.right.map(permissionKey), [...keys].sort())
    }),
  )
})

test('a required companion must be in the same role, and an optional one need not be', (t) => {
  const ref = (action: string) => ({ namespace: 'ship_mgmt', action })
  const associated = [
    { ...ref('view ships'), required: true },
    { ...ref('name ships'), required: false },
  ]
  const permissions = ['sail ships', 'view ships', 'name ships'].map((action) => ({
    ...ref(action),
    description: '',
    level: 'read' as const,
    ...(action === 'sail ships' ? { associated } : {}),
  }))
  const compiledShips = compileSchema({ permissions, objectTypes: [] })
  if (isLeft(compiledShips)) return t.fail(compiledShips.left.join())
  const parsed = parseRolePermissions(compiledShips.right, [ref('sail ships')])
  t.deepEqual(isLeft(parsed) && parsed.left.errors, ['ship_mgmt: sail ships requires ship_mgmt: view ships'])
  t.true(isRight(parseRolePermissions(compiledShips.right, [ref('sail ships'), ref('view ships')])))
})

test('an unknown permission is refused before a missing companion, and named', (t) => {
  const parsed = parseRolePermissions(schema, [
    { namespace: 'cluster_mgmt', action: 'connect to clusters' },
    { namespace: 'cluster_mgmt', action: 'constructor' },
  ])
  t.true(isLeft(parsed) && parsed.left.tag === 'PermissionUnknown')
  t.deepEqual(isLeft(parsed) && parsed.left.errors, ['cluster_mgmt: constructor'])
})

test('a member can grant only rights that the member has', (t) => {
  fc.assert(
    fc.property(anyContext, fc.array(anyPermission, { minLength: 1 }), (context, permissions) => {
      const rights = rightsOf(false, context, schema)
      const holdsAll = permissions.every((one) => rights.holds(one))
      t.is(isRight(mayGivePermissions(rights, permissions)), holdsAll)
      t.true(isRight(mayGivePermissions(rightsOf(true, context, schema), permissions)))
      t.true(context.isMember || !holdsAll)
    }),
  )
})
