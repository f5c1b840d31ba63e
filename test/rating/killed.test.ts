// process: own - kills the processes that it starts
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { makeSqlInvoiceStore } from '../../adapters/sql/rating/invoice-store.ts'
import { makeSqlIssuerStore } from '../../adapters/sql/rating/price-stores.ts'
import { borrowMysqlDatabase, migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { july } from './stored-billing.ts'
import { makeTestClock, storedSinks } from './stored-sinks.ts'
import { startEngine } from './strict-engines.ts'

const program = fileURLToPath(new URL('issuing-process.ts', import.meta.url))
const sending = fileURLToPath(new URL('sending-process.ts', import.meta.url))

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

for (const [name, open] of Object.entries(databases))
  test(`${name}: usage is counted once after the process that sends it is killed`, async (t) => {
    t.timeout(120_000)
    const { url, giveBack } = await open()
    const clock = makeTestClock('2026-08-05T10:00:00Z')
    const killed = new AbortController()
    const engine = await startEngine('stripe', clock, (count) => count === 27 && killed.abort())
    const child = spawn(process.execPath, [sending, url, engine.url], { stdio: 'inherit' })
    killed.signal.addEventListener('abort', () => child.kill('SIGKILL'))
    const signal = await new Promise((resolve) => child.on('exit', (_code, of) => resolve(of)))
    t.is(signal, 'SIGKILL')
    const db = await openPatiently(url)
    const { send, waiting } = storedSinks(db, clock, { kind: 'stripe', url: engine.url })
    await send()
    // The dead process still has the lease.
    t.true(engine.requests() < 30)
    clock.hours(1)
    await send()
    t.deepEqual(await waiting(), [])
    t.is(engine.counted.length, 60)
    t.is(new Set(engine.counted.map(({ id }) => id)).size, 60)
    await engine.close()
    await db.close()
    await giveBack()
  })
