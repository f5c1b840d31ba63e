import test from 'ava'
import { CommitOutcomeUnknown, Unavailable } from '../../core/kernel/failure.ts'
import {
  isConnectionLost, isForeignKeyViolation, isRetryable, isUnavailable, isUniqueViolation, toThrown,
} from '../../adapters/sql/kit/driver-errors.ts'
import { onEachDatabase } from './scratch.ts'

onEachDatabase('a unique violation names its key by a column', async (t, database, things) => {
  await database.run(things.add, { name: 'a' })
  const error = await t.throwsAsync(database.run(things.add, { name: 'a' }))
  t.true(isUniqueViolation(error))
  t.true(isUniqueViolation(error, 'name'))
  t.false(isUniqueViolation(error, 'lower_email'))
  t.false(isForeignKeyViolation(error) || isUnavailable(error) || isRetryable(error))
  const inside = await t.throwsAsync(database.transaction((tx) => tx.run(things.add, { name: 'a' })))
  t.true(isUniqueViolation(inside, 'name'))
})

onEachDatabase('a value cannot pass for the name of a key', async (t, database, things) => {
  for (const name of ["x' for key 'lower_email", 'lower_email', 'things.lower_email']) {
    await database.run(things.add, { name })
    const error = await t.throwsAsync(database.run(things.add, { name }))
    t.true(isUniqueViolation(error, 'things_name') || isUniqueViolation(error, 'things.name'))
    t.false(isUniqueViolation(error, 'lower_email'), name)
  }
})

onEachDatabase('a refused statement leaves its transaction usable', async (t, database, things) => {
  await database.run(things.add, { name: 'a' })
  await database.transaction(async (tx) => {
    await t.throwsAsync(tx.run(things.add, { name: 'a' }))
    await tx.run(things.add, { name: 'b' })
  })
  t.like(await database.first(things.byName, { name: 'b' }), { name: 'b' })
})

onEachDatabase('a foreign key is distinguished from a unique key', async (t, database) => {
  const error = await t.throwsAsync(database.query((k) => k('follows').insert({ user_id: 998, target_id: 999, created_at: 1 })))
  t.true(isForeignKeyViolation(error))
  t.false(isUniqueViolation(error))
})

test('which errors mean what', (t) => {
  const of = (fields: { readonly errno?: number; readonly code?: string }) => Object.assign(new Error('x'), fields)
  for (const errno of [1213, 1020]) {
    t.true(isRetryable(of({ errno })))
    t.is(toThrown(of({ errno })) instanceof Unavailable, false)
  }
  const lost = [{ code: 'ECONNRESET' }, { code: 'EPIPE' }, { code: 'PROTOCOL_CONNECTION_LOST' }, { errno: 2013 }, { errno: 1927 }]
  const away = [{ code: 'ECONNREFUSED' }, { errno: 1040 }, { errno: 1205 }, { errno: 1290 }, { code: 'SQLITE_FULL' }, { code: 'SQLITE_BUSY' }, { code: 'SQLITE_IOERR_WRITE' }]
  for (const fields of [...lost, ...away]) {
    t.true(isUnavailable(of(fields)), JSON.stringify(fields))
    const thrown = toThrown(of(fields))
    t.true(thrown instanceof Unavailable && !(thrown instanceof CommitOutcomeUnknown))
    t.is(isConnectionLost(thrown), lost.includes(fields), JSON.stringify(fields))
    t.false(isRetryable(thrown))
  }
  const wrong = of({ errno: 1054, code: 'ER_BAD_FIELD_ERROR' })
  t.is(toThrown(wrong), wrong)
  for (const odd of [undefined, null, 'text', 5]) t.false(isUniqueViolation(odd) || isUnavailable(odd) || isRetryable(odd))
})

test('what is shown to a caller says nothing of the driver', (t) => {
  const thrown = toThrown(Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:3306'), { code: 'ECONNREFUSED' }))
  t.true(thrown instanceof Unavailable)
  t.notRegex((thrown as Error).message, /10\.0|3306|ECONN/)
})
