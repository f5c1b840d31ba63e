// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { makeSqlUsageInputs } from '../../adapters/sql/usage/usage-inputs.ts'
import { makeSqlUsageViewStore } from '../../adapters/sql/usage/view-store.ts'
import { daySeconds, laterByMonths } from '../../core/usage/month.ts'
import { makeCloseDueMonths } from '../../core/usage/months/close.ts'
import { makeExplain } from '../../core/usage/months/explain.ts'
import { objectsIn } from '../../core/usage/months/month-work.ts'
import type { ObjectUsage } from '../../core/usage/months/usage-types.ts'
import { callOf } from '../sql/call.ts'
import { childrenOf, isRunning } from '../support/child-processes.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { eachDatabase, migratedMysqlUrl, migratedSqlitePath, patient } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { end, fillMonth, makeMonthsWorld, month, owner, second, start, type MonthsWorld } from './months-world.ts'
import { secondsOfMonth, usageBySecond } from './months-oracle.ts'

const closeInput = { ownerId: owner, month }
const afterFinal = end + 72 * 3600 + 60

const closed = async (outcome: ReturnType<MonthsWorld['close']>) => {
  const result = await outcome
  if (isLeft(result)) throw new Error(result.left.message)
  return result.right
}

const objectsOf = async (world: MonthsWorld, inputs = world.inputs) => {
  const { spools } = world
  const gathered = await world.gatherWith({ inputs })({
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

for (const database of eachDatabase()) {
  const onWorld = (title: string, run: (t: ExecutionContext, world: MonthsWorld) => Promise<void>): void =>
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await run(t, await makeMonthsWorld(db))
      } finally {
        await db.close()
      }
    })

  onWorld('objects are read in order and used what an addition second by second gives', async (t, world) => {
    const { a, contract } = await fillMonth(world)
    const { objects } = await objectsOf(world)
    t.deepEqual(
      objects.map(({ object }) => object.uid.slice(0, 1) + object.uid.slice(-1)),
      ['10', '11', '21'],
    )
    const modes = [{ at: second(start + 15 * daySeconds), eventId: 'm', mode: 'prod' as const }]
    const coverages = [
      {
        contractId: contract,
        termsNumber: 1,
        boundFrom: second(start + 3600),
        from: second(start + 3600),
        to: second(end),
      },
    ]
    const occupied = [
      [{ from: start + 7200, to: end, milliCpu: 100, memoryMib: 10 }],
      [
        { from: start, to: start + 10 * daySeconds, milliCpu: 500, memoryMib: 1024 },
        { from: start + 10 * daySeconds, to: end, milliCpu: 1500, memoryMib: 2048 },
      ],
      [{ from: start + 10 * daySeconds, to: start + 10 * daySeconds + 12_345, milliCpu: 333, memoryMib: 777 }],
    ]
    t.deepEqual(
      objects.map(({ segments }) =>
        segments.map(({ from, to, milliCpu, memoryMib }) => ({
          from: Number(from),
          to: Number(to),
          milliCpu,
          memoryMib,
        })),
      ),
      occupied,
    )
    for (const { object, clusterUid, parts, segments } of objects) {
      const ownSeconds = secondsOfMonth(
        month,
        [{ from: second(start), to: second(end) }],
        clusterUid === a.uid ? modes : [],
        clusterUid === a.uid ? coverages : [],
      )
      const expected = usageBySecond(
        month,
        ownSeconds,
        segments.map((each) => ({ ...each, cutAt: each.to })),
        object.trialEndsAt,
      )
      t.deepEqual(
        new Map(
          parts.map((part) => [
            `${part.contractId} ${part.use}`,
            [part.milliCpuSeconds, part.mebibyteSeconds] as const,
          ]),
        ),
        new Map([...expected.parts].toSorted()),
      )
    }
  })

  onWorld('a thing that did not run in the month is not in its report', async (t, world) => {
    const { a, kind } = await fillMonth(world)
    // Lost before the month began, and one of a cluster that was silent.
    await world.object(a.id, kind, [{ from: start, to: end, cutAt: start, milliCpu: 500, memoryMib: 1 }])
    const silent = await world.cluster()
    await world.db.query((k) => k('usage_presence').where('cluster_id', silent.id).delete())
    await world.object(silent.id, kind, [{ from: start, to: end, milliCpu: 500, memoryMib: 1 }])
    world.setNow(afterFinal)
    t.is((await closed(world.close(callOf(), closeInput))).objectCount, 3)
    for (const view of ['objects-usage-view', 'clusters-usage-view'] as const) {
      const json = (await world.shown(view))?.json as {
        readonly items: readonly unknown[]
        readonly totals: { readonly objectCount: number }
      }
      t.deepEqual([json.items.length, json.totals.objectCount], [view === 'objects-usage-view' ? 3 : 2, 3])
    }
  })

  onWorld('what an object occupied ends where its cluster falls silent, as what is billed does', async (t, world) => {
    const { a, kind } = await fillMonth(world)
    const { uid } = await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
    const hours = Buffer.alloc(93, 0)
    hours[0] = 0xff
    await world.db.query((k) => k('usage_presence').where('cluster_id', a.id).update({ hours }))
    const object = (await objectsOf(world)).objects.find((each) => each.object.uid === uid)
    const occupied = object?.segments.reduce((sum, { from, to, milliCpu }) => sum + BigInt((to - from) * milliCpu), 0n)
    t.is(
      occupied,
      object?.parts.reduce((sum, { milliCpuSeconds }) => sum + milliCpuSeconds, 0n),
    )
    t.true(occupied !== undefined && occupied < BigInt(end - start) * 1000n)
  })

  onWorld('an object that went silent is cut by the close itself, whenever the job ran', async (t, world) => {
    const { a, kind } = await fillMonth(world)
    const { id } = await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
    const silentFrom = start + 5 * daySeconds
    await world.db.query((k) =>
      k('usage_objects')
        .where({ id })
        .update({ sends_heartbeats: true, last_heard_day: silentFrom / daySeconds - 1 }),
    )
    await closed(world.closeWith({ gather: world.gatherWith({ settle: world.settle }) })(callOf(), closeInput))
    const cut = await world.db.query<{ readonly cut_at: number }>((k) =>
      k('usage_intervals').where({ object_id: id, month }).select('cut_at'),
    )
    t.deepEqual(
      cut.map((each) => Number(each.cut_at)),
      [silentFrom],
    )
  })

  onWorld('a cluster with more than is kept in memory gives the same', async (t, world) => {
    const { a, kind } = await fillMonth(world)
    for (let index = 0; index < 30; index += 1)
      await world.object(
        a.id,
        kind,
        Array.from({ length: 40 }, (_, n) => ({
          from: start + n * 60,
          to: start + n * 60 + 60,
          milliCpu: n,
          memoryMib: index,
        })),
      )
    const whole = await objectsOf(world)
    t.is(whole.objects.length, 33)
    const lookedUp = await objectsOf(world, makeSqlUsageInputs(world.db, { maxTextLength: 100 }))
    // A difference between so many values takes AVA minutes to show.
    const plain = ({ objects, inputHash }: typeof whole) => [
      inputHash,
      objects.map(({ object, clusterUid, parts, dailyEvents, segments, modes }) => ({
        object,
        clusterUid,
        parts,
        dailyEvents,
        segments,
        modes,
      })),
    ]
    t.true(isDeepStrictEqual(plain(lookedUp), plain(whole)))
  })

  onWorld(
    'a month is provisional, then final; equal events write nothing, and other ones replace the provisional revision only',
    async (t, world) => {
      const { a, kind } = await fillMonth(world)
      world.setNow(end + 60)
      const early = await world.close(callOf(), closeInput)
      t.is(isLeft(early) && early.left.tag, 'UsageMonthNotClosable')
      world.setNow(end + 1800)
      const first = await closed(world.close(callOf(), closeInput))
      t.like(first, { isNew: true, month: { revision: 1, status: 'provisional' }, objectCount: 3 })
      t.like(await closed(world.close(callOf(), closeInput)), { isNew: false, month: { id: first.month.id } })
      const before = await world.shown('objects-usage-view')
      await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 1, memoryMib: 1 }])
      t.like(await closed(world.close(callOf(), closeInput)), { isNew: true, month: { revision: 1 } })
      t.notDeepEqual((await world.shown('objects-usage-view'))?.json, before?.json)
      t.deepEqual(await world.finalMonths.oldest(9), [])
      world.setNow(afterFinal)
      t.like(await closed(world.close(callOf(), closeInput)), { isNew: true, month: { revision: 1, status: 'final' } })
      const final = await world.shown('objects-usage-view')
      await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 2, memoryMib: 2 }])
      t.like(await closed(world.close(callOf(), closeInput)), { isNew: false, month: { revision: 1, status: 'final' } })
      t.deepEqual(await world.shown('objects-usage-view'), final)
      t.is(await world.leftovers(), 0)
      t.is(await world.count('usage_months'), 1)
    },
  )

  onWorld(
    'a month is computed again for contracts that change what is shown, although they change no figure',
    async (t, world) => {
      const { a } = await fillMonth(world)
      world.setNow(end + 1800)
      await closed(world.close(callOf(), closeInput))
      const isNew = async (): Promise<boolean> => (await closed(world.close(callOf(), closeInput))).isNew
      const later = await world.contract({ name: 'Later', startsAt: new Date(end * 1000) }, randomUUID())
      t.false(await isNew(), 'a contract that is not in force in the month')
      const setStart = (at: number) =>
        world.db.query((k) =>
          k('contracts')
            .where('id', later)
            .update({ starts_at: at * 1000 }),
        )
      await setStart(start + daySeconds)
      t.true(await isNew(), 'a contract without use')
      await world.db.query((k) =>
        k('contract_cluster_intervals')
          .where('contract_id', later)
          .update({ cluster_uid: a.uid, bound_from: (start + 2 * daySeconds) * 1000 }),
      )
      t.true(await isNew(), 'a contract of a cluster on which another one comes first')
      const { items } = (await world.shown('clusters-usage-view'))?.json as {
        readonly items: readonly { readonly contractIDs: readonly number[] }[]
      }
      t.true(items[0]?.contractIDs.includes(later))
      t.false(await isNew())
      await setStart(end)
      t.true(await isNew(), 'a contract that is not in force in the month any more')
    },
  )

  onWorld('a reopened month has a new revision, and the old one remains readable', async (t, world) => {
    const { a, kind } = await fillMonth(world)
    const missing = await world.close(callOf(), { ...closeInput, as: 'reopen' })
    t.is(isLeft(missing) && missing.left.tag, 'UsageMonthMissing')
    world.setNow(afterFinal)
    await closed(world.close(callOf(), closeInput))
    const old = await world.shown('objects-usage-view')
    await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 2, memoryMib: 2 }])
    t.like(await closed(world.close(callOf(), { ...closeInput, as: 'reopen' })), {
      isNew: true,
      month: { revision: 2, status: 'provisional' },
    })
    const again = await world.close(callOf(), { ...closeInput, as: 'reopen' })
    t.is(isLeft(again) && again.left.tag, 'UsageMonthNotClosable')
    t.deepEqual((await world.shown('objects-usage-view', 'billable', 1))?.json, old?.json)
    t.like(await world.shown('objects-usage-view'), { revision: 2, status: 'provisional' })
    t.like(await closed(world.close(callOf(), closeInput)), {
      isNew: false,
      month: { revision: 2, status: 'provisional' },
    })
    world.setNow(afterFinal + 72 * 3600)
    t.like(await closed(world.close(callOf(), closeInput)), { isNew: true, month: { revision: 2, status: 'final' } })
    const actions = await world.db.query<{ readonly action: string }>((k) =>
      k('audit_events').orderBy('id').select('action'),
    )
    t.deepEqual(
      actions.map(({ action }) => action),
      ['usage-month.final', 'usage-month.reopened', 'usage-month.final'],
    )
    const [one, two] = await world.finalMonths.oldest(9)
    t.like(one, {
      ownerId: closeInput.ownerId,
      month: closeInput.month,
      revision: 1,
      generatedAt: new Date(afterFinal * 1000),
    })
    t.like(two, { month: closeInput.month, revision: 2 })
    t.not(one?.accountName, '')
    await world.finalMonths.remove(one?.id ?? 0)
    t.deepEqual(await world.finalMonths.oldest(9), [two])
  })

  onWorld('a namespace has the client organization that its labels name', async (t, world) => {
    const { a, b, kind } = await fillMonth(world)
    const label = 'ace.appscode.com/client-org'
    const organizationsOf = async () =>
      (
        (await world.shown('namespaces-usage-view'))?.json['items'] as {
          clusterUID: string
          namespace: string
          clientOrg: string
        }[]
      )
        .filter(({ clusterUID }) => clusterUID === a.uid)
        .map(({ namespace, clientOrg }) => [namespace, clientOrg])
    for (const namespace of ['acme', 'globex', 'other', 'quoted', 'unlabelled'])
      await world.object(a.id, kind, [{ from: start, to: end, milliCpu: 1, memoryMib: 1 }], { namespace })
    await world.namespace(a.id, 'n-acme', 'acme', { a: '1', [label]: 'true' })
    await world.namespace(a.id, 'n-globex', 'globex', { [label]: 'terminating' })
    await world.namespace(a.id, 'n-other', 'other', { [label]: 'false' })
    await world.namespace(a.id, 'n-quoted', 'quoted', { note: `"${label}":"true"` })
    await world.namespace(b.id, 'n-shop', 'shop', { [label]: 'true' })
    await closed(world.close(callOf(), closeInput))
    t.deepEqual(await organizationsOf(), [
      ['acme', 'acme'],
      ['globex', 'globex'],
      ['other', ''],
      ['quoted', ''],
      ['shop', ''],
      ['unlabelled', ''],
    ])
    // What a namespace belongs to is part of what a month is computed from.
    await world.db.query((k) =>
      k('usage_namespaces')
        .where({ cluster_id: a.id, namespace_uid: 'n-other' })
        .update({ labels: JSON.stringify({ [label]: 'true' }) }),
    )
    t.like(await closed(world.close(callOf(), closeInput)), { isNew: true })
    t.like(await organizationsOf(), { 2: ['other', 'other'] })
  })

  onWorld('two instances that close a month at once publish it once', async (t, world) => {
    await fillMonth(world)
    const results = await Promise.all([1, 2, 3].map(() => world.close(callOf(), closeInput)))
    t.is(results.filter((each) => isRight(each) && each.right.isNew).length, 1)
    t.true(results.every((each) => isRight(each) || each.left.tag === 'UsageMonthBusy'))
    // Without the lease, as after it was lost unnoticed: the later one finds another revision and does not publish.
    world.setNow(afterFinal)
    const free = world.closeWith({
      leases: {
        acquire: async (name, holder) => ({ name, holder, fence: 1 }),
        renew: async () => true,
        release: async () => undefined,
      },
    })
    const unleased = await Promise.allSettled([1, 2].map(() => free(callOf(), closeInput)))
    t.true(
      unleased.filter((each) => each.status === 'fulfilled' && isRight(each.value) && each.value.right.isNew).length <=
        1,
    )
    await closed(world.close(callOf(), closeInput))
    t.is(await world.count('usage_months'), 1)
    t.like(await world.shown('objects-usage-view'), { revision: 1, status: 'final' })
  })

  onWorld('a failure at any step publishes nothing, and the next run begins again', async (t, world) => {
    await fillMonth(world)
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
      const { deps } = world
      const [inputs, spools, views] = [
        failing(world.inputs, failAt),
        { ...failing(world.spools, failAt), remove: world.spools.remove },
        failing(world.views, failAt),
      ]
      const close = world.closeWith({
        gather: world.gatherWith({ inputs, spools, views }),
        months: failing(deps.months, failAt),
        unitOfWork: failing(deps.unitOfWork, failAt),
        report: failing(deps.report, failAt),
      })
      try {
        if (isRight(await close(callOf(), closeInput))) break
      } catch (error) {
        t.is((error as Error).message, 'The disk is full.')
        t.is(await world.shown('objects-usage-view'), undefined)
      }
    }
    t.true(steps > 10)
    t.is(await world.leftovers(), 0)
    t.like(await world.shown('objects-usage-view'), { revision: 1, status: 'provisional' })
  })

  onWorld('the job closes what is due, oldest first, and one failure does not keep the others', async (t, world) => {
    await fillMonth(world)
    const earlier = laterByMonths(month, -1)
    await world.db.query((k) => k('usage_clusters').update({ first_heard: start - daySeconds }))
    const failures: number[] = []
    const job = makeCloseDueMonths({
      months: world.deps.months,
      close: world.close,
      clock: world.deps.clock,
      onFailure: (due) => void failures.push(due.month),
    })
    await job(callOf())
    const listed = async () => (await world.deps.months.listSince(earlier)).map((each) => [each.month, each.status])
    t.deepEqual(await listed(), [
      [earlier, 'final'],
      [month, 'provisional'],
    ])
    world.setNow(afterFinal)
    const broken = makeCloseDueMonths({
      months: world.deps.months,
      close: async () => {
        throw new Error('no')
      },
      clock: world.deps.clock,
      onFailure: (due) => void failures.push(due.month),
    })
    await broken(callOf())
    t.deepEqual(failures, [month])
    await job(callOf())
    t.deepEqual(await listed(), [
      [earlier, 'final'],
      [month, 'final'],
    ])
  })

  onWorld('the pieces that explain a figure add up to it', async (t, world) => {
    const { a, contract, kind } = await fillMonth(world)
    await closed(world.close(callOf(), closeInput))
    const { objects } = await objectsOf(world)
    const explain = makeExplain({
      months: world.deps.months,
      inputs: world.inputs,
      views: makeSqlUsageViewStore(world.db)(world.db),
    })
    for (const { object, clusterUid, parts } of objects) {
      for (const part of parts) {
        const explained = await explain({
          ownerId: owner,
          month,
          product: 'dbProduct',
          clusterUid,
          objectUid: object.uid,
          contractId: part.contractId,
          use: part.use,
        })
        if (isLeft(explained)) throw new Error(explained.left.message)
        let sum = 0n
        for await (const pieces of explained.right.pieces)
          for (const piece of pieces) sum += BigInt(piece.milliCpu) * BigInt(piece.to - piece.from)
        t.is(sum, part.milliCpuSeconds)
        t.false(await explained.right.hasChanged())
      }
    }
    const segments = await explain({
      ownerId: owner,
      month,
      product: 'dbProduct',
      clusterUid: a.uid,
      objectUid: undefined,
      contractId: undefined,
      use: undefined,
    })
    t.deepEqual(
      isRight(segments) &&
        segments.right.segments.map(({ from, to, mode, contractId }) => [from - start, to - start, mode, contractId]),
      [
        [0, 3600, 'non-prod', 0],
        [3600, 15 * daySeconds, 'non-prod', contract],
        [15 * daySeconds, end - start, 'prod', contract],
      ],
    )
    const unknown = await explain({
      ownerId: owner,
      month,
      product: 'dbProduct',
      clusterUid: 'no',
      objectUid: undefined,
      contractId: undefined,
      use: undefined,
    })
    t.is(isLeft(unknown) && unknown.left.tag, 'UsageMonthMissing')

    await world.object(a.id, kind, [{ from: start, to: start + daySeconds, milliCpu: 1000, memoryMib: 0 }])
    const later = await explain({
      ownerId: owner,
      month,
      product: 'dbProduct',
      clusterUid: a.uid,
      objectUid: objects[0]?.object.uid,
      contractId: undefined,
      use: undefined,
    })
    if (isLeft(later)) throw new Error(later.left.message)
    for await (const _ of later.right.pieces);
    t.true(await later.right.hasChanged(), 'what was reported since then')
  })
}

if (!isSwitchedOff('mariadb'))
  test('a server that cuts long texts off, as MySQL does at 1 KiB, gives the same months', async (t) => {
    const url = await migratedMysqlUrl()
    const db = await openDatabase(url, { mysql: patient })
    // One connection, whose session has the setting.
    const short = await openDatabase(url, { mysql: { ...patient, connectionLimit: 1 } })
    t.teardown(async () => {
      await short.close()
      await db.close()
    })
    const world = await makeMonthsWorld(db)
    const { a, kind } = await fillMonth(world)
    for (const count of [1, 2, 18, 19, 20, 40])
      await world.object(
        a.id,
        kind,
        Array.from({ length: count }, (_, n) => ({
          from: start + n * 60,
          to: start + n * 60 + 60,
          milliCpu: n,
          memoryMib: count,
        })),
      )
    const whole = await objectsOf(world)
    t.is(whole.objects.length, 9)
    for (const length of [4, 64, 1024]) {
      await short.query((k) => k.raw(`set session group_concat_max_len = ${length}`))
      t.deepEqual(await short.query((k) => k.raw('select @@group_concat_max_len as length')), [{ length }])
      // Nothing is kept from the session before.
      for (const options of [{}, { maxTextLength: 100 }])
        t.true(isDeepStrictEqual(await objectsOf(world, makeSqlUsageInputs(short, options)), whole), `${length}`)
    }
  })

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
    const world = await makeMonthsWorld(db)
    await fillMonth(world)
    const outcomes = await Promise.all([1, 2, 3].map(() => text(startClosing(url).stdout)))
    t.is(outcomes.filter((outcome) => outcome === 'published').length, 1, outcomes.join())
    t.deepEqual(
      outcomes.filter((outcome) => !['published', 'unchanged', 'UsageMonthBusy'].includes(outcome)),
      [],
    )
    t.is(await world.leftovers(), 0)
    t.is(await world.count('usage_months'), 1)
    t.like(await world.shown('objects-usage-view'), { revision: 1 })
  })

test('a process that is killed while it writes leaves no half month', async (t) => {
  const path = await migratedSqlitePath()
  const db = await openDatabase(`sqlite:${path}`)
  try {
    const world = await makeMonthsWorld(db)
    await fillMonth(world)
    for (const step of ['views', 'report', 'publish']) {
      const child = startClosing(`sqlite:${path}`, step)
      await once(child.stdout, 'data')
      const helpers = process.platform === 'linux' ? childrenOf(child.pid ?? 0) : []
      child.kill('SIGKILL')
      await once(child, 'exit')
      if (process.platform === 'linux') t.is(helpers.length, 1, step)
      await until('the process of the dead one has ended', () => (helpers.some(isRunning) ? undefined : true))
      t.is(await world.shown('objects-usage-view'), undefined, step)
      t.true((await world.leftovers()) > 0, step)
      // The lease of a dead process ends by itself; here it is ended at once.
      await db.query((k) => k('leases').update({ until: 0 }))
    }
    await closed(world.close(callOf(), closeInput))
    t.is(await world.leftovers(), 0)
    t.like(await world.shown('objects-usage-view'), { revision: 1 })
  } finally {
    await db.close()
  }
})
