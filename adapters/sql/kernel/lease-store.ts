import type { Knex } from 'knex'
import type { Lease, LeaseStore } from '../../../core/kernel/instances.ts'
import { databaseNow } from '../kit/fragments.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase } from '../kit/statement.ts'

type Place = (name: 'name' | 'holder' | 'fence' | 'ttl') => Knex.Value

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)

/** Leases in the table `leases`. Each step is one compare-and-set statement. */
export const makeSqlLeaseStore = (database: SqlDatabase): LeaseStore => {
  const statements = compose(database)
  return {
    acquire: async (name, holder, ttlSeconds) => {
      const taken = await database.run(statements.take, { name, holder, ttl: milliseconds(ttlSeconds) })
      if (taken.affected === 1) {
        const row = await database.first<{ fence: number }>(statements.fence, { name, holder })
        return row === undefined ? undefined : { name, holder, fence: row.fence }
      }
      try {
        await database.run(statements.create, { name, holder, ttl: milliseconds(ttlSeconds) })
        return { name, holder, fence: 1 }
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    renew: async (lease, ttlSeconds) =>
      (await database.run(statements.renew, { ...binds(lease), ttl: milliseconds(ttlSeconds) })).affected === 1,
    release: async (lease) => {
      await database.run(statements.release, binds(lease))
    },
  }
}

const binds = ({ name, holder, fence }: Lease) => ({ name, holder, fence })

const compose = ({ dialect, prepare }: SqlDatabase) => {
  const now = databaseNow(dialect)
  const later = (k: Knex, p: Place) => k.raw(`${now} + cast(? as ${dialect === 'mysql' ? 'signed' : 'integer'})`, [p('ttl') as Knex.RawBinding])
  return {
    take: prepare((k, p: Place) =>
      k('leases').where('name', p('name')).whereRaw(`?? <= ${now}`, ['until'])
        .update({ holder: p('holder'), fence: k.raw('fence + 1'), until: later(k, p) })),
    create: prepare((k, p: Place) => k('leases').insert({ name: p('name'), holder: p('holder'), fence: 1, until: later(k, p) })),
    fence: prepare((k, p: Place) => k('leases').where({ name: p('name'), holder: p('holder') }).select('fence')),
    renew: prepare((k, p: Place) =>
      k('leases').where({ name: p('name'), holder: p('holder'), fence: p('fence') }).whereRaw(`?? > ${now}`, ['until'])
        .update({ until: later(k, p) })),
    // The row is kept, so that the fence continues to grow.
    release: prepare((k, p: Place) =>
      k('leases').where({ name: p('name'), holder: p('holder'), fence: p('fence') }).update({ until: 0 })),
  }
}
