import type { AuthorizationFacts } from '../../../core/authz/ports.ts'
import type { ObjectFact, ObjectId } from '../../../core/authz/types.ts'
import type { ObjectTypeDefinition, AccessContext } from '../../../core/kernel/access.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Row } from '../kit/columns.ts'
import { long, longText, pick, selectedAs } from '../kit/columns.ts'
import type { IdList } from '../kit/key-lists.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import { objectGrants } from '../tables/authz.ts'
import { accounts, users } from '../tables/identity.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { PlacedType } from './object-location.ts'
import { makeLocate, placedTypes, sorted } from './object-location.ts'

const objectRow = { id: selectedAs(long()), name: selectedAs(longText()) }
/** An object inside another. */
const containedRow = { ...objectRow, containerId: selectedAs(long()), containerName: selectedAs(longText()) }
type ObjectRow = Row<typeof objectRow> & Partial<Row<typeof containedRow>>

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
    for (const row of await rowsOfIds(runner, grants, ids, { type, userId, accountId: context.accountId })) {
      granted.set(row.objectId, [...(granted.get(row.objectId) ?? []), row.relation])
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
      rows.map((row) => [row.containerId, { id: Number(row.containerId), name: row.containerName ?? '' }]),
    )
    const found = new Map(
      (await withGrants(reader, outer, [...containers.values()])).map((container) => [container.id, container]),
    )
    const objects = await withGrants(reader, type, rows)
    return objects.map((object, index) => ({
      ...object,
      ...definedFields({ container: found.get(Number(rows[index]?.containerId)) }),
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

type OwnedList = IdList<number, { readonly ownerId: number }, ObjectRow>

const allIn = (
  runner: SqlRunner,
  list: OwnedList,
  ownerId: number,
  ids: readonly number[],
): Promise<readonly ObjectRow[]> => rowsOfIds(runner, list, ids, { ownerId })

const ownedObjects = (
  db: SqlDatabase,
  { container }: PlacedType,
  { table, owner, nameColumn = 'name' }: ObjectRows,
): OwnedList => {
  const params = { ownerId: long() }
  const outer = container?.rows
  return outer === undefined
    ? idList(db, long(), params, objectRow, (k, p, ids) =>
        k(table).select('id', `${nameColumn} as name`).where(owner, p.ownerId).whereIn('id', ids),
      )
    : idList(db, long(), params, containedRow, (k, p, ids) =>
        k(`${table} as x`)
          .join(`${outer.table} as c`, 'c.id', `x.${owner}`)
          .select(
            'x.id',
            `x.${nameColumn} as name`,
            'c.id as container_id',
            `c.${outer.nameColumn ?? 'name'} as container_name`,
          )
          .where(`c.${outer.owner}`, p.ownerId)
          .whereIn('x.id', ids),
      )
}

const grantParams = { type: objectGrants.objectType, userId: users.id, accountId: accounts.id }

const grantsOn = (db: SqlDatabase) =>
  idList(db, objectGrants.objectId, grantParams, pick(objectGrants, 'objectId', 'relation'), (k, p, ids) =>
    k('object_grants')
      .where('object_type', p.type)
      .whereIn('object_id', ids)
      .where('org_id', p.accountId)
      .where((either) =>
        either
          .where((person) => person.where('subject_type', 'user').where('subject_id', p.userId))
          .orWhere((team) =>
            team
              .where('subject_type', 'team')
              .whereIn(
                'subject_id',
                k('team_members').select('team_id').where('user_id', p.userId).where('org_id', p.accountId),
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
