import test from 'ava'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { makeDraftFinalMonths, makeDraftMonth } from '../../core/rating/invoices/drafts.ts'
import { makeIssueInvoice } from '../../core/rating/invoices/invoices.ts'
import { makeWatchSpending } from '../../core/rating/invoices/running.ts'
import type { UsageMonth, UsageMonthId } from '../../core/usage/types.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { call, clock, july, now, ownerOf, storedBilling, useOf } from './stored-billing.ts'

const monthOf = (ownerId: AccountId, revision: number, status: UsageMonth['status'] = 'final'): UsageMonth => ({
  id: 1 as UsageMonthId,
  ownerId,
  month: july,
  revision,
  status,
  generatedAt: now,
  inputHash: '',
})

for (const database of eachDatabase()) {
  test(`${database.name}: twenty issues at once give numbers without gaps`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const { stores, unitOfWork, issuer } = await storedBilling(db, 22)
    const use = { closed: async (ownerId: AccountId) => ({ month: monthOf(ownerId, 1), uses: useOf(ownerId, '3') }) }
    const draft = makeDraftMonth({ clock, use, unitOfWork })
    const drafts: { readonly ownerId: AccountId; readonly id: number }[] = []
    for (let n = 1; n <= 22; n += 1) drafts.push(...unwrap(await draft(call, { ownerId: ownerOf(n), month: july })))
    const months = { newest: async (ownerId: AccountId) => ({ ...monthOf(ownerId, 1), codeVersion: 1 }) }
    const issue = makeIssueInvoice({ clock, invoices: stores.invoices, months, unitOfWork })
    const broken = makeIssueInvoice({
      clock,
      invoices: stores.invoices,
      months,
      unitOfWork: {
        run: (each, work) =>
          unitOfWork.run(each, (own) =>
            work({ ...own, invoices: { ...own.invoices, issue: () => Promise.reject(new Error('the disk is full')) } }),
          ),
      },
    })
    const results = await Promise.allSettled(
      drafts.map(({ ownerId, id }, i) => (i % 11 === 5 ? broken : issue)(call, { ownerId, id: id as never })),
    )
    t.is(results.filter(({ status }) => status === 'rejected').length, 2)
    const numbers = results.flatMap((each) => (each.status === 'fulfilled' ? [unwrap(each.value).number] : []))
    t.deepEqual(
      numbers.toSorted(),
      Array.from({ length: 20 }, (_, i) => `N${String(i + 1).padStart(6, '0')}`),
    )
    t.is((await stores.issuers.find('north'))?.nextNumber, 21)
    const twice = await Promise.all([issue(call, drafts[5] as never), issue(call, drafts[5] as never)])
    t.deepEqual(twice.map(({ _tag }) => _tag).sort(), ['Left', 'Right'])
    t.is((await stores.issuers.lock(issuer.id))?.nextNumber, 22)
    t.is(await stores.pricings.lastInvoiced(1 as ContractId), july)
    t.is((await stores.books.list({ page: 1, limit: 1 })).items[0]?.invoicedTo, july)
    const all: string[] = []
    for await (const { number } of stores.invoices.issuedIn(july, undefined)) all.push(number ?? '')
    t.is(new Set(all).size, 21)
  })
}

const [sqlite] = eachDatabase()

test('the job drafts months that became final once, and again after a new revision', async (t) => {
  const db = await sqlite!.open()
  t.teardown(() => db.close())
  const { stores, unitOfWork } = await storedBilling(db, 2)
  const listed: UsageMonth[] = [monthOf(ownerOf(1), 1), monthOf(ownerOf(2), 1, 'provisional'), monthOf(ownerOf(3), 1)]
  let reads = 0
  const use = {
    closed: async (ownerId: AccountId) => {
      reads += 1
      const month = listed.find((each) => each.ownerId === ownerId)!
      return { month, uses: useOf(ownerId, String(month.revision)) }
    },
  }
  const run = makeDraftFinalMonths({
    clock,
    use,
    unitOfWork,
    months: { listSince: async () => listed },
    invoices: stores.invoices,
    customers: stores.customers,
    onFailure: (_, error) => t.fail(String(error)),
  })
  await run(call)
  await run(call)
  t.is(reads, 1)
  const nets = async () =>
    (await stores.invoices.listOfMonth(ownerOf(1), july)).map(({ net, revision }) => [net, revision])
  t.deepEqual(await nets(), [[1_000n, 1]])
  listed[0] = monthOf(ownerOf(1), 2)
  await run(call)
  t.deepEqual(await nets(), [[2_000n, 2]])
  t.deepEqual(await stores.invoices.listOfMonth(ownerOf(2), july), [])
})

test('each threshold of a spend limit is mailed once, and only the highest', async (t) => {
  const db = await sqlite!.open()
  t.teardown(() => db.close())
  const { stores, unitOfWork, mails } = await storedBilling(db, 1)
  let cpu = '4'
  const watch = makeWatchSpending({
    ...stores,
    clock,
    unitOfWork,
    use: { running: async (ownerId) => useOf(ownerId, cpu) },
    onFailure: (_, error) => t.fail(String(error)),
  })
  const subjects = async (used: string) => {
    cpu = used
    await watch(call)
    await watch(call)
    return mails.splice(0).map(({ subject }) => subject.slice(0, 4))
  }
  t.deepEqual(await subjects('4.999'), [])
  t.deepEqual(await subjects('5'), ['50% '])
  t.deepEqual(await subjects('11'), ['100%'])
  t.deepEqual(await subjects('20'), [])
})
