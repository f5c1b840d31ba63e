import { randomUUID } from 'node:crypto'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { daySeconds, laterByMonths } from '../../core/usage/month.ts'
import { makeCloseDueMonths } from '../../core/usage/months/close.ts'
import { callOf } from '../sql/call.ts'
import { end, fillMonth, month, start } from './months-fixture.ts'
import { afterFinal, closed, closeInput, onEachFixture } from './months-close-fixture.ts'

onEachFixture(
  'a month is provisional, then final; equal events write nothing, and other ones replace the provisional revision only',
  async (t, fixture) => {
    const { a, kind } = await fillMonth(fixture)
    fixture.setNow(end + 60)
    const early = await fixture.close(callOf(), closeInput)
    t.is(isLeft(early) && early.left.tag, 'UsageMonthNotClosable')
    fixture.setNow(end + 1800)
    const first = await closed(fixture.close(callOf(), closeInput))
    t.like(first, { isNew: true, month: { revision: 1, status: 'provisional' }, objectCount: 3 })
    t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: false, month: { id: first.month.id } })
    const before = await fixture.shown('objects-usage-view')
    await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1, memoryMib: 1 }])
    t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: true, month: { revision: 1 } })
    t.notDeepEqual((await fixture.shown('objects-usage-view'))?.json, before?.json)
    t.deepEqual(await fixture.finalMonths.oldest(9), [])
    fixture.setNow(afterFinal)
    t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: true, month: { revision: 1, status: 'final' } })
    const final = await fixture.shown('objects-usage-view')
    await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 2, memoryMib: 2 }])
    t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: false, month: { revision: 1, status: 'final' } })
    t.deepEqual(await fixture.shown('objects-usage-view'), final)
    t.is(await fixture.leftovers(), 0)
    t.is(await fixture.count('usage_months'), 1)
  },
)

onEachFixture(
  'a month is computed again for contracts that change what is shown, although they change no figure',
  async (t, fixture) => {
    const { a } = await fillMonth(fixture)
    fixture.setNow(end + 1800)
    await closed(fixture.close(callOf(), closeInput))
    const isNew = async (): Promise<boolean> => (await closed(fixture.close(callOf(), closeInput))).isNew
    const later = await fixture.contract({ name: 'Later', startsAt: new Date(end * 1000) }, randomUUID())
    t.false(await isNew(), 'a contract that is not in force in the month')
    const setStart = (at: number) =>
      fixture.db.query((k) =>
        k('contracts')
          .where('id', later)
          .update({ starts_at: at * 1000 }),
      )
    await setStart(start + daySeconds)
    t.true(await isNew(), 'a contract without use')
    await fixture.db.query((k) =>
      k('contract_cluster_intervals')
        .where('contract_id', later)
        .update({ cluster_uid: a.uid, bound_from: (start + 2 * daySeconds) * 1000 }),
    )
    t.true(await isNew(), 'a contract of a cluster on which another one comes first')
    const { items } = (await fixture.shown('clusters-usage-view'))?.json as {
      readonly items: readonly { readonly contractIDs: readonly number[] }[]
    }
    t.true(items[0]?.contractIDs.includes(later))
    t.false(await isNew())
    await setStart(end)
    t.true(await isNew(), 'a contract that is not in force in the month any more')
  },
)

onEachFixture('a reopened month has a new revision, and the old one remains readable', async (t, fixture) => {
  const { a, kind } = await fillMonth(fixture)
  const missing = await fixture.close(callOf(), { ...closeInput, as: 'reopen' })
  t.is(isLeft(missing) && missing.left.tag, 'UsageMonthMissing')
  fixture.setNow(afterFinal)
  await closed(fixture.close(callOf(), closeInput))
  const old = await fixture.shown('objects-usage-view')
  await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 2, memoryMib: 2 }])
  t.like(await closed(fixture.close(callOf(), { ...closeInput, as: 'reopen' })), {
    isNew: true,
    month: { revision: 2, status: 'provisional' },
  })
  const again = await fixture.close(callOf(), { ...closeInput, as: 'reopen' })
  t.is(isLeft(again) && again.left.tag, 'UsageMonthNotClosable')
  t.deepEqual((await fixture.shown('objects-usage-view', 'billable', 1))?.json, old?.json)
  t.like(await fixture.shown('objects-usage-view'), { revision: 2, status: 'provisional' })
  t.like(await closed(fixture.close(callOf(), closeInput)), {
    isNew: false,
    month: { revision: 2, status: 'provisional' },
  })
  fixture.setNow(afterFinal + 72 * 3600)
  t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: true, month: { revision: 2, status: 'final' } })
  const actions = await fixture.db.query<{ readonly action: string }>((k) =>
    k('audit_events').orderBy('id').select('action'),
  )
  t.deepEqual(
    actions.map(({ action }) => action),
    ['usage-month.final', 'usage-month.reopened', 'usage-month.final'],
  )
  const [one, two] = await fixture.finalMonths.oldest(9)
  t.like(one, {
    ownerId: closeInput.ownerId,
    month: closeInput.month,
    revision: 1,
    generatedAt: new Date(afterFinal * 1000),
  })
  t.like(two, { month: closeInput.month, revision: 2 })
  t.not(one?.accountName, '')
  await fixture.finalMonths.remove(one!)
  t.deepEqual(await fixture.finalMonths.oldest(9), [two])
})

onEachFixture('two instances that close a month at once publish it once', async (t, fixture) => {
  await fillMonth(fixture)
  const results = await Promise.all([1, 2, 3].map(() => fixture.close(callOf(), closeInput)))
  t.is(results.filter((each) => isRight(each) && each.right.isNew).length, 1)
  t.true(results.every((each) => isRight(each) || each.left.tag === 'UsageMonthBusy'))
  // Without the lease, as after it was lost unnoticed: the later one finds another revision and does not publish.
  fixture.setNow(afterFinal)
  const free = fixture.closeWith({
    leases: {
      acquire: async (name, holder) => ({ name, holder, fence: 1 }),
      renew: async () => true,
      release: async () => undefined,
    },
  })
  const unleased = await Promise.allSettled([1, 2].map(() => free(callOf(), closeInput)))
  t.true(
    unleased.filter((each) => each.status === 'fulfilled' && isRight(each.value) && each.value.right.isNew).length <= 1,
  )
  await closed(fixture.close(callOf(), closeInput))
  t.is(await fixture.count('usage_months'), 1)
  t.like(await fixture.shown('objects-usage-view'), { revision: 1, status: 'final' })
})

onEachFixture(
  'a month is closed where neither its lease nor the revision before can be removed',
  async (t, fixture) => {
    await fillMonth(fixture)
    const failing = () => Promise.reject(new Error('The disk is full.'))
    t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: true })
    fixture.setNow(afterFinal)
    const { leases, months } = fixture.deps
    const close = fixture.closeWith({
      leases: { ...leases, release: failing },
      months: { ...months, remove: failing },
    })
    t.like(await closed(close(callOf(), closeInput)), { isNew: true })
    t.like(await fixture.shown('objects-usage-view'), { revision: 1, status: 'final' })
  },
)

onEachFixture('a failure at any step publishes nothing, and the next run begins again', async (t, fixture) => {
  await fillMonth(fixture)
  /** Fails at the nth call of a port. */
  const failing = <P extends object>(port: P, failAt: { at: number }): P =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...given: readonly unknown[]) => {
          failAt.at -= 1
          if (failAt.at === 0) throw new Error('The disk is full.')
          return Reflect.apply(member, target, given) as unknown
        }
      },
    })
  let steps = 0
  for (; ; steps += 1) {
    const failAt = { at: steps + 1 }
    const { deps } = fixture
    const [inputs, spools, views] = [
      failing(fixture.inputs, failAt),
      { ...failing(fixture.spools, failAt), remove: fixture.spools.remove },
      failing(fixture.views, failAt),
    ]
    const close = fixture.closeWith({
      gather: fixture.gatherWith({ inputs, spools, views }),
      months: failing(deps.months, failAt),
      unitOfWork: failing(deps.unitOfWork, failAt),
      report: failing(deps.report, failAt),
    })
    try {
      if (isRight(await close(callOf(), closeInput))) break
    } catch (error) {
      t.is((error as Error).message, 'The disk is full.')
      t.is(await fixture.shown('objects-usage-view'), undefined)
    }
  }
  t.true(steps > 10)
  t.is(await fixture.leftovers(), 0)
  t.like(await fixture.shown('objects-usage-view'), { revision: 1, status: 'provisional' })
})

onEachFixture(
  'the job closes what is due, oldest first, and one failure does not keep the others',
  async (t, fixture) => {
    await fillMonth(fixture)
    const earlier = laterByMonths(month, -1)
    await fixture.db.query((k) => k('usage_clusters').update({ first_heard: start - daySeconds }))
    const failures: number[] = []
    const job = makeCloseDueMonths({
      months: fixture.deps.months,
      close: fixture.close,
      clock: fixture.deps.clock,
      onFailure: (due) => void failures.push(due.month),
    })
    await job(callOf())
    const listed = async () => (await fixture.deps.months.listSince(earlier)).map((each) => [each.month, each.status])
    t.deepEqual(await listed(), [
      [earlier, 'final'],
      [month, 'provisional'],
    ])
    fixture.setNow(afterFinal)
    const broken = makeCloseDueMonths({
      months: fixture.deps.months,
      close: async () => {
        throw new Error('no')
      },
      clock: fixture.deps.clock,
      onFailure: (due) => void failures.push(due.month),
    })
    await broken(callOf())
    t.deepEqual(failures, [month])
    await job(callOf())
    t.deepEqual(await listed(), [
      [earlier, 'final'],
      [month, 'final'],
    ])
  },
)
