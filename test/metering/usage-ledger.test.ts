import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUsageLedger } from '../../adapters/sql/marketplace/usage-ledger.ts'
import type { MeteringCall, SentUsage } from '../../core/marketplace/metering/types.ts'
import { eachDatabase } from '../support/databases.ts'

const onEach = (title: string, run: (t: ExecutionContext, database: SqlDatabase) => Promise<void>): void => {
  for (const { name, open } of eachDatabase())
    test(`${title}: ${name}`, async (t) => {
      const database = await open()
      t.teardown(() => database.close())
      await run(t, database)
    })
}

const at = new Date('2026-07-14T12:00:00Z')
const hour = (of: number): Date => new Date(Date.UTC(2026, 6, 14, of))
const sent = (changes: Partial<SentUsage> = {}): SentUsage => ({
  key: randomUUID(),
  cloud: 'cloudC',
  scope: randomUUID().replaceAll('-', '').repeat(2),
  start: hour(10),
  end: hour(11),
  askedBy: 'vera',
  product: 'product-1',
  dimension: 'product-1/nodes',
  quantity: '3',
  consumer: 'project:p',
  subscriptionRef: '',
  ...changes,
})
const call = (changes: Partial<MeteringCall> = {}): MeteringCall => ({
  outcome: 'accepted',
  code: '',
  answer: '{"a":1}',
  attempts: 1,
  milliseconds: 12,
  ...changes,
})

/** Claims that end at once, as those of a process that was killed a while ago. */
const ended = { claimMilliseconds: 0, pollMilliseconds: 1 }

onEach('usage is known by its key, and what was accepted stays so', async (t, database) => {
  const ledger = makeSqlUsageLedger(database, ended)
  const usage = sent()
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'send', isDoubtful: false })
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'send', isDoubtful: true }, 'the process may have ended')
  await ledger.settle(usage, 'refused', call({ outcome: 'refused', code: 'X', answer: '' }), at)
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'send', isDoubtful: false })
  await ledger.settle(usage, 'unknown', call({ outcome: 'unknown' }), at)
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'send', isDoubtful: true })
  await ledger.settle(usage, 'accepted', call(), at)
  await ledger.settle(usage, 'refused', call({ outcome: 'refused', answer: '' }), at)
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'accepted', answer: '{"a":1}' })
})

onEach('usage that overlaps other usage of its scope is found, unless that was refused', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const first = sent()
  await ledger.begin(first, true, at)
  await ledger.settle(first, 'accepted', call(), at)
  const { scope } = first
  const times = { start: hour(10), end: new Date(hour(10).getTime() + 1) }
  t.deepEqual(await ledger.begin(sent({ scope, ...times }), true, at), {
    kind: 'overlap',
    start: hour(10),
    end: hour(11),
    state: 'accepted',
  })
  t.like(await ledger.begin(sent({ scope, ...times }), false, at), { kind: 'send' })
  t.like(await ledger.begin(sent({ scope, start: hour(11), end: hour(12) }), true, at), { kind: 'send' })
  t.like(await ledger.begin(sent({ start: hour(10), end: hour(12) }), true, at), { kind: 'send' })
  const other = sent()
  await ledger.begin(other, true, at)
  t.like(await ledger.begin(sent({ scope: other.scope }), true, at), { kind: 'overlap', state: 'sent' })
  await ledger.settle(other, 'refused', call({ outcome: 'refused' }), at)
  t.like(await ledger.begin(sent({ scope: other.scope }), true, at), { kind: 'send' })
})

onEach(
  'of copies that begin at once, on two instances, one is sent; the others get its answer',
  async (t, database) => {
    const instances = [makeSqlUsageLedger(database), makeSqlUsageLedger(database)]
    const usage = sent()
    let sends = 0
    const report = async (index: number) => {
      const ledger = instances[index % 2]!
      const begun = await ledger.begin(usage, true, at)
      if (begun.kind !== 'send') return begun
      sends += 1
      await ledger.settle(usage, 'accepted', call(), at)
      return { kind: 'accepted', answer: '{"a":1}' }
    }
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => report(index)))
    t.is(sends, 1)
    for (const answer of answers) t.deepEqual(answer, { kind: 'accepted', answer: '{"a":1}' })
  },
)

onEach('if the copy that is sent fails, another one is', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const usage = sent()
  let sends = 0
  const report = async () => {
    const begun = await ledger.begin(usage, true, at)
    if (begun.kind !== 'send') return begun.kind
    sends += 1
    await ledger.settle(usage, sends === 1 ? 'unknown' : 'accepted', call(), at)
    return `sent, ${begun.isDoubtful ? 'doubtful' : 'new'}`
  }
  const answers = await Promise.all(Array.from({ length: 4 }, report))
  t.deepEqual(answers.toSorted(), ['accepted', 'accepted', 'sent, doubtful', 'sent, new'])
})

onEach('of reports of overlapping times that begin at once, on two instances, one is sent', async (t, database) => {
  const instances = [makeSqlUsageLedger(database), makeSqlUsageLedger(database)]
  for (let round = 0; round < 10; round += 1) {
    const { scope } = sent()
    const begun = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const start = new Date(hour(10).getTime() + index)
        return instances[index % 2]!.begin(sent({ scope, start }), true, at)
      }),
    )
    t.deepEqual(begun.map(({ kind }) => kind).toSorted(), [...Array<string>(5).fill('overlap'), 'send'])
  }
})

onEach('a claim of a process that ended is taken over, with the same key', async (t, database) => {
  const ledger = makeSqlUsageLedger(database, { claimMilliseconds: 300, pollMilliseconds: 20 })
  const usage = sent()
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'send', isDoubtful: false })
  const begun = await Promise.all([ledger.begin(usage, true, at), database.now()])
  t.deepEqual(begun[0], { kind: 'send', isDoubtful: true })
})

onEach('a caller does not wait for others without end', async (t, database) => {
  const ledger = makeSqlUsageLedger(database, { claimMilliseconds: 200, pollMilliseconds: 5 })
  const usage = sent()
  await ledger.begin(usage, true, at)
  // Others have taken the claim again and again.
  await database.query((k) =>
    k('metering_usage')
      .where('usage_key', usage.key)
      .update({ claimed_until: Date.now() + 3_600_000 }),
  )
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'busy' })
})

onEach('the record is listed whole, by pages and by filters', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const subscriptionRef = randomUUID()
  const all = [
    sent({ subscriptionRef, start: hour(1), end: hour(2) }),
    sent({ start: hour(2), end: hour(3) }),
    sent({ subscriptionRef, start: hour(3), end: hour(4), quantity: '0.25' }),
  ]
  for (const usage of all) await ledger.begin(usage, true, usage.end)
  await ledger.settle(all[0]!, 'accepted', call(), hour(2))
  await ledger.settle(all[2]!, 'refused', call({ outcome: 'refused', code: 'X', answer: '' }), hour(4))
  const page = (number: number, limit = 10) => ({ page: number, limit })
  const keys = async (filter: Parameters<typeof ledger.listUsage>[0], at = page(1)) =>
    (await ledger.listUsage(filter, at)).items.map(({ key }) => key)
  const [first, second, third] = all.map(({ key }) => key)
  t.deepEqual(await keys({}), [third, second, first])
  t.deepEqual(await keys({}, page(2, 2)), [first])
  t.is((await ledger.listUsage({}, page(1, 2))).total, 3)
  t.deepEqual(await keys({ subscriptionRef }), [third, first])
  t.deepEqual(await keys({ outcome: 'sent' }), [second])
  t.deepEqual(await keys({ since: hour(2), until: hour(3) }), [second])
  const { askedBy: _, scope: __, ...words } = all[2]!
  t.deepEqual((await ledger.listUsage({ outcome: 'refused' }, page(1))).items, [
    { ...words, state: 'refused', answer: '', changedAt: hour(4) },
  ])
  const { items } = await ledger.listCalls({ subscriptionRef, since: hour(3) }, page(1))
  t.like(items[0], { key: third, outcome: 'refused', code: 'X', quantity: '0.25', askedBy: 'vera', at: hour(4) })
  t.is(items.length, 1)
  t.is((await ledger.listCalls({ outcome: 'accepted' }, page(1))).items[0]?.key, first)
})

onEach('what is old is removed, the rest stays', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const [old, recent] = [sent({ start: hour(1), end: hour(2) }), sent()]
  for (const usage of [old, recent]) {
    await ledger.begin(usage, true, usage.end)
    await ledger.settle(usage, 'accepted', call(), usage.end)
  }
  while ((await ledger.removeBefore(hour(3), 10)) > 0);
  t.like(await ledger.begin(recent, true, at), { kind: 'accepted' })
  t.like(await ledger.begin(old, true, at), { kind: 'send' })
})

onEach('an answer that is too long for the record is not kept', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const usage = sent()
  await ledger.begin(usage, true, at)
  await ledger.settle(usage, 'accepted', call({ answer: JSON.stringify('x'.repeat(70_000)) }), at)
  t.deepEqual(await ledger.begin(usage, true, at), { kind: 'accepted', answer: '{}' })
})
