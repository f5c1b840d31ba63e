// process: waiting - fills the connections of a MariaDB
import { AsyncLocalStorage } from 'node:async_hooks'
import { selectedAs, long } from '../../adapters/sql/kit/columns.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { needing } from '../support/components/needing.ts'
import { borrowMysqlDatabase, patient } from '../support/databases.ts'

const test = needing('mariadb')

/** One account floods the connections of a process with slow statements. */
const openFlooded = async (connectionLimit: number) => {
  const accounts = new AsyncLocalStorage<number>()
  const borrowed = await borrowMysqlDatabase()
  const account = () => accounts.getStore()
  const database = await openDatabase(borrowed.url, { mysql: { ...patient, connectionLimit, account } })
  const slow = database.prepare({}, { slept: selectedAs(long()) }, (k) => k.raw('select sleep(0.2) as slept'))
  const short = database.prepare({}, { one: selectedAs(long()) }, (k) => k.raw('select 1 as one'))
  let ended = 0
  const flood = Array.from({ length: 20 }, () =>
    accounts.run(1, async () => {
      await database.first(slow, {})
      ended += 1
    }),
  )
  return {
    askAs: (other: number) => accounts.run(other, () => database.first(short, {})),
    ended: () => ended,
    close: async () => {
      await Promise.all(flood)
      await database.close()
      await borrowed.giveBack()
    },
  }
}

test("another account's statement waits for one slice of a flood at most", async (t) => {
  // With so few connections one account may have all.
  const { askAs, ended, close } = await openFlooded(2)
  t.deepEqual(await askAs(2), { one: 1 })
  // First come, first served: 18 of them.
  t.true(ended() < 10, `${ended()} came before`)
  await close()
})

test('one account does not take all connections', async (t) => {
  const { askAs, ended, close } = await openFlooded(5)
  t.deepEqual(await Promise.all([2, 3, 4].map(askAs)), Array(3).fill({ one: 1 }))
  // First come, first served: 15 of them.
  t.true(ended() < 10, `${ended()} came before`)
  await close()
})
