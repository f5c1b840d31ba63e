import type { Knex } from 'knex'
import { isDecidingNothing } from './fragments.ts'
import type { Constant, Parameter, RowChange } from './statement.ts'

/** The fields of a query builder of knex that its types do not declare. Tests compare them with its SQL. */
interface BuilderFields {
  readonly _method?: string
  readonly _single?: {
    readonly table?: unknown
    readonly insert?: unknown
    readonly update?: object
    readonly counter?: object
    readonly onConflict?: unknown
    readonly ignore?: unknown
  }
  readonly _statements?: readonly {
    readonly grouping: string
    readonly type?: string
    readonly column?: unknown
    readonly operator?: string
    readonly value?: unknown
    readonly not?: boolean
    readonly bool?: string
    readonly asColumn?: boolean
  }[]
}

type Bound = Parameter | Constant
type Binds = ReadonlyMap<string, Bound>
/** Returns the bind of a value of the builder, or undefined if the value is SQL. */
type BindOf = (value: unknown) => Bound | undefined

const verbs: Readonly<Record<string, RowChange['verb']>> = { insert: 'insert', update: 'update', del: 'delete' }
const reads = new Set(['select', 'first', 'pluck'])

const withoutTable = (column: string): string => column.slice(column.lastIndexOf('.') + 1)

const insertedRows = (inserted: unknown, bindOf: BindOf): readonly Binds[] | undefined => {
  const rows: readonly unknown[] = Array.isArray(inserted) ? inserted : [inserted]
  const found: Binds[] = []
  for (const row of rows) {
    if (typeof row !== 'object' || row === null || Object.getPrototypeOf(row) !== Object.prototype) return undefined
    found.push(boundColumns(Object.entries(row), bindOf))
  }
  return found
}

const boundColumns = (entries: readonly (readonly [string, unknown])[], bindOf: BindOf): Binds => {
  const found = new Map<string, Bound>()
  for (const [column, value] of entries) {
    const bind = bindOf(value)
    if (bind !== undefined) found.set(column, bind)
  }
  return found
}

/** The columns that the condition compares by `=`: each row that is changed has these values. */
const comparedColumns = (statements: NonNullable<BuilderFields['_statements']>, bindOf: BindOf): Binds => {
  const conditions = statements.filter(({ grouping }) => grouping === 'where')
  if (conditions.some(({ bool }) => bool !== 'and')) return new Map()
  const compared = conditions.flatMap(({ type, column, operator, value, not, asColumn }) =>
    type === 'whereBasic' && operator === '=' && not !== true && asColumn !== true && typeof column === 'string'
      ? [[withoutTable(column), value] as const]
      : [],
  )
  return boundColumns(compared, bindOf)
}

/** Returns the rows that a statement changes; 'unknown' if it is written as SQL, or changes several tables. */
export const rowChangeOf = (built: Knex.QueryBuilder | Knex.Raw, bindOf: BindOf): RowChange | 'nothing' | 'unknown' => {
  const { _method: method = '', _single: single = {}, _statements: statements = [] } = built as BuilderFields
  if (reads.has(method) || isDecidingNothing(built)) return 'nothing'
  const { table, insert, update, counter } = single
  const verb = verbs[method]
  const isPlain = statements.every(({ grouping }) => !['join', 'with', 'union'].includes(grouping))
  if (verb === undefined || !isPlain || typeof table !== 'string' || !/^\w+$/.test(table)) return 'unknown'
  return {
    verb,
    table,
    columns: Object.keys({ ...update, ...counter }).map(withoutTable),
    isUpsert: single.onConflict !== undefined && single.ignore === undefined,
    rows: verb === 'insert' ? insertedRows(insert, bindOf) : [comparedColumns(statements, bindOf)],
  }
}
