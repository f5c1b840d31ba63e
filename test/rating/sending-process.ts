// Collects a month of 60 accounts and sends it to an engine, until it is killed.
import { openPatiently } from '../support/databases.ts'
import { ownerOf, useOf } from './stored-billing.ts'
import { makeTestClock, storedSinks } from './stored-sinks.ts'

const db = await openPatiently(process.argv[2]!)
const clock = makeTestClock('2026-08-05T10:00:00Z')
const { close, collect, create, mapped, send } = storedSinks(db, clock, { kind: 'stripe', url: process.argv[3]! })
await create()
for (let owner = 1; owner <= 60; owner += 1) {
  close({ owner, revision: 1, uses: useOf(ownerOf(owner), '2') })
  await mapped(owner, `cus_${owner}`)
}
await collect()
await send()
