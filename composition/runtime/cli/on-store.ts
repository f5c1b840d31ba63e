import { makeBatchedLines } from '../../../adapters/logging/log-lines.ts'
import { makeBunyanLog } from '../../../adapters/logging/bunyan-log.ts'
import type { LoadedConfig } from '../config/config.ts'
import type { CommonOptions } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { configOf } from './config.ts'
import type { Composition } from '../service/compose.ts'
import { compose, makeStopSequence } from '../service/compose.ts'
import type { Foundation } from '../service/foundation.ts'
import { openFoundation, refuseOtherKeyring, refuseOtherSchema } from '../service/foundation.ts'

/** A deployment without listeners, whatever its schema and key ring are. */
export interface OpenDeployment extends Composition {
  readonly config: LoadedConfig
  readonly foundation: Foundation
}

/** Like `onStore`, but checks neither the schema nor the key ring. */
export const onAnyStore = async <A>(
  context: Pick<RuntimeContext, 'environment' | 'ownParts'>,
  options: CommonOptions,
  work: (deployment: OpenDeployment) => Promise<A>,
): Promise<A> => {
  const config = await configOf(context, options)
  const lines = makeBatchedLines({ fd: 2 })
  const log = makeBunyanLog({ level: 'warn', lines })
  const stops = makeStopSequence(log)
  try {
    const foundation = await openFoundation(config.settings)
    stops.add('database', () => foundation.database.close())
    return await work({ ...compose({ config, foundation, log, stops }), config, foundation })
  } finally {
    await stops.run()
    await lines.flush()
  }
}

/**
 * Runs an operator's command on the ports of this deployment, without listeners. The service may run at the same time.
 */
export const onStore = async <A>(
  context: Pick<RuntimeContext, 'environment' | 'ownParts'>,
  options: CommonOptions,
  work: (composition: Composition) => Promise<A>,
): Promise<A> =>
  onAnyStore(context, options, async (deployment) => {
    await refuseOtherSchema(deployment.foundation.database, deployment.config)
    await refuseOtherKeyring(deployment.foundation, deployment.config.settings.keyring)
    return work(deployment)
  })
