import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { makeComposer, makePrepare } from '../../adapters/sql/engine/prepare.ts'
import type { Prepare, StatementText } from '../../adapters/sql/kit/statement.ts'
import { loadConfig } from '../../composition/config/config.ts'
import { compose, makeStopSequence } from '../../composition/service/compose.ts'
import { passingFoundation } from '../../composition/service/foundation.ts'

/** Returns every statement that a service with all parts prepares. */
export const preparedStatements = async (dialect: 'sqlite' | 'mysql'): Promise<readonly StatementText[]> => {
  const environment = {
    MOORAGE_DATABASE_URL: 'sqlite::memory:',
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_BILLING_ENABLED: 'true',
  }
  const config = await loadConfig({ environment })
  const foundation = await passingFoundation()
  const log = makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } })
  const stops = makeStopSequence(log)
  stops.add('database', () => foundation.database.close())
  const prepared: StatementText[] = []
  const prepareOf = makePrepare(makeComposer(dialect))
  const prepare = ((...statement: Parameters<Prepare>) => {
    const made = prepareOf(...statement)
    prepared.push(made)
    return made
  }) as Prepare
  compose({
    config,
    foundation: { ...foundation, database: { ...foundation.database, dialect, prepare } },
    log,
    stops,
  })
  await stops.run()
  return prepared
}
