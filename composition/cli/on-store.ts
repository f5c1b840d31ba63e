import { makeBatchedLines } from '../../adapters/logging/log-lines.ts'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import type { CommandContext, CommonOptions } from './command-context.ts'
import { configOf } from './loaded-config.ts'
import type { Composition } from '../service/compose.ts'
import { compose, makeStopSequence } from '../service/compose.ts'
import { openFoundation, refuseOtherKeyring, refuseOtherSchema } from '../service/foundation.ts'

/**
 * Runs an operator's command on the ports of this deployment, without listeners. The service may run at the same time.
 */
export const onStore = async <A>(
  context: Pick<CommandContext, 'environment'>,
  options: CommonOptions,
  work: (composition: Composition) => Promise<A>,
): Promise<A> => {
  const config = await configOf(context, options)
  const { settings } = config
  const lines = makeBatchedLines({ fd: 2 })
  const log = makeBunyanLog({ level: 'warn', lines })
  const stops = makeStopSequence(log)
  try {
    const foundation = await openFoundation(settings)
    stops.add('database', () => foundation.database.close())
    await refuseOtherSchema(foundation.database, config)
    await refuseOtherKeyring(foundation, settings.keyring)
    return await work(compose({ config, foundation, log, stops }))
  } finally {
    await stops.run()
    await lines.flush()
  }
}
