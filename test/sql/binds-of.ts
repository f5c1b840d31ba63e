import { bindValues } from '../../adapters/sql/engine/prepare.ts'
import type { StatementText } from '../../adapters/sql/kit/statement.ts'
import type { Bind } from '../../adapters/sql/kit/columns.ts'

/** Returns the values of a statement in the order of its places, as the driver gets them. */
export const bindsOf = (statement: StatementText, binds: object): readonly Bind[] =>
  bindValues(statement, { ...binds }, (value) => value)
