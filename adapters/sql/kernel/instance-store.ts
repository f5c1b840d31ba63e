import type { Knex } from 'knex'
import type {
  Fleet,
  InstanceKeys,
  InstanceLevel,
  InstanceRegister,
  Lease,
  LeaseStore,
} from '../../../core/kernel/instances.ts'
import { raiseEveryone } from '../authz/access-revisions.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { databaseNow } from '../kit/fragments.ts'
import { long, pick } from '../kit/columns.ts'
import type { SchemaSession, Slot, SqlDatabase } from '../kit/statement.ts'
import { assigned, newRow, values } from '../kit/values.ts'
import { instances, leases } from '../tables/kernel.ts'

/** The heartbeat interval of a process. */
export const beatMilliseconds = 3_000
/** A process that is silent for longer is considered dead. Three heartbeats may be lost before that. */
export const deadMilliseconds = 10_000
/** How long the rows of dead processes are kept, for diagnosis. */
const keptMilliseconds = 24 * 3600 * 1000

/** What a process tells of itself. */
const told = pick(instances, 'sealingKey', 'newestKey', 'version', 'knownSchema')
const noKeys: InstanceKeys = { sealingKey: undefined, newestKey: undefined }

/** `level`: of this process, which a command that only reads the register need not tell. */
export const makeSqlInstanceRegister = (
  database: SqlDatabase,
  instanceId: string,
  level?: InstanceLevel,
): InstanceRegister => {
  const statements = compose(database)
  const id = { id: instanceId, version: level?.version, knownSchema: level?.knownSchema }
  const register = async (keys: InstanceKeys): Promise<void> => {
    try {
      await database.run(statements.enter, { ...id, ...keys })
    } catch (error) {
      // An insert whose answer was lost was executed.
      if (!isUniqueViolation(error)) throw error
    }
    await database.run(statements.removeOld, {})
    // What was done to the database without this service counts from now on in all processes.
    await raiseEveryone(database)
  }
  return {
    // The row does not exist at the first heartbeat, or after a silence so long that another process removed it.
    beat: async (keys = noKeys) => {
      if ((await database.run(statements.beat, { ...id, ...keys })).affected === 0) await register(keys)
    },
    alive: () => database.all(statements.alive, {}),
    leave: async () => {
      await database.run(statements.leave, { id: instanceId })
    },
  }
}

export const makeSqlFleet = (register: Pick<InstanceRegister, 'alive'>): Fleet => {
  const levels = async (): Promise<readonly (InstanceLevel | undefined)[]> =>
    (await register.alive()).map(({ version, knownSchema }) =>
      version === undefined || knownSchema === undefined ? undefined : { version, knownSchema },
    )
  return {
    lowest: async () => {
      const all = await levels()
      const told = all.filter((level) => level !== undefined)
      return told.length < all.length ? undefined : told.toSorted((a, b) => (a.knownSchema < b.knownSchema ? -1 : 1))[0]
    },
    knows: async (migration) =>
      (await levels()).every((level) => level !== undefined && level.knownSchema >= migration),
  }
}

/** Names the instances that are alive and do not know the migration, as the migrator asks for them. */
export const aliveWithout = async (
  { execute }: SchemaSession,
  dialect: SqlDatabase['dialect'],
  migration: string,
): Promise<readonly string[]> => {
  const rows = await execute(
    `select id, version from instances where beat_at >= ${databaseNow(dialect)} - ${deadMilliseconds} and ` +
      '(known_schema is null or known_schema < ?) order by id',
    [migration],
  )
  return rows.map(({ id, version }) => `${String(id)} (${String(version ?? 'v2026.11.25 or older')})`)
}

const compose = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const byId = pick(instances, 'id')
  return {
    beat: db.prepare({ ...byId, ...told }, (k, p) =>
      k('instances')
        .where('id', p.id)
        .update({ ...assigned(told, p), beat_at: k.raw(now) }),
    ),
    enter: db.prepare({ ...byId, ...told }, (k, p) =>
      k('instances').insert({ ...assigned({ ...byId, ...told }, p), beat_at: k.raw(now) }),
    ),
    leave: db.prepare(byId, (k, p) => k('instances').where('id', p.id).delete()),
    alive: db.prepare({}, pick(instances, 'id', 'sealingKey', 'newestKey', 'version', 'knownSchema'), (k) =>
      k('instances').whereRaw(`beat_at >= ${now} - ${deadMilliseconds}`).orderBy('id'),
    ),
    removeOld: db.prepare({}, (k) => k('instances').whereRaw(`beat_at < ${now} - ${keptMilliseconds}`).delete()),
  }
}

/**
 * A clock is set back by less in normal service. Then a lease ends later than it was taken for, and is held all the
 * same.
 */
const clockSlackSeconds = 60

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)

/** Leases in the table `leases`. Each step is one compare-and-set statement. */
export const makeSqlLeaseStore = (database: SqlDatabase): LeaseStore => {
  const statements = composeLeases(database)
  return {
    acquire: async (name, holder, ttlSeconds, longestSeconds = ttlSeconds) => {
      const longest = milliseconds(Math.max(ttlSeconds, longestSeconds) + clockSlackSeconds)
      const taken = await database.run(statements.take, { name, holder, ttl: milliseconds(ttlSeconds), longest })
      if (taken.affected === 1) {
        const row = await database.first(statements.fence, { name, holder })
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

const composeLeases = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const later = (k: Knex, by: Slot<'integer'>) =>
    k.raw(`${now} + cast(? as ${db.dialect === 'mysql' ? 'signed' : 'integer'})`, [by])
  const held = pick(leases, 'name', 'holder', 'fence')
  return {
    take: db.prepare({ ...pick(leases, 'name', 'holder'), ttl: long(), longest: long() }, (k, p) =>
      k('leases')
        .where('name', p.name)
        .where((free) => free.whereRaw(`?? <= ${now}`, ['until']).orWhere('until', '>', later(k, p.longest)))
        .update(values(leases, { holder: p.holder, fence: k.raw('fence + 1'), until: later(k, p.ttl) })),
    ),
    create: db.prepare({ ...pick(leases, 'name', 'holder'), ttl: long() }, (k, p) =>
      k('leases').insert(newRow(leases, { name: p.name, holder: p.holder, fence: 1, until: later(k, p.ttl) })),
    ),
    fence: db.prepare(pick(leases, 'name', 'holder'), pick(leases, 'fence'), (k, p) =>
      k('leases').where(values(leases, { name: p.name, holder: p.holder })),
    ),
    renew: db.prepare({ ...held, ttl: long() }, (k, p) =>
      k('leases')
        .where(values(leases, { name: p.name, holder: p.holder, fence: p.fence }))
        .whereRaw(`?? > ${now}`, ['until'])
        .update(values(leases, { until: later(k, p.ttl) })),
    ),
    // The row is kept, so that the fence continues to grow.
    release: db.prepare(held, (k, p) =>
      k('leases')
        .where(values(leases, { name: p.name, holder: p.holder, fence: p.fence }))
        .update(values(leases, { until: new Date(0) })),
    ),
  }
}
