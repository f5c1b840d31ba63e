import { statementPlanner } from '../support/components/available.ts'
import { mustRun } from '../support/components/run-command.ts'
import { mysqlTables } from '../support/databases.ts'
import { addedTables } from './layout.ts'

/** An instruction of a plan, as Vitess describes it. */
interface Instruction {
  readonly OperatorType: string
  readonly Variant?: string
  readonly Inputs?: readonly Instruction[]
}

interface Answer {
  readonly error?: string
  readonly plan?: Instruction
}

/**
 * Where a statement runs. `lists`: on the shards of the rows of a list. `joined`: Vitess puts rows of several queries
 * together. `all`: on every shard. `fails`: it does not plan.
 */
type Place = 'one' | 'lists' | 'joined' | 'all' | 'fails'

export interface Planned {
  readonly place: Place
  /** Why it does not plan. */
  readonly error: string
}

/** Plans statements, in order, for keyspaces by their names. */
export const planStatements = async (
  keyspaces: Readonly<Record<string, object>>,
  target: string,
  statements: readonly string[],
): Promise<readonly Planned[]> => {
  const tables = (await mysqlTables()).map((table) => table.replaceAll('utf8mb4_nopad_bin', 'utf8mb4_0900_bin'))
  const request = { vschema: keyspaces, schema: [...tables, addedTables].join(';\n'), shards: 4, target, statements }
  const planner = await statementPlanner()
  if (planner === undefined) throw new Error('vtexplain is switched off in this run')
  const output = await mustRun(planner, [], { input: JSON.stringify(request) })
  return (JSON.parse(output) as readonly Answer[]).map((answer) => ({
    place: placeOf(answer),
    error: answer.error ?? '',
  }))
}

const placeOf = ({ error, plan }: Answer): Place => {
  if (error !== undefined) return 'fails'
  const queries = plan === undefined ? [] : queriesOf(plan)
  if (queries.some((variant) => variant.includes('Scatter'))) return 'all'
  if (queries.length > 1) return 'joined'
  return ['IN', 'MultiEqual', 'Equal'].includes(queries[0] ?? '') ? 'lists' : 'one'
}

const sending = new Set(['Route', 'Send', 'Insert', 'Update', 'Delete', 'Upsert', 'DMLWithInput'])

/** The ways in which the queries of a plan find their shards. The query of a look-up is no query of its own. */
const queriesOf = ({ OperatorType, Variant = '', Inputs = [] }: Instruction): readonly string[] => {
  if (OperatorType === 'VindexLookup') return [Variant]
  const own = sending.has(OperatorType) ? [Variant] : []
  return [...own, ...Inputs.flatMap(queriesOf)]
}
