import test from 'ava'
import { aliased, cutTo, int, nullable, pick, present, without } from '../../adapters/sql/kit/columns.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { assigned, insertInto, newRow, values } from '../../adapters/sql/kit/values.ts'
import { roles } from '../../adapters/sql/tables/authz.ts'
import { users } from '../../adapters/sql/tables/identity.ts'
import type { OrgId, RoleId, UserId } from '../../core/kernel/ids.ts'

/** Never called: each case is one that the type checker must refuse. */
export const refused = async (db: SqlDatabase): Promise<void> => {
  const find = db.prepare(pick(roles, 'orgId', 'name'), pick(roles, 'id', 'createdAt'), (k, p) =>
    k('roles').where('org_id', p.orgId).where('name', p.name),
  )
  const orgId = 1 as OrgId
  // @ts-expect-error a bind is missing
  await db.all(find, { orgId })
  // @ts-expect-error a bind is misspelt
  await db.all(find, { orgId, nmae: 'x' })
  // @ts-expect-error a bind is of another column
  await db.all(find, { orgId, name: 'x', id: 1 as RoleId })
  // @ts-expect-error a number for a text column
  await db.all(find, { orgId, name: 1 })
  // @ts-expect-error an identifier of another kind
  await db.all(find, { orgId: 1 as RoleId, name: 'x' })
  const [row] = await db.all(find, { orgId, name: 'x' })
  // @ts-expect-error a column that is not selected
  void row?.name
  // @ts-expect-error an instant is a Date
  void (row?.createdAt satisfies number | undefined)

  // @ts-expect-error a parameter that is not declared
  db.prepare({ id: roles.id }, (k, p) => k('roles').where('id', p.orgId))
  // @ts-expect-error a number bound to a text column
  db.prepare({ id: roles.id }, (k, p) => k('roles').where('name', p.id))
  // @ts-expect-error a number bound to a text column of an alias, with an operator
  db.prepare({ id: roles.id }, (k, p) => k('roles as r').where('r.lower_name', '<', p.id))
  // @ts-expect-error a text bound to a column of numbers
  db.prepare({ name: roles.name }, (k, p) => k('roles').where('org_id', p.name))
  // @ts-expect-error a number bound to a text column of a join
  db.prepare({ id: roles.id }, (k, p) => k('teams as t').join('roles as r', (on) => on.onVal('r.name', p.id)))
  // @ts-expect-error numbers in a list of texts
  db.prepare({ id: roles.id }, (k, p) => k('roles').whereIn('name', [p.id]))
  // @ts-expect-error a column that no table has
  db.prepare({ id: roles.id }, (k, p) => k('roles').where('rolle_id', p.id))
  // @ts-expect-error a text as a limit
  db.prepare({ name: roles.name }, (k, p) => k('roles').limit(p.name))
  // @ts-expect-error an object with parameters is made by `values`
  db.prepare({ id: roles.id }, (k, p) => k('roles').where('id', p.id satisfies number))

  // @ts-expect-error a number for a text column
  db.prepare({ id: roles.id }, (k, p) => k('roles').update(values(roles, { name: p.id })))
  // @ts-expect-error a field that the table does not have
  db.prepare({ name: roles.name }, (k, p) => k('roles').update(values(roles, { nmae: p.name })))
  // @ts-expect-error a new row without a column that has no default
  db.prepare({ name: roles.name }, (k, p) => k('roles').insert(newRow(roles, { name: p.name })))
  // @ts-expect-error a column without a default cannot be left out
  insertInto(db, roles, { omitted: ['name'] })

  const changeable = without(users, 'id', 'passwordHash', 'createdAt')
  // @ts-expect-error one of the changed fields has no parameter
  db.prepare(pick(users, 'fullName', 'website'), (k, p) => k('users').update(assigned(changeable, p)))
  // @ts-expect-error no such field
  pick(users, 'noSuchField')
  // @ts-expect-error no such field
  void aliased(users, 'u').noSuchField
}

test('a statement has the parameters and the rows of its columns', (t) => {
  const accepted = (db: SqlDatabase) => [
    db.prepare({ id: users.id, at: present(users.lastLoginAt), limit: int() }, pick(users, 'id', 'isAdmin'), (k, p) =>
      k('users').where('id', '>', p.id).where('last_login_at', '<', p.at).limit(p.limit),
    ),
    db.prepare({ by: nullable(users.id) }, (k, p) => k('users').update(values(users, { deactivatedBy: p.by }))),
  ]
  t.is(typeof accepted, 'function')
  t.is(typeof (1 as UserId), 'number')
})

test("a text is cut to its column's characters without dividing one", (t) => {
  t.is(cutTo({ length: 3 }, 'ab'), 'ab')
  t.is(cutTo({ length: 3 }, 'abcd'), 'abc')
  t.is(cutTo({ length: 3 }, '\u{1f600}'.repeat(4)), '\u{1f600}'.repeat(3))
  t.is(cutTo({ length: 2 }, 'a\u{1f600}b'), 'a\u{1f600}')
})
