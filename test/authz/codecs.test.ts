import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { Any } from 'io-ts'
import {
  AuthObjectAllowedPermissions,
  AuthObjectIdentifiers,
  CreateRoleRequest,
  ObjectPath,
  RolePrincipalResponse,
  RoleResponse,
  UpdateRoleRequest,
} from '../../plugins/authz/codecs.ts'

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const word = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed() && !text.includes('\0'))
const permissions = fc.array(fc.record({ namespace: word, action: word }), { maxLength: 5 })
const instant = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2999-01-01') })

/** What arrives of a value that is sent as JSON. */
const overTheWire = (value: unknown): unknown => {
  const text = JSON.stringify(value)
  return JSON.parse(text)
}

const roundTrips = (title: string, codec: Any, values: fc.Arbitrary<unknown>): void =>
  test(`${title} survives encoding and decoding`, (t) => {
    fc.assert(
      fc.property(values, (value) => {
        const decoded = codec.decode(overTheWire(codec.encode(value)))
        t.deepEqual(isRight(decoded) && overTheWire(decoded.right), overTheWire(value))
      }),
    )
  })

const create = fc.record({ name: word, permissions, description: word, teamIDs: fc.array(id, { maxLength: 5 }) })
roundTrips('CreateRoleRequest', CreateRoleRequest, create)
roundTrips(
  'UpdateRoleRequest',
  UpdateRoleRequest,
  fc.record({ name: word, permissions, description: word, teamIDs: fc.array(id) }, { requiredKeys: [] }),
)
roundTrips(
  'AuthObjectIdentifiers',
  AuthObjectIdentifiers,
  fc.array(fc.record({ objectType: fc.jsonValue(), objectID: fc.jsonValue() })),
)
roundTrips(
  'AuthObjectAllowedPermissions',
  AuthObjectAllowedPermissions,
  fc.record({ objectType: word, objectID: id, allowedPermissions: fc.array(word) }),
)
roundTrips(
  'RoleResponse',
  RoleResponse,
  fc.record({
    id,
    name: word,
    owner_id: id,
    description: word,
    permissions,
    team_ids: fc.array(id),
    created_at: instant,
    updated_at: instant,
  }),
)
roundTrips(
  'RolePrincipal',
  RolePrincipalResponse,
  fc.record(
    { type: fc.constantFrom('user', 'team'), id, name: word, display_name: word, via_team_id: id },
    { requiredKeys: ['type', 'id', 'name', 'display_name'] },
  ),
)

test('request codecs drop unknown keys and accept null for an optional key', (t) => {
  const decoded = CreateRoleRequest.decode({
    name: 'x',
    permissions: [{ namespace: 'a', action: 'b', level: 'owner' }],
    id: 7,
    owner_id: 1,
    teamIDs: null,
  })
  t.deepEqual(isRight(decoded) && overTheWire(decoded.right), {
    name: 'x',
    permissions: [{ namespace: 'a', action: 'b' }],
  })
})

for (const body of [
  {},
  [],
  null,
  { name: 'x' },
  { name: ['x'], permissions: [] },
  { name: { $ne: '' }, permissions: [] },
  { name: 'x', permissions: {} },
  { name: 'x', permissions: ['a/b'] },
  { name: 'x', permissions: [{ namespace: 'a' }] },
  { name: 'x', permissions: [], teamIDs: ['1'] },
  { name: 'x', permissions: [], teamIDs: [1.5] },
  { name: 'x', permissions: [], teamIDs: Array.from({ length: 501 }, (_, index) => index + 1) },
  { name: 'x\0', permissions: [] },
  { name: 'x', permissions: [], description: 'd'.repeat(1001) },
]) {
  test(`CreateRoleRequest refuses ${JSON.stringify(body).slice(0, 60)}`, (t) =>
    t.true(isLeft(CreateRoleRequest.decode(body))))
}

test('an object id in a path is kept exactly up to 2^63-1', (t) => {
  const read = (objID: unknown) => {
    const decoded = ObjectPath.decode({ objectType: 'team', objID })
    return isRight(decoded) ? decoded.right.objID : undefined
  }
  fc.assert(fc.property(fc.bigInt(1n, 2n ** 63n - 1n), (exact) => t.is(BigInt(read(String(exact)) ?? 0), exact)))
  for (const text of ['0', '01', '-1', '+1', '1.0', '1e3', '', ' 1', '0x1', '9223372036854775808', 1, null])
    t.is(read(text), undefined)
})
