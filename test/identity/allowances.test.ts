import test from 'ava'
import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import { makeAllowances, allowanceLimits } from '../../adapters/throttle/allowances.ts'
import type { AttemptCounters } from '../../core/identity/authentication/ports.ts'
import type { Log } from '../../core/kernel/log.ts'
import { secret } from '../../core/kernel/secret.ts'
import { eachDatabase } from '../support/databases.ts'

const told: string[] = []
const silent = { error: (_fields: object, message: string) => void told.push(message) } as unknown as Log
const allowancesOn = (counters: AttemptCounters) => makeAllowances({ counters, key: secret(new Uint8Array(32).fill(7)), log: silent })
const { points } = allowanceLimits['sign-up']

for (const database of eachDatabase()) {
  test(`${database.name}: several instances give out one allowance together, each network its own`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const instances = [allowancesOn(makeSqlAttemptCounters(db)), allowancesOn(makeSqlAttemptCounters(db))] as const
    const taken = await Promise.all(Array.from({ length: points + 4 }, (_, n) => instances[n % 2 === 0 ? 0 : 1].take('sign-up', `2001:db8:1:2::${n}`)))
    t.is(taken.filter((wait) => wait === undefined).length, points)
    for (const wait of taken.filter((wait) => wait !== undefined)) t.true(wait > 0 && wait <= 3600)
    t.is(await instances[0].take('sign-up', '2001:db8:1:3::1'), undefined)
    t.is(await instances[1].take('sign-up', '192.0.2.1'), undefined)
    for (let n = 0; n < 3; n++) t.is(await instances[0].take('sign-up-notice', 'ada@example.org'), undefined)
    t.true(Number(await instances[1].take('sign-up-notice', 'ada@example.org')) > 3600)
    t.is(await instances[1].take('sign-up-notice', 'bob@example.org'), undefined)
  })
}

test('while the store is away this process gives out half of it, and says so', async (t) => {
  const away = () => Promise.reject(new Error('away'))
  const allowances = allowancesOn({ find: away, add: away, put: away, remove: away, purge: away })
  const taken: (number | undefined)[] = []
  for (let n = 0; n < points; n++) taken.push(await allowances.take('sign-up', '192.0.2.1'))
  t.is(taken.filter((wait) => wait === undefined).length, points / 2)
  t.true(told.length > 0)
})
