import { tmpdir } from 'node:os'
import { isLeft } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { makeClosingProcess } from '../../composition/parts/usage/closing-process.ts'
import { callOf } from '../sql/call.ts'
import { patient } from '../support/databases.ts'
import { makeMonthsFixture, month, owner, unwatchedClosing } from './months-fixture.ts'

/**
 * Closes a month of the database at the URL of the first argument as a service does, and prints the outcome. With a
 * second argument it stops for good at that step, which it prints.
 */
const [url = '', step] = process.argv.slice(2)

const db = await openDatabase(url, { mysql: patient })
const place = { databaseUrl: url, database: { mysql: patient }, dataDir: tmpdir() }
const closing = makeClosingProcess(place, unwatchedClosing)
const { deps, closeWith } = await makeMonthsFixture(db, false)

const stop = (at: string) => async (): Promise<void> => {
  if (step !== at) return
  process.stdout.write(`${at}\n`)
  await new Promise(() => setInterval(() => undefined, 1000))
}

const close = closeWith({
  gather: async (input) => {
    const gathered = await closing.gather(input)
    return {
      ...gathered,
      writeViews: async (...given) => {
        await gathered.writeViews(...given)
        await stop('views')()
      },
    }
  },
  report: { write: stop('report') },
  unitOfWork: {
    run: (call, work) =>
      deps.unitOfWork.run(call, async (stores) => {
        const outcome = await work(stores)
        await stop('publish')()
        return outcome
      }),
  },
})
const closed = await close(callOf(), { ownerId: owner, month })
process.stdout.write(isLeft(closed) ? closed.left.tag : closed.right.isNew ? 'published' : 'unchanged')
await closing.close()
await db.close()
