// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { callOf } from '../sql/call.ts'
import { childrenOf, isRunning } from '../support/child-processes.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl, migratedSqlitePath, patient } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { fillMonth, makeMonthsFixture } from './months-fixture.ts'
import { closed, closeInput } from './months-close-fixture.ts'

/** Starts a process that closes the month. */
const startClosing = (url: string, ...step: readonly string[]) =>
  spawn(process.execPath, [fileURLToPath(new URL('./months-closing-process.ts', import.meta.url)), url, ...step], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })

const urls = {
  sqlite: async () => `sqlite:${await migratedSqlitePath()}`,
  ...(isSwitchedOff('mariadb') ? {} : { mysql: migratedMysqlUrl }),
}

for (const [name, urlOf] of Object.entries(urls))
  test(`${name}: of processes that close a month at once, one publishes it`, async (t) => {
    const url = await urlOf()
    const db = await openDatabase(url, { mysql: patient })
    t.teardown(() => db.close())
    const fixture = await makeMonthsFixture(db)
    await fillMonth(fixture)
    const outcomes = await Promise.all([1, 2, 3].map(() => text(startClosing(url).stdout)))
    t.is(outcomes.filter((outcome) => outcome === 'published').length, 1, outcomes.join())
    t.deepEqual(
      outcomes.filter((outcome) => !['published', 'unchanged', 'UsageMonthBusy'].includes(outcome)),
      [],
    )
    t.is(await fixture.leftovers(), 0)
    t.is(await fixture.count('usage_months'), 1)
    t.like(await fixture.shown('objects-usage-view'), { revision: 1 })
  })

test('a process that is killed while it writes leaves no half month', async (t) => {
  const path = await migratedSqlitePath()
  const db = await openDatabase(`sqlite:${path}`)
  try {
    const fixture = await makeMonthsFixture(db)
    await fillMonth(fixture)
    for (const step of ['views', 'report', 'publish']) {
      const child = startClosing(`sqlite:${path}`, step)
      await once(child.stdout, 'data')
      const helpers = process.platform === 'linux' ? childrenOf(child.pid ?? 0) : []
      child.kill('SIGKILL')
      await once(child, 'exit')
      if (process.platform === 'linux') t.is(helpers.length, 1, step)
      await until('the process of the dead one has ended', () => (helpers.some(isRunning) ? undefined : true))
      t.is(await fixture.shown('objects-usage-view'), undefined, step)
      t.true((await fixture.leftovers()) > 0, step)
      // The lease of a dead process ends by itself; here it is ended at once.
      await db.query((k) => k('leases').update({ until: 0 }))
    }
    await closed(fixture.close(callOf(), closeInput))
    t.is(await fixture.leftovers(), 0)
    t.like(await fixture.shown('objects-usage-view'), { revision: 1 })
  } finally {
    await db.close()
  }
})
