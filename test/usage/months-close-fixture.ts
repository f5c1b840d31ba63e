import test, { type ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { objectsIn } from '../../core/usage/months/month-work.ts'
import type { ObjectUsage } from '../../core/usage/usage-types.ts'
import { callOf } from '../sql/call.ts'
import { eachDatabase } from '../support/databases.ts'
import { end, makeMonthsFixture, month, owner, second, type MonthsFixture } from './months-fixture.ts'

export const closeInput = { ownerId: owner, month }
/** When the month is final. */
export const afterFinal = end + 72 * 3600 + 60

/** The result of a close that must succeed. */
export const closed = async (outcome: ReturnType<MonthsFixture['close']>) => {
  const result = await outcome
  if (isLeft(result)) throw new Error(result.left.message)
  return result.right
}

/** What the objects of the month used, and the digest of what it was computed from. */
export const objectsOf = async (fixture: MonthsFixture, inputs = fixture.inputs) => {
  const { spools } = fixture
  const gathered = await fixture.gatherWith({ inputs })({
    call: callOf(),
    ownerId: owner,
    month,
    asOf: second(end + 3600),
    onProgress: () => undefined,
  })
  const objects: ObjectUsage[] = []
  for (const product of gathered.products)
    for await (const batch of objectsIn(spools, product, product.spooled, { throwIfAborted: () => undefined }))
      objects.push(...batch)
  await gathered.remove()
  return { objects, inputHash: gathered.inputHash }
}

/** Declares a case for each database, in a fixture of its own. */
export const onEachFixture = (
  title: string,
  run: (t: ExecutionContext, fixture: MonthsFixture) => Promise<void>,
): void => {
  for (const database of eachDatabase())
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await run(t, await makeMonthsFixture(db))
      } finally {
        await db.close()
      }
    })
}
