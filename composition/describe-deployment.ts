import type { Log } from '../core/kernel/log.ts'
import type { Composition } from './compose.ts'
import { compose } from './compose.ts'
import { passingFoundation } from './foundation.ts'
import type { Settings } from './settings.ts'
import { makeStopSequence } from './stop-sequence.ts'

const nothing = (): void => undefined
const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** The deployment's plugins and routes, put together over an empty database in memory that is closed again. */
export const describeDeployment = async (settings: Settings): Promise<Composition> => {
  const foundation = await passingFoundation()
  const stops = makeStopSequence(silentLog)
  stops.add('database', () => foundation.database.close())
  try {
    return await compose({ settings, foundation, log: silentLog, stops })
  } finally {
    await stops.run()
  }
}
