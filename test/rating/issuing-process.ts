// Issues invoices until it is killed, and prints the number of each once it is committed.
import { writeSync } from 'node:fs'
import { makeDraftMonth } from '../../core/rating/invoices/drafts.ts'
import { makeIssueInvoice } from '../../core/rating/invoices/invoices.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { UsageMonthId } from '../../core/usage/types.ts'
import { openPatiently } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { call, clock, july, now, ownerOf, storedBilling, useOf } from './stored-billing.ts'

const db = await openPatiently(process.argv[2]!)
const accounts = 400
const { stores, unitOfWork } = await storedBilling(db, accounts)
const monthOf = (ownerId: AccountId) => ({
  id: 1 as UsageMonthId,
  ownerId,
  month: july,
  revision: 1,
  status: 'final' as const,
  generatedAt: now,
  inputHash: '',
})
const use = { closed: async (ownerId: AccountId) => ({ month: monthOf(ownerId), uses: useOf(ownerId, '3') }) }
const draft = makeDraftMonth({ clock, use, unitOfWork })
const months = { newest: async (ownerId: AccountId) => ({ ...monthOf(ownerId), codeVersion: 1 }) }
const issue = makeIssueInvoice({ clock, invoices: stores.invoices, months, unitOfWork })
const lane = async (first: number): Promise<void> => {
  for (let n = first; n <= accounts; n += 4) {
    const ownerId = ownerOf(n)
    const [made] = unwrap(await draft(call, { ownerId, month: july }))
    writeSync(1, `${unwrap(await issue(call, { ownerId, id: made!.id })).number}\n`)
  }
}
await Promise.all([1, 2, 3, 4].map(lane))
writeSync(1, 'all\n')
