import type { Knex } from 'knex'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import type { Columns } from '../../adapters/sql/kit/columns.ts'
import type { Prepare, StatementText } from '../../adapters/sql/kit/statement.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { compose, makeStopSequence } from '../../composition/runtime/service/compose.ts'
import { passingFoundation } from '../../composition/runtime/service/foundation.ts'

/** Returns every statement that the service of a vendor with all parts prepares. */
export const preparedStatements = async (dialect: 'sqlite' | 'mysql'): Promise<readonly StatementText[]> =>
  (await statementsWithParameters(dialect, { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' })).map(({ made }) => made)

/** A statement, and the columns that its parameters are values of. */
export interface WithParameters {
  readonly made: StatementText
  readonly params: Columns
}

/** Returns a composer of statements that also adds each of them to a list. */
export const collectingPrepare = (composer: Knex, prepared: WithParameters[]): Prepare => {
  const prepareOf = makePrepare(composer)
  return ((...statement: Parameters<Prepare>) => {
    const made = prepareOf(...statement)
    prepared.push({ made, params: statement[0] })
    return made
  }) as Prepare
}

/** Returns every statement that a service with these settings prepares. */
export const statementsWithParameters = async (
  dialect: 'sqlite' | 'mysql',
  settings: Readonly<Record<string, string>>,
): Promise<readonly WithParameters[]> => {
  const environment = { MOORAGE_DATABASE_URL: 'sqlite::memory:', MOORAGE_BILLING_ENABLED: 'true', ...settings }
  const config = await loadConfig({ environment })
  const foundation = await passingFoundation()
  const log = makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } })
  const stops = makeStopSequence(log)
  stops.add('database', () => foundation.database.close())
  const prepared: WithParameters[] = []
  const prepare = collectingPrepare(makeComposer(dialect), prepared)
  compose({
    config,
    foundation: { ...foundation, database: { ...foundation.database, dialect, prepare } },
    log,
    stops,
  })
  await stops.run()
  return prepared
}
