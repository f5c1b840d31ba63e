import type { Knex } from 'knex'
import type { AuthorizationFacts } from '../../../core/authz/ports.ts'
import type { ObjectFact, ObjectId, Sighting } from '../../../core/authz/types.ts'
import type { ObjectLocator, Standing } from '../../../core/kernel/access.ts'
import { objectTypeOf } from '../../../core/kernel/access.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { chunksOf, listSlots, paddedList } from '../kit/fragments.ts'
import type { Bind, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'
import type { StandingRow } from './access-context.ts'
import { joinStanding, standingColumns, standingOf } from './access-context.ts'

interface LocateRow extends StandingRow {
  readonly object_id: number | null
  readonly object_name: string | null
  readonly granted: string | null
  readonly object_version: number | null
}

type Slot = (name: 'userId' | 'account' | 'name' | 'id') => Knex.Value

/** Selects the row `a` of the account and, if there is one, the row `x` of the object. */
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

/** Joins grants on the object to the person or to a team of the person. Only members have grants, as for `m` and `t`. */
const joinGrants = (k: Knex, from: Knex.QueryBuilder, type: string): Knex.QueryBuilder =>
  from.leftJoin('object_grants as g', (on) =>
    on
      .onVal('g.object_type', type)
      .on('g.object_id', 'x.id')
      // The unary plus prevents SQLite from reading every grant of the organization by the index of this column.
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

/** Looks up one object with the person's rights in its account: one statement for each kind of locator. */
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

/** The table of an object type, and its column with the account that owns an object. */
export interface ObjectTable {
  readonly table: string
  readonly owner: string
}

/** Types whose objects belong to an account. A part that adds a type with rows of its own adds a line here. */
export const objectTables: Readonly<Record<string, ObjectTable>> = {
  team: { table: 'teams', owner: 'org_id' },
  role: { table: 'roles', owner: 'org_id' },
  cluster: { table: 'clusters', owner: 'owner_id' },
  robot_ac: { table: 'robot_accounts', owner: 'org_id' },
}

interface ObjectRow {
  readonly id: number
  readonly name: string
}

interface GrantRow {
  readonly object_id: number
  readonly relation: string
}

/** An object id is at most 2^53-1. */
const possible = (ids: readonly ObjectId[]): readonly number[] => ids.filter((id) => typeof id === 'number')

/** Looks up a batch of objects of one type: one statement for the objects, one for the grants on them. */
export const makeObjectsOf = (db: SqlDatabase) => {
  const owned = new Map(Object.entries(objectTables).map(([type, place]) => [type, ownedObjects(db, place)]))
  const tokens = ownedObjects(db, { table: 'access_tokens', owner: 'user_id' })
  const grants = grantsOn(db)

  const withGrants = async (runner: SqlRunner, userId: UserId, standing: Standing, type: string, rows: readonly ObjectRow[]) => {
    const granted = new Map<number, string[]>()
    if (standing.accountKind === 'organization' && standing.isMember) {
      for (const ids of chunksOf(rows.map((row) => row.id))) {
        const { statement, binds } = grants(ids)
        for (const row of await runner.all<GrantRow>(statement, { ...binds, type, userId, accountId: standing.accountId })) {
          granted.set(row.object_id, [...(granted.get(row.object_id) ?? []), row.relation])
        }
      }
    }
    return rows.map((row): ObjectFact => ({
      ...row,
      type,
      ownerId: standing.accountId,
      granted: [...new Set(granted.get(row.id))].sort(),
    }))
  }

  return async (
    runner: SqlRunner,
    userId: UserId,
    standing: Standing,
    type: string,
    ids: readonly ObjectId[],
  ): Promise<readonly ObjectFact[]> => {
    const asked = possible(ids)
    if (type === 'user') {
      return asked.includes(userId) ? [{ type, id: userId, name: '', ownerId: userId, granted: [] }] : []
    }
    if (type === 'token') {
      const rows = await allIn(runner, tokens, userId, asked)
      return rows.map((row) => ({ ...row, type, ownerId: userId, granted: [] }))
    }
    if (type === 'organization') {
      const own = standing.accountKind === 'organization' && asked.includes(standing.accountId)
      return own ? withGrants(runner, userId, standing, type, [{ id: standing.accountId, name: standing.accountName }]) : []
    }
    const statements = owned.get(type)
    if (statements === undefined) return []
    return withGrants(runner, userId, standing, type, await allIn(runner, statements, standing.accountId, asked))
  }
}

type PaddedList = ReturnType<typeof paddedList>

const allIn = async (runner: SqlRunner, list: PaddedList, ownerId: number, ids: readonly number[]): Promise<readonly ObjectRow[]> => {
  const rows: ObjectRow[] = []
  for (const chunk of chunksOf(ids)) {
    const { statement, binds } = list(chunk)
    for (const { id, name } of await runner.all<ObjectRow>(statement, { ...binds, ownerId })) rows.push({ id, name })
  }
  return rows
}

const ownedObjects = (db: SqlDatabase, { table, owner }: ObjectTable): PaddedList =>
  paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k(table).select('id', 'name').where(owner, p('ownerId')).whereIn('id', listSlots(p, length)),
    ),
  )

const grantsOn = (db: SqlDatabase): PaddedList =>
  paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k('object_grants')
        .select('object_id', 'relation')
        .where('object_type', p('type'))
        .whereIn('object_id', listSlots(p, length))
        .where('org_id', p('accountId'))
        .where((either) =>
          either
            .where((person) => person.where('subject_type', 'user').where('subject_id', p('userId')))
            .orWhere((team) =>
              team
                .where('subject_type', 'team')
                .whereIn('subject_id', k('team_members').select('team_id').where('user_id', p('userId')).where('org_id', p('accountId'))),
            ),
        ),
    ),
  )

/**
 * AuthorizationFacts over the tables of accounts, teams, roles and grants. Statements are composed once, then bound to a
 * runner.
 */
export const makeSqlAuthorizationFacts = (db: SqlDatabase): ((runner: SqlRunner) => AuthorizationFacts) => {
  const locate = makeLocate(db)
  const objectsOf = makeObjectsOf(db)
  return (runner) => ({
    locate: (userId, object) => locate(runner, userId, object),
    objectsOf: (userId, standing, type, ids) => objectsOf(runner, userId, standing, type, ids),
  })
}
