import type { ObjectFact, ObjectId } from '../../../core/authz/types.ts'
import type { Standing } from '../../../core/kernel/access.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { ObjectTable } from './object-tables.ts'
import { objectTables } from './object-tables.ts'
import { chunksOf, listSlots, paddedList } from './padded-list.ts'

interface ObjectRow {
  readonly id: number
  readonly name: string
}

interface GrantRow {
  readonly object_id: number
  readonly relation: string
}

/** No object has an id beyond 2^53-1. */
const possible = (ids: readonly ObjectId[]): readonly number[] => ids.filter((id) => typeof id === 'number')

/** The look-up of a batch's objects of one type: one statement for the objects, one for the grants on them. */
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
