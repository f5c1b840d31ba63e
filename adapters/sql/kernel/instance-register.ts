import type { Knex } from 'knex'
import type { InstanceRegister } from '../../../core/kernel/instances.ts'
import { databaseNow } from '../kit/fragments.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase } from '../kit/statement.ts'

/** The heartbeat interval of a process. */
export const beatMilliseconds = 3_000
/** A process that is silent for longer is considered dead. Three heartbeats may be lost before that. */
export const deadMilliseconds = 10_000
/** How long the rows of dead processes are kept, for diagnosis. */
const keptMilliseconds = 24 * 3600 * 1000

type Place = (name: 'id') => Knex.Value

export const makeSqlInstanceRegister = (database: SqlDatabase, instanceId: string): InstanceRegister => {
  const statements = compose(database)
  const id = { id: instanceId }
  const register = async (): Promise<void> => {
    try {
      await database.run(statements.enter, id)
    } catch (error) {
      // An insert whose answer was lost was executed.
      if (!isUniqueViolation(error)) throw error
    }
    await database.run(statements.removeOld, {})
  }
  return {
    // The row does not exist at the first heartbeat, or after a silence so long that another process removed it.
    beat: async () => {
      if ((await database.run(statements.beat, id)).affected === 0) await register()
    },
    leave: async () => {
      await database.run(statements.leave, id)
    },
  }
}

const compose = ({ dialect, prepare }: SqlDatabase) => {
  const now = databaseNow(dialect)
  return {
    beat: prepare((k, p: Place) => k('instances').where('id', p('id')).update({ beat_at: k.raw(now) })),
    enter: prepare((k, p: Place) => k('instances').insert({ id: p('id'), beat_at: k.raw(now) })),
    leave: prepare((k, p: Place) => k('instances').where('id', p('id')).delete()),
    removeOld: prepare((k) => k('instances').whereRaw(`beat_at < ${now} - ${keptMilliseconds}`).delete()),
  }
}
