import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { callOf } from '../sql/call.ts'
import { makeMonthsWorld, month, owner } from './months-world.ts'

/** Closes a month of the database at the path of the first argument, and stops for good at the step of the second one, which it prints. */
const [path, step] = process.argv.slice(2)

const db = await openDatabase(`sqlite:${path}`)
const { deps, closeWith } = await makeMonthsWorld(db, false)

const stop = (at: string) => async (): Promise<void> => {
  if (step !== at) return
  process.stdout.write(`${at}\n`)
  await new Promise(() => setInterval(() => undefined, 1000))
}

let products = 0
const close = closeWith({
  views: {
    write: async (...given) => {
      products += 1
      if (products === 2) await stop('views')()
      await deps.views.write(...given)
    },
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
await close(callOf(), { ownerId: owner, month })
