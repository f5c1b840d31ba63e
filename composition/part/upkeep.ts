import { makeSqlUpkeepTimes, type UpkeepWork } from '../../adapters/sql/kernel/upkeep-times.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { CommandContext } from './command-context.ts'

const inWords: Readonly<Record<UpkeepWork, string>> = { backup: 'backup', audit_check: 'check' }

/** Records for monitoring that work succeeded. Its result stands, also where the database takes no changes. */
export const recordUpkeep = async (
  context: Pick<CommandContext, 'say'>,
  database: SqlDatabase,
  work: UpkeepWork,
  at: Date | Promise<Date>,
): Promise<void> => {
  try {
    await makeSqlUpkeepTimes(database).record(work, await at)
  } catch (error) {
    context.say(
      `moorage: the time of the ${inWords[work]} was not recorded for monitoring: ${(error as Error).message}`,
    )
  }
}
