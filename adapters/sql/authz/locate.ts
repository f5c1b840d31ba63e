import type { Knex } from 'knex'
import type { Sighting } from '../../../core/authz/types.ts'
import type { ObjectLocator } from '../../../core/kernel/access.ts'
import { objectTypeOf } from '../../../core/kernel/access.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Bind, SqlDatabase, SqlRunner, Statement } from '../statement.ts'
import type { StandingRow } from './standing-rows.ts'
import { joinStanding, standingColumns, standingOf } from './standing-rows.ts'

interface LocateRow extends StandingRow {
  readonly object_id: number | null
  readonly object_name: string | null
  readonly granted: string | null
  readonly object_version: number | null
}

type Slot = (name: 'userId' | 'account' | 'name' | 'id') => Knex.Value

/** Finds the row `a` of the account and, where there is one, the row `x` of the object. */
const sources: Readonly<Record<ObjectLocator['type'], (k: Knex, p: Slot) => Knex.QueryBuilder>> = {
  account: (k, p) => k('accounts as a').join('accounts as x', 'x.id', 'a.id').where('a.lower_name', p('account')),
  organization: (k, p) =>
    k('accounts as a').join('accounts as x', 'x.id', 'a.id').where('a.lower_name', p('account')).where('a.kind', 'organization'),
  team: (k, p) => k('teams as x').join('accounts as a', 'a.id', 'x.org_id').where('x.id', p('id')),
  role: (k, p) =>
    k('accounts as a')
      .leftJoin('roles as x', (on) => on.on('x.org_id', 'a.id').onVal('x.id', p('id')))
      .where('a.lower_name', p('account')),
  robot_ac: (k, p) =>
    k('accounts as a')
      .leftJoin('robot_accounts as x', (on) => on.on('x.org_id', 'a.id').onVal('x.name', p('name')))
      .where('a.lower_name', p('account')),
  cluster: (k, p) =>
    k('accounts as a')
      .leftJoin('clusters as x', (on) => on.on('x.owner_id', 'a.id').onVal('x.name', p('name')))
      .where('a.lower_name', p('account')),
}

/** Grants on the object to the person or to a team of the person; of a member only, as `m` and `t` are. */
const joinGrants = (k: Knex, from: Knex.QueryBuilder, type: string): Knex.QueryBuilder =>
  from.leftJoin('object_grants as g', (on) =>
    on
      .onVal('g.object_type', type)
      .on('g.object_id', 'x.id')
      // The sign keeps SQLite from reading every grant of the organization by this column's index.
      .on(k.raw('+g.org_id = m.org_id'))
      .on((either) =>
        either
          .on((person) => person.on('g.subject_id', 'm.user_id').onVal('g.subject_type', 'user'))
          .orOn((team) => team.on('g.subject_id', 't.id').onVal('g.subject_type', 'team')),
      ),
  )

const statementFor = (db: SqlDatabase, type: ObjectLocator['type']): Statement =>
  db.prepare((k, p: Slot) =>
    joinGrants(k, joinStanding(sources[type](k, p), p('userId')), objectTypeOf({ type })).select(
      ...standingColumns,
      'x.id as object_id',
      'x.name as object_name',
      'g.relation as granted',
      type === 'cluster' ? 'x.version as object_version' : k.raw('null as object_version'),
    ),
  )

const bindsOf = (locator: ObjectLocator): Record<string, Bind> => {
  switch (locator.type) {
    case 'account':
    case 'organization':
      return { account: locator.name.toLowerCase() }
    case 'team':
      return { id: locator.id }
    case 'role':
      return { account: locator.org.toLowerCase(), id: locator.id }
    case 'robot_ac':
      return { account: locator.org.toLowerCase(), name: locator.name.toLowerCase() }
    case 'cluster':
      return { account: locator.owner.toLowerCase(), name: locator.name }
  }
}

/** The look-up of one object with the person's standing in its account: one statement for each kind of locator. */
export const makeLocate = (db: SqlDatabase) => {
  const statements: Readonly<Record<ObjectLocator['type'], Statement>> = {
    account: statementFor(db, 'account'),
    organization: statementFor(db, 'organization'),
    team: statementFor(db, 'team'),
    role: statementFor(db, 'role'),
    robot_ac: statementFor(db, 'robot_ac'),
    cluster: statementFor(db, 'cluster'),
  }
  return async (runner: SqlRunner, userId: UserId, locator: ObjectLocator): Promise<Sighting | undefined> => {
    const rows = await runner.all<LocateRow>(statements[locator.type], { ...bindsOf(locator), userId })
    const [first, ...rest] = rows
    if (first === undefined) return undefined
    const granted = new Set(rows.map((row) => row.granted).filter((relation) => relation !== null))
    return {
      standing: standingOf(userId, [first, ...rest]),
      object:
        first.object_id === null
          ? undefined
          : {
              type: objectTypeOf(locator),
              id: first.object_id,
              name: first.object_name ?? '',
              ownerId: first.account_id,
              ...(first.object_version === null ? {} : { version: Number(first.object_version) }),
              granted: [...granted].sort(),
            },
    }
  }
}
