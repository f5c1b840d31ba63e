import test from 'ava'
import type { Level, AccessContext } from '../../core/kernel/access.ts'
import { levels } from '../../core/kernel/access.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import { evaluate } from '../../core/authz/evaluate.ts'
import { relationNames } from '../../core/authz/schema.ts'
import type { ObjectFact } from '../../core/authz/types.ts'
import { schema } from './catalogue.ts'
import { expectedWays } from './expected-ways.ts'

const userId = 1 as UserId
const orgId = 11 as AccountId

const outsider: AccessContext = {
  accountId: orgId,
  accountKind: 'organization',
  accountName: 'org',
  isOpen: false,
  isPublic: false,
  isMember: false,
  level: 'none',
  permissions: new Set(),
  teamIds: [],
}
const member = (changes: Partial<AccessContext> = {}): AccessContext => ({ ...outsider, isMember: true, ...changes })

/** An object and what contains it, all of one owner. */
const object = (type: string, changes: Partial<ObjectFact> = {}): ObjectFact => {
  const container = schema.types.get(type)?.container
  const { ownerId = orgId } = changes
  return {
    type,
    id: type === 'organization' ? orgId : 99,
    name: 'thing',
    ownerId,
    granted: [],
    ...(container === undefined ? {} : { container: object(container.type, { ownerId }) }),
    ...changes,
  }
}

/** Whether someone of this context holds a relation, `type.relation`, on an object of the organization. */
const holds = (
  key: string,
  context: AccessContext,
  changes: Partial<ObjectFact> = {},
  isSiteAdmin = false,
): boolean => {
  const [name, relation] = key.split('.') as [string, string]
  const type = schema.types.get(name)
  if (type === undefined) throw new Error(`no type ${name}`)
  const mask = evaluate(type, { userId, isSiteAdmin, isConfined: false, context }, object(name, changes))
  return relationNames(type, mask).includes(relation)
}

const every = [...schema.types.values()].flatMap(({ type, relations }) =>
  relations.map((relation) => `${type}.${relation}`),
)

test('relations of the catalogue and lines of the table match one to one', (t) => {
  const lines = Object.keys(expectedWays)
  t.deepEqual(
    every.filter((key) => !lines.includes(key)),
    [],
    'add a line for each of these relations to test/authz/expected-ways.ts',
  )
  t.deepEqual(
    lines.filter((key) => !every.includes(key)),
    [],
    'no plugin declares these relations: remove their lines from test/authz/expected-ways.ts',
  )
})

for (const [key, ways] of Object.entries(expectedWays)) {
  test(`${key}: by level`, (t) => {
    for (const level of levels) {
      const isHigh = ways.level !== '-' && levels.indexOf(level) >= levels.indexOf(ways.level)
      t.is(holds(key, member({ level })), isHigh || ways.member === true, level)
      t.is(holds(key, { ...outsider, level: 'owner' as Level }), false, 'a level without membership counts for nothing')
    }
  })

  test(`${key}: by permission`, (t) => {
    const all = schema.permissions.map(({ namespace, action }) => `${namespace}/${action}`)
    for (const permission of all) {
      t.is(
        holds(key, member({ permissions: new Set([permission]) })),
        permission === ways.permission || ways.member === true,
        permission,
      )
    }
    t.is(holds(key, { ...outsider, permissions: new Set(all) }), false)
  })

  test(`${key}: by grant`, (t) => {
    for (const granted of ['viewer', 'editor', 'can_view', 'member', 'nothing_known']) {
      t.is(
        holds(key, member(), { granted: [granted] }),
        ways.grants?.includes(granted) === true || ways.member === true,
        granted,
      )
      t.is(holds(key, outsider, { granted: [granted] }), false)
    }
  })

  test(`${key}: by ownership, by being it, by signing in, as site admin`, (t) => {
    t.is(holds(key, outsider, { ownerId: userId }), ways.owner === true)
    t.is(holds(key, outsider, { id: userId }), ways.self === true)
    t.is(holds(key, { ...outsider, isOpen: true }), ways.signedIn === true)
    t.is(holds(key, outsider), false)
    t.true(holds(key, outsider, {}, true))
  })
}

test('a confined subject holds nothing outside of its account, and no right of its own', (t) => {
  const owners = member({ level: 'owner' })
  for (const type of schema.types.values()) {
    const held = (isConfined: boolean, changes: Partial<ObjectFact>) =>
      evaluate(type, { userId, isSiteAdmin: false, isConfined, context: owners }, object(type.type, changes))
    t.is(held(true, { ownerId: userId }), 0n, type.type)
    t.is(held(true, {}), held(false, {}), type.type)
  }
  const user = schema.types.get('user')
  if (user === undefined) return t.fail('no type user')
  const itself = { userId, isSiteAdmin: false, context: outsider }
  t.not(evaluate(user, { ...itself, isConfined: false }, object('user', { id: userId })), 0n)
  t.is(evaluate(user, { ...itself, isConfined: true }, object('user', { id: userId })), 0n)
})

test('an object whose container is unknown has no relation through it', (t) => {
  const contained = [...schema.types.values()].filter(({ container }) => container !== undefined)
  t.true(contained.length > 0)
  for (const type of contained) {
    const { container: _, ...alone } = object(type.type)
    const subject = { userId, isSiteAdmin: false, isConfined: false, context: outsider }
    t.is(evaluate(type, subject, alone), 0n, type.type)
  }
})
