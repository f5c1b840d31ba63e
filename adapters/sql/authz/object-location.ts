import type { Knex } from 'knex'
import type { ObjectFact, LocatedObject } from '../../../core/authz/types.ts'
import type { ObjectKey, ObjectLocator, ObjectPlace, ObjectTypeDefinition } from '../../../core/kernel/access.ts'
import { objectTypeOf } from '../../../core/kernel/access.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { Bind, Column, Row } from '../kit/columns.ts'
import { aliased, long, longText, nullable, selectedAs } from '../kit/columns.ts'
import { objectGrants } from '../tables/authz.ts'
import { accounts, users } from '../tables/identity.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { joinAccess, accessRow, accessContextOf } from './access-context.ts'

/** A type with a place: how to find its objects, and those that contain them. */
export interface PlacedType {
  readonly type: string
  readonly place: ObjectPlace
  /** Undefined if the objects are not in this database. */
  readonly rows: ObjectRows | undefined
  readonly container: PlacedType | undefined
}

/** Returns the types with a place. Throws if a type with rows of its own has none registered. */
export const placedTypes = (
  definitions: readonly ObjectTypeDefinition[],
  rows: readonly ObjectRows[],
): ReadonlyMap<string, PlacedType> => {
  const places = new Map(
    definitions.flatMap(({ type, place }) => (place === undefined ? [] : [[type, place] as const])),
  )
  const placed = (type: string, place: ObjectPlace): PlacedType => {
    const own = rows.find((one) => one.type === type)
    if (place.rows === 'own' && own === undefined)
      throw new Error(
        `No adapter registers the rows of the object type ${type}: the provider of its part calls boot.objectRows.add.`,
      )
    const outer = typeof place.in === 'object' ? place.in.type : undefined
    const outerPlace = outer === undefined ? undefined : places.get(outer)
    return {
      type,
      place,
      rows: own,
      container: outer === undefined || outerPlace === undefined ? undefined : placed(outer, outerPlace),
    }
  }
  return new Map([...places].map(([type, place]) => [type, placed(type, place)]))
}

/** Grants, and the object `x` if there is one. */
const locateRow = {
  ...accessRow,
  objectId: selectedAs(nullable(long())),
  objectName: selectedAs(nullable(longText())),
  granted: nullable(aliased(objectGrants, 'g').relation),
  objectVersion: selectedAs(nullable(long())),
}
type LocateRow = Row<typeof locateRow>

/** A row of a type inside another. A grant may be on the object or on its container. */
const containedRow = {
  ...locateRow,
  grantedOn: nullable(aliased(objectGrants, 'g').objectType),
  containerId: selectedAs(nullable(long())),
  containerName: selectedAs(nullable(longText())),
  containerVersion: selectedAs(nullable(long())),
}
type ContainedRow = Row<typeof containedRow>

const accountParams = { userId: users.id, account: accounts.lowerName }

/** The id or the name of an object, as its type is named. */
const keyParam = ({ key }: ObjectPlace): Column<Bind> => (key === 'id' ? long() : longText()) as Column<Bind>

type AnyPlace = typeof accountParams & Readonly<Record<'key' | 'within', Column<Bind>>>

/** The parameters of the look-up of an object: those that its place has. */
const placedParams = ({ place, container }: PlacedType): AnyPlace =>
  ({
    userId: users.id,
    key: keyParam(place),
    ...(container === undefined ? {} : { within: keyParam(container.place) }),
    ...((container ?? { place }).place.in === 'any-account' ? {} : { account: accounts.lowerName }),
  }) as AnyPlace

type AccountSlot = Slots<Pick<typeof accountParams, 'account'>>
type PlacedSlots = Slots<AnyPlace>
type Found = Prepared<Readonly<Record<string, Bind>>, LocateRow>

/** Selects the row `a` of the account, which is also the object `x`. */
const accountItself = (k: Knex, p: AccountSlot): Knex.QueryBuilder =>
  k('accounts as a').join('accounts as x', 'x.id', 'a.id').where('a.lower_name', p.account)

const keyColumn = (place: ObjectPlace, rows: ObjectRows): string =>
  place.key === 'id' ? 'id' : (rows.nameColumn ?? 'name')

/** Selects the row `a` of the account and, if there is one, the row `alias` of an object that lies directly in it. */
const inAccount = (
  k: Knex,
  p: PlacedSlots,
  place: ObjectPlace,
  rows: ObjectRows,
  alias: 'x' | 'c',
  key: Slot,
): Knex.QueryBuilder =>
  place.in === 'any-account'
    ? k(`${rows.table} as ${alias}`)
        .join('accounts as a', 'a.id', `${alias}.${rows.owner}`)
        .where(`${alias}.id`, key as Slot<'integer'>)
    : k('accounts as a')
        .leftJoin(`${rows.table} as ${alias}`, (on) =>
          on.on(`${alias}.${rows.owner}`, 'a.id').onVal(`${alias}.${keyColumn(place, rows)}`, key),
        )
        .where('a.lower_name', p.account)

/** Selects the row `a` of the account and, if they exist, the rows `c` of the container and `x` of the object in it. */
const inContainer = (
  k: Knex,
  p: PlacedSlots,
  place: ObjectPlace,
  rows: ObjectRows,
  outer: PlacedType & { readonly rows: ObjectRows },
): Knex.QueryBuilder =>
  inAccount(k, p, outer.place, outer.rows, 'c', p.within).leftJoin(`${rows.table} as x`, (on) =>
    on.on(`x.${rows.owner}`, 'c.id').onVal(`x.${keyColumn(place, rows)}`, p.key),
  )

/**
 * Joins grants on the object, and on the container `c` if its type is given, to the person or to a team of the person.
 * Only members have grants, as for `m` and `t`.
 */
const joinGrants = (k: Knex, from: Knex.QueryBuilder, type: string, outer?: string): Knex.QueryBuilder =>
  from.leftJoin('object_grants as g', (on) => {
    if (outer === undefined) on.onVal('g.object_type', type).on('g.object_id', 'x.id')
    else {
      on.on((either) =>
        either
          .on((inner) => inner.onVal('g.object_type', type).on('g.object_id', 'x.id'))
          .orOn((container) => container.onVal('g.object_type', outer).on('g.object_id', 'c.id')),
      )
    }
    // The unary plus prevents SQLite from reading every grant of the organization by the index of this column.
    on.on(k.raw('+g.org_id = m.org_id')).on((either) =>
      either
        .on((person) => person.on('g.subject_id', 'm.user_id').onVal('g.subject_type', 'user'))
        .orOn((team) => team.on('g.subject_id', 't.id').onVal('g.subject_type', 'team')),
    )
  })

/** Selects the object `x` beside the columns of `locateRow`. */
const withObject = (k: Knex, query: Knex.QueryBuilder, rows: ObjectRows | undefined): Knex.QueryBuilder =>
  query.select(
    'x.id as object_id',
    `x.${rows?.nameColumn ?? 'name'} as object_name`,
    rows?.version === undefined ? k.raw('null as object_version') : `x.${rows.version} as object_version`,
  )

const accountStatement = (db: SqlDatabase, only: 'organization' | undefined) =>
  db.prepare(accountParams, locateRow, (k, p) => {
    const found = only === undefined ? accountItself(k, p) : accountItself(k, p).where('a.kind', only)
    return withObject(k, joinGrants(k, joinAccess(found, p.userId), 'organization'), undefined)
  })

/** Finds an object of a type, together with its container if the type has one. */
const placedStatement = (db: SqlDatabase, placed: PlacedType, rows: ObjectRows): Found => {
  const { type, place, container } = placed
  const params = placedParams(placed)
  const outer = container?.rows === undefined ? undefined : { ...container, rows: container.rows }
  if (outer === undefined) {
    return db.prepare(params, locateRow, (k, p) =>
      withObject(k, joinGrants(k, joinAccess(inAccount(k, p, place, rows, 'x', p.key), p.userId), type), rows),
    ) as unknown as Found
  }
  return db.prepare(params, containedRow, (k, p) =>
    withObject(
      k,
      joinGrants(k, joinAccess(inContainer(k, p, place, rows, outer), p.userId), type, outer.type),
      rows,
    ).select(
      'c.id as container_id',
      `c.${outer.rows.nameColumn ?? 'name'} as container_name`,
      outer.rows.version === undefined
        ? k.raw('null as container_version')
        : `c.${outer.rows.version} as container_version`,
    ),
  ) as unknown as Found
}

const isNamedBy = (key: ObjectKey | undefined, wanted: ObjectPlace['key']): key is ObjectKey =>
  key !== undefined && wanted in key

/** Returns the bind of a key. Throws if the locator names the object in another way than its type is named. */
const keyBind = ({ type, place, rows }: PlacedType, key: ObjectKey | undefined): Bind => {
  if (!isNamedBy(key, place.key)) throw new Error(`An object of type ${type} is named by its ${place.key}.`)
  if ('id' in key) return key.id
  return rows?.hasLowerNames === true ? key.name.toLowerCase() : key.name
}

const accountBind = ({ type, account }: ObjectLocator): Bind => {
  if (account === undefined) throw new Error(`An object of type ${type} is named within an account.`)
  return account.toLowerCase()
}

const bindsOf = (placed: PlacedType, locator: ObjectLocator): Record<string, Bind> => {
  const outermost = placed.container ?? placed
  return {
    key: keyBind(placed, locator),
    ...(placed.container === undefined ? {} : { within: keyBind(placed.container, locator.within) }),
    ...(outermost.place.in === 'any-account' ? {} : { account: accountBind(locator) }),
  }
}

/** Returns relations sorted, each once. */
export const sorted = (relations: Iterable<string | undefined>): readonly string[] =>
  [...new Set(relations)].filter((relation) => relation !== undefined).sort()

const objectOf = (
  type: string,
  rows: readonly [LocateRow, ...LocateRow[]],
  granted: Iterable<string | undefined>,
): ObjectFact | undefined => {
  const [{ objectId, objectName, objectVersion, accountId }] = rows
  return objectId === undefined
    ? undefined
    : {
        type,
        id: objectId,
        name: objectName ?? '',
        ownerId: accountId,
        ...definedFields({ version: objectVersion }),
        granted: sorted(granted),
      }
}

/** Returns an object that lies in a container, with it. */
const containedOf = (
  type: string,
  outer: string,
  rows: readonly [ContainedRow, ...ContainedRow[]],
): ObjectFact | undefined => {
  const grantedOn = (what: string): readonly (string | undefined)[] =>
    rows.filter((row) => row.grantedOn === what).map((row) => row.granted)
  const object = objectOf(type, rows, grantedOn(type))
  const [{ containerId, containerName, containerVersion, accountId }] = rows
  if (object === undefined || containerId === undefined) return undefined
  const container = {
    type: outer,
    id: containerId,
    name: containerName ?? '',
    ownerId: accountId,
    ...definedFields({ version: containerVersion }),
    granted: sorted(grantedOn(outer)),
  }
  return { ...object, container }
}

/** Looks up one object with the person's rights in its account: one statement for each type. */
export const makeLocate = (db: SqlDatabase, types: ReadonlyMap<string, PlacedType>) => {
  const ofAccount: Readonly<Record<string, ReturnType<typeof accountStatement>>> = {
    account: accountStatement(db, undefined),
    organization: accountStatement(db, 'organization'),
  }
  const statements = new Map(
    [...types.values()].flatMap((placed) =>
      placed.rows === undefined || placed.place.in === 'caller'
        ? []
        : [[placed.type, placedStatement(db, placed, placed.rows)] as const],
    ),
  )
  type Rows = readonly [LocateRow, ...LocateRow[]]
  const rowsOf = async <B extends object>(
    runner: SqlRunner,
    statement: Prepared<B, LocateRow>,
    binds: NoInfer<B>,
  ): Promise<Rows | undefined> => {
    const [first, ...rest] = await runner.all(statement, binds)
    return first === undefined ? undefined : [first, ...rest]
  }
  const granted = (rows: Rows): readonly (string | undefined)[] => rows.map((row) => row.granted)

  const locateAccount = async (
    runner: SqlRunner,
    userId: UserId,
    locator: ObjectLocator,
    statement: ReturnType<typeof accountStatement>,
  ): Promise<LocatedObject | undefined> => {
    const account = 'name' in locator ? locator.name.toLowerCase() : ''
    const rows = await rowsOf(runner, statement, { account, userId })
    return (
      rows && { context: accessContextOf(userId, rows), object: objectOf(objectTypeOf(locator), rows, granted(rows)) }
    )
  }

  const locatePlaced = async (
    runner: SqlRunner,
    userId: UserId,
    locator: ObjectLocator,
  ): Promise<LocatedObject | undefined> => {
    const placed = types.get(locator.type)
    const statement = statements.get(locator.type)
    if (placed === undefined || statement === undefined)
      throw new Error(`A request cannot name an object of type ${locator.type}.`)
    const rows = await rowsOf(runner, statement, { ...bindsOf(placed, locator), userId })
    if (rows === undefined) return undefined
    const { type, container } = placed
    const object =
      container === undefined
        ? objectOf(type, rows, granted(rows))
        : containedOf(type, container.type, rows as readonly [ContainedRow, ...ContainedRow[]])
    return { context: accessContextOf(userId, rows), object }
  }

  /** An object that is not in this database has the place and the rights of its container. */
  const locateThrough = async (
    runner: SqlRunner,
    userId: UserId,
    locator: ObjectLocator,
    outer: PlacedType,
  ): Promise<LocatedObject | undefined> => {
    const { type, within } = locator
    if (within === undefined)
      throw new Error(`An object of type ${type} is named within an object of type ${outer.type}.`)
    const found = await locatePlaced(runner, userId, {
      type: outer.type,
      ...within,
      ...definedFields({ account: locator.account }),
    })
    const container = found?.object
    if (found === undefined || container === undefined) return found
    const name = 'name' in locator ? locator.name : String(locator.id)
    return {
      context: found.context,
      object: { type, id: container.id, name, ownerId: container.ownerId, granted: [], container },
    }
  }

  return (runner: SqlRunner, userId: UserId, locator: ObjectLocator): Promise<LocatedObject | undefined> => {
    const account = ofAccount[locator.type]
    if (account !== undefined) return locateAccount(runner, userId, locator, account)
    const placed = types.get(locator.type)
    return placed?.place.rows === 'container' && placed.container !== undefined
      ? locateThrough(runner, userId, locator, placed.container)
      : locatePlaced(runner, userId, locator)
  }
}
