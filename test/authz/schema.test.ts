import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { compileSchema, relationBit, relationNames } from '../../core/authz/schema.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import type { ObjectTypeDefinition, PermissionDefinition } from '../../core/kernel/access.ts'
import type { ScopeSet } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { compiled, schema } from './catalogue.ts'

const permission = (changes: Partial<PermissionDefinition> = {}): PermissionDefinition => ({
  namespace: 'ship_mgmt',
  action: 'view ships',
  description: '',
  level: 'read',
  ...changes,
})
const ship = (changes: Partial<ObjectTypeDefinition> = {}): ObjectTypeDefinition => ({
  type: 'ship',
  listed: true,
  scope: 'cluster',
  reading: ['can_view'],
  relations: { can_view: [{ by: 'member' }] },
  ...changes,
})

const cabin = (changes: Partial<ObjectTypeDefinition> = {}): ObjectTypeDefinition =>
  ship({
    type: 'cabin',
    place: { in: { type: 'ship' }, key: 'name', rows: 'own' },
    relations: { can_view: [{ by: 'container', relation: 'can_view' }] },
    ...changes,
  })
const placed = ship({ place: { in: 'account', key: 'name', rows: 'own' } })

const refusals: Readonly<Record<string, readonly [Catalogue, RegExp]>> = {
  'a permission twice': [
    { permissions: [permission(), permission()], objectTypes: [] },
    /ship_mgmt\/view ships is declared twice/,
  ],
  'a relation twice': [{ permissions: [], objectTypes: [ship(), ship()] }, /relation ship.can_view is declared twice/],
  'contributions that disagree': [
    { permissions: [], objectTypes: [ship(), ship({ listed: false, reading: [], relations: { can_sail: [] } })] },
    /disagree/,
  ],
  'an unknown permission in a relation': [
    {
      permissions: [],
      objectTypes: [ship({ relations: { can_view: [{ by: 'permission', namespace: 'ship_mgmt', action: 'sink' }] } })],
    },
    /unknown permission/,
  ],
  'an unknown companion': [
    {
      permissions: [permission({ associated: [{ namespace: 'ship_mgmt', action: 'sink', required: false }] })],
      objectTypes: [],
    },
    /no plugin declares/,
  ],
  'a reading relation that is not there': [
    { permissions: [], objectTypes: [ship({ reading: ['can_look'] })] },
    /can_look/,
  ],
  'relations without can_view': [
    { permissions: [], objectTypes: [ship({ reading: [], relations: { can_sail: [] } })] },
    /no relation can_view/,
  ],
  'two places of one type': [
    { permissions: [], objectTypes: [placed, { ...placed, reading: [], relations: { can_sail: [] } }] },
    /place of the type ship is declared twice/,
  ],
  'a container without rows in an account': [
    {
      permissions: [],
      objectTypes: [
        placed,
        cabin(),
        { ...cabin(), type: 'berth', place: { in: { type: 'cabin' }, key: 'id', rows: 'own' } },
      ],
    },
    /berth is inside cabin/,
  ],
  'a container that no plugin declares': [
    { permissions: [], objectTypes: [cabin({ relations: { can_view: [] } })] },
    /cabin is inside ship/,
  ],
  'a listed type without rows': [
    {
      permissions: [],
      objectTypes: [placed, cabin({ place: { in: { type: 'ship' }, key: 'name', rows: 'container' } })],
    },
    /cabin has no rows/,
  ],
  'a relation that the container does not have': [
    {
      permissions: [],
      objectTypes: [placed, cabin({ relations: { can_view: [{ by: 'container', relation: 'can_sail' }] } })],
    },
    /takes can_sail from its container/,
  ],
  'a name in another case': [{ permissions: [permission({ namespace: 'ShipMgmt' })], objectTypes: [] }, /lower-case/],
}

for (const [title, [catalogue, message]] of Object.entries(refusals)) {
  test(`refuses ${title}`, (t) => {
    const result = compileSchema(catalogue)
    t.true(isLeft(result) && result.left.some((problem) => message.test(problem)))
  })
}

test('joins contributions to one type, relations sorted', (t) => {
  const joined = compiled({
    permissions: [],
    objectTypes: [
      ship({ relations: { can_view: [{ by: 'member' }], can_sail: [] } }),
      ship({ reading: [], scope: 'billing', relations: { can_charter: [] } }),
    ],
  })
  t.deepEqual(joined.types.get('ship')?.relations, ['can_charter', 'can_sail', 'can_view'])
  t.deepEqual(joined.listedTypes, ['ship'])
})

test('a token reaches a contributed relation by its own scope', (t) => {
  const joined = compiled({
    permissions: [],
    objectTypes: [
      ship({ relations: { can_view: [], can_sail: [] } }),
      ship({ reading: [], scope: 'billing', relations: { can_charter: [] } }),
    ],
  }).types.get('ship')
  const within = (scopes: Partial<ScopeSet>) =>
    joined === undefined
      ? []
      : relationNames(joined, joined.withinScope({ all: false, sudo: false, publicOnly: false, levels: {}, ...scopes }))
  t.deepEqual(within({}), [])
  t.deepEqual(within({ levels: { cluster: 'read' } }), ['can_view'])
  t.deepEqual(within({ levels: { cluster: 'write' } }), ['can_sail', 'can_view'])
  t.deepEqual(within({ levels: { billing: 'read' } }), [])
  t.deepEqual(within({ levels: { billing: 'write' } }), ['can_charter'])
  t.deepEqual(within(fullScope), ['can_charter', 'can_sail', 'can_view'])
})

test('a type may have more relations than a 32-bit or 53-bit mask holds', (t) => {
  const relations = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`can_${'a'.repeat(index + 1)}`, [{ by: 'member' as const }]]),
  )
  const type = compiled({
    permissions: [],
    objectTypes: [ship({ reading: [], relations: { ...relations, can_view: [{ by: 'member' }] } })],
  }).types.get('ship')
  t.is(type && relationNames(type, type.byMembership).length, 61)
})

test('the listed types are those of the specification', (t) => {
  t.deepEqual(schema.listedTypes, ['cluster', 'contract', 'organization', 'robot_ac', 'team', 'token', 'user'])
})

test('asking for a relation that a type does not have is a mistake of the build', (t) => {
  const cluster = schema.types.get('cluster')
  t.throws(() => cluster && relationBit(cluster, 'can_fly'), { message: /no relation can_fly/ })
})
