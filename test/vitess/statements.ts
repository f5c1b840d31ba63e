import type { Bind, Columns } from '../../adapters/sql/kit/columns.ts'
import { sessionSettings } from '../../adapters/sql/engine/mysql-pool.ts'
import type { StatementText } from '../../adapters/sql/kit/statement.ts'
import { statementsWithParameters } from '../composition/prepared.ts'
import { composedStatements } from './composed.ts'

/** The deployments that have all parts between them. */
const deployments: readonly Readonly<Record<string, string>>[] = [
  { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' },
  {
    MOORAGE_DEPLOYMENT_TYPE: 'CloudAMarketplaceDeployment',
    MOORAGE_MARKETPLACE_SECRET: 'the-secret-of-the-marketplace',
    MOORAGE_CLOUD_A_IP_RANGES: 'off',
    MOORAGE_METERING_DIMENSIONS: 'both=cpu',
    MOORAGE_METERING_PRODUCT: 'product-1',
    MOORAGE_METERING_REGION: 'us-east-1',
  },
]

/** A statement of the service as MySQL gets it, and the same with example values. */
export interface ExampleStatement {
  readonly sql: string
  readonly example: string
}

/** What each connection runs before and beside the statements of the service. */
export const sessionStatements: readonly string[] = [
  'select cast(unix_timestamp(now(3)) * 1000 as signed) as `now`',
  'select version() as version, @@hostname as host',
  'set session transaction isolation level read committed, read write',
  sessionSettings('8.0.30-Vitess', {
    statementMilliseconds: 9000,
    rowLockSeconds: 8,
    schemaLockSeconds: 5,
    idleSeconds: 90,
  }),
  'start transaction',
  'rollback',
]

/** Returns each statement of the service once: those that it prepares, and examples of those that it composes later. */
export const serviceStatements = async (): Promise<readonly ExampleStatement[]> => {
  const found = new Map<string, string>()
  const add = (made: StatementText, params: Columns): void => {
    if (!found.has(made.sql)) found.set(made.sql, exampleOf(made, params))
  }
  for (const settings of deployments)
    for (const { made, params } of await statementsWithParameters('mysql', settings)) add(made, params)
  for (const { made, params } of await composedStatements()) add(made, params)
  return [...found].map(([sql, example]) => ({ sql, example }))
}

/**
 * Returns the statement with a value at each place, written as the driver sends it: numbers as text, except in `limit`
 * and `offset`, where only a number is valid SQL.
 */
const exampleOf = ({ sql, order }: StatementText, params: Columns): string => {
  const [first = '', ...rest] = sql.split('?')
  return rest.reduce((text, piece, at) => {
    const slot = order[at]
    if (slot === undefined) throw new Error(`The statement has more places than values: ${sql}`)
    if (/(?:limit|offset) $/.test(text)) return `${text}10${piece}`
    return text + ('constant' in slot ? literalOf(slot.constant) : exampleValue(params[slot.name], at)) + piece
  }, first)
}

/** The values differ, so that their rows are on different shards. */
const exampleValue = (column: Columns[string] | undefined, at: number): string => {
  if (column === undefined) throw new Error('A parameter has no column.')
  if (column.family === 'integer') return `'${101 + 37 * at}'`
  return column.family === 'text' ? `'text-${at}'` : literalOf(new Uint8Array(column.length || 16).fill(at + 17))
}

const literalOf = (value: Bind): string => {
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`
  return `'${String(value).replaceAll("'", "''")}'`
}
