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

onEach('usage is known by its key, and what was accepted stays so', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
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

onEach('copies that begin at once have one row', async (t, database) => {
  const ledger = makeSqlUsageLedger(database)
  const usage = sent()
  const begun = await Promise.all(Array.from({ length: 8 }, () => ledger.begin(usage, false, at)))
  t.true(begun.every(({ kind }) => kind === 'send'))
  const rows = await database.query((k) => k('metering_usage').where('usage_key', usage.key))
  t.is(rows.length, 1)
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
