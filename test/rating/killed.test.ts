// process: own - kills the processes that it starts
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { makeSqlInvoiceStore } from '../../adapters/sql/rating/invoice-store.ts'
import { makeSqlIssuerStore } from '../../adapters/sql/rating/price-stores.ts'
import { borrowMysqlDatabase, migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { july } from './stored-billing.ts'

const program = fileURLToPath(new URL('issuing-process.ts', import.meta.url))

/** Starts the process, kills it after so many numbers, and returns those that it has printed. */
const killedAfter = async (url: string, count: number): Promise<readonly string[]> => {
  const child = spawn(process.execPath, [program, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const printed: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    printed.push(line)
    if (printed.length === count) child.kill('SIGKILL')
  }
  return printed
}

const databases = {
  sqlite: async () => ({ url: `sqlite:${await migratedSqlitePath()}`, giveBack: async () => undefined }),
  mysql: borrowMysqlDatabase,
}

for (const [name, open] of Object.entries(databases))
  test(`${name}: numbers have no gap after the process that issues is killed`, async (t) => {
    t.timeout(120_000)
    const { url, giveBack } = await open()
    const printed = await killedAfter(url, 37)
    t.true(printed.length >= 37)
    t.false(printed.includes('all'))
    const db = await openPatiently(url)
    const numbers: string[] = []
    for await (const { number } of makeSqlInvoiceStore(db)(db).issuedIn(july, undefined)) numbers.push(number ?? '')
    const next = (await makeSqlIssuerStore(db)(db).find('north'))?.nextNumber ?? 0
    await db.close()
    await giveBack()
    t.is(numbers.length, next - 1)
    t.deepEqual(
      numbers.toSorted(),
      Array.from({ length: next - 1 }, (_, i) => `N${String(i + 1).padStart(6, '0')}`),
    )
    // What was printed was committed.
    t.deepEqual(
      printed.filter((number) => !numbers.includes(number)),
      [],
    )
  })
