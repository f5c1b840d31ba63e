import type { AuthorizationFacts } from '../../../core/authz/ports.ts'
import type { ObjectFact, ObjectId } from '../../../core/authz/types.ts'
import type { ObjectTypeDefinition, AccessContext } from '../../../core/kernel/access.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { listSlots, paddedList, rowsFor } from '../kit/fragments.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { PlacedType } from './object-location.ts'
import { makeLocate, placedTypes, sorted } from './object-location.ts'

interface ObjectRow {
  readonly id: number
  readonly name: string
  readonly container_id?: number
  readonly container_name?: string
}

interface GrantRow {
  readonly object_id: number
  readonly relation: string
}

/** An object id is at most 2^53-1. */
const possible = (ids: readonly ObjectId[]): readonly number[] => ids.filter((id) => typeof id === 'number')

/** The caller within the account whose objects are looked up. */
interface Reader {
  readonly runner: SqlRunner
  readonly userId: UserId
  readonly context: AccessContext
}

/** Looks up a batch of objects of one type: one statement for the objects, one for the grants on them. */
const makeObjectsOf = (db: SqlDatabase, types: ReadonlyMap<string, PlacedType>) => {
  const lists = new Map(
    [...types.values()].flatMap((placed) =>
      placed.rows === undefined ? [] : [[placed.type, ownedObjects(db, placed, placed.rows)] as const],
    ),
  )
  const grants = grantsOn(db)

  /** Returns the relations granted on each object. Only members of an organization have grants. */
  const grantsOf = async (
    { runner, userId, context }: Reader,
    type: string,
    ids: readonly number[],
  ): Promise<ReadonlyMap<number, readonly string[]>> => {
    const granted = new Map<number, string[]>()
    if (context.accountKind !== 'organization' || !context.isMember) return granted
    for (const row of await rowsFor<GrantRow>(runner, grants, ids, { type, userId, accountId: context.accountId })) {
      granted.set(row.object_id, [...(granted.get(row.object_id) ?? []), row.relation])
    }
    return granted
  }

  const withGrants = async (
    reader: Reader,
    type: string,
    rows: readonly ObjectRow[],
  ): Promise<readonly ObjectFact[]> => {
    const granted = await grantsOf(
      reader,
      type,
      rows.map((row) => row.id),
    )
    const ownerId = reader.context.accountId
    return rows.map(({ id, name }) => ({ type, id, name, ownerId, granted: sorted(granted.get(id) ?? []) }))
  }

  const withContainers = async (
    reader: Reader,
    type: string,
    outer: string,
    rows: readonly ObjectRow[],
  ): Promise<readonly ObjectFact[]> => {
    const containers = new Map(
      rows.map((row) => [row.container_id, { id: Number(row.container_id), name: row.container_name ?? '' }]),
    )
    const found = new Map(
      (await withGrants(reader, outer, [...containers.values()])).map((container) => [container.id, container]),
    )
    const objects = await withGrants(reader, type, rows)
    return objects.map((object, index) => ({
      ...object,
      ...definedFields({ container: found.get(Number(rows[index]?.container_id)) }),
    }))
  }

  return async (
    runner: SqlRunner,
    userId: UserId,
    context: AccessContext,
    type: string,
    ids: readonly ObjectId[],
  ): Promise<readonly ObjectFact[]> => {
    const asked = possible(ids)
    const reader = { runner, userId, context }
    if (type === 'user') {
      return asked.includes(userId) ? [{ type, id: userId, name: '', ownerId: userId, granted: [] }] : []
    }
    if (type === 'organization') {
      const own = context.accountKind === 'organization' && asked.includes(context.accountId)
      return own ? withGrants(reader, type, [{ id: context.accountId, name: context.accountName }]) : []
    }
    const [placed, list] = [types.get(type), lists.get(type)]
    if (placed === undefined || list === undefined) return []
    if (placed.place.in === 'caller') {
      const rows = await allIn(runner, list, userId, asked)
      return rows.map(({ id, name }) => ({ type, id, name, ownerId: userId, granted: [] }))
    }
    const rows = await allIn(runner, list, context.accountId, asked)
    return placed.container === undefined
      ? withGrants(reader, type, rows)
      : withContainers(reader, type, placed.container.type, rows)
  }
}

type PaddedList = ReturnType<typeof paddedList>

const allIn = (
  runner: SqlRunner,
  list: PaddedList,
  ownerId: number,
  ids: readonly number[],
): Promise<readonly ObjectRow[]> => rowsFor<ObjectRow>(runner, list, ids, { ownerId })

const ownedObjects = (
  db: SqlDatabase,
  { container }: PlacedType,
  { table, owner, nameColumn = 'name' }: ObjectRows,
): PaddedList =>
  paddedList((length) =>
    db.prepare((k, p: (name: string) => number) => {
      if (container?.rows === undefined) {
        return k(table)
          .select('id', `${nameColumn} as name`)
          .where(owner, p('ownerId'))
          .whereIn('id', listSlots(p, length))
      }
      return k(`${table} as x`)
        .join(`${container.rows.table} as c`, 'c.id', `x.${owner}`)
        .select(
          'x.id',
          `x.${nameColumn} as name`,
          'c.id as container_id',
          `c.${container.rows.nameColumn ?? 'name'} as container_name`,
        )
        .where(`c.${container.rows.owner}`, p('ownerId'))
        .whereIn('x.id', listSlots(p, length))
    }),
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
                .whereIn(
                  'subject_id',
                  k('team_members').select('team_id').where('user_id', p('userId')).where('org_id', p('accountId')),
                ),
            ),
        ),
    ),
  )

/**
 * AuthorizationFacts over the tables of accounts, teams, roles and grants, and the rows that the adapters of the types
 * register. Statements are composed once, then bound to a runner. Throws if a declared type has no rows.
 */
export const makeSqlAuthorizationFacts = (
  db: SqlDatabase,
  objectTypes: readonly ObjectTypeDefinition[],
  objectRows: readonly ObjectRows[],
): ((runner: SqlRunner) => AuthorizationFacts) => {
  const types = placedTypes(objectTypes, objectRows)
  const locate = makeLocate(db, types)
  const objectsOf = makeObjectsOf(db, types)
  return (runner) => ({
    locate: (userId, object) => locate(runner, userId, object),
    objectsOf: (userId, context, type, ids) => objectsOf(runner, userId, context, type, ids),
  })
}
