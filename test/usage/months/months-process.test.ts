// process: own - ends processes
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import type { HelperUse } from '../../../adapters/system/helper-processes.ts'
import { makeHelperProcesses } from '../../../adapters/system/helper-processes.ts'
import { openOtlpTracing } from '../../../adapters/tracing/otlp-tracing.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { ClosingWatch } from '../../../composition/parts/usage/closing-process.ts'
import { makeClosingProcess } from '../../../composition/parts/usage/closing-process.ts'
import { closingLanes } from '../../../composition/parts/usage/closing-threads.ts'
import { makeReportWork } from '../../../composition/parts/usage/closing-work.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { daySeconds } from '../../../core/usage/month.ts'
import type { CloseMonth } from '../../../core/usage/months/close.ts'
import type { UsageMonthId } from '../../../core/usage/types.ts'
import { callOf } from '../../sql/call.ts'
import { childrenOf, isRunning } from '../../support/child-processes.ts'
import { isSwitchedOff } from '../../support/components/names.ts'
import { migratedMysqlUrl, migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { until } from '../../support/until.ts'
import {
  fillMonth,
  makeMonthsFixture,
  month,
  owner,
  start,
  end,
  type MonthsFixture,
  unwatchedClosing,
} from '../months-fixture.ts'

/** Months that are closed in a process of their own, on threads, as the service does it. */

const folder = mkdtempSync(join(tmpdir(), 'moorage-closing-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const processOn = (databaseUrl: string, watch: Partial<ClosingWatch> = {}) =>
  makeClosingProcess({ databaseUrl, database: {}, dataDir: folder }, { ...unwatchedClosing, ...watch })

const onDatabase = (
  title: string,
  run: (t: ExecutionContext, fixture: MonthsFixture, url: string) => Promise<void>,
): void => {
  const urls = [
    async () => `sqlite:${await migratedSqlitePath()}`,
    ...(isSwitchedOff('mariadb') ? [] : [migratedMysqlUrl]),
  ]
  for (const makeUrl of urls) {
    test.serial(`${makeUrl === migratedMysqlUrl ? 'mysql' : 'sqlite'}: ${title}`, async (t) => {
      const url = await makeUrl()
      const db = await openPatiently(url)
      try {
        await run(t, await makeMonthsFixture(db), url)
      } finally {
        await db.close()
      }
    })
  }
}

/** All views of a revision as they are stored. */
const textsOf = async ({ views }: MonthsFixture, id: UsageMonthId) => {
  const texts = new Map<string, string>()
  for (const view of await views.listOf(id)) {
    const items: string[] = []
    for await (const piece of views.pieces(view)) items.push(piece)
    texts.set(Object.values(view.key).join(' '), [view.head, ...items, view.tail].join('|'))
  }
  return texts
}

/** The report is written after the last part of the views. */
const isStep = (step: string, text: string, done: number, of: number): boolean =>
  step === 'report' ? text === 'parts of the views written' && done === of : text === step

onDatabase('another process writes the same bytes as this one, and so do two passes', async (t, fixture, url) => {
  const { kind } = await fillMonth(fixture)
  const others = [kind, await fixture.kind('backupProduct', 'Backup'), await fixture.kind('dbProduct', 'Redis')]
  for (let index = 0; index < 40; index += 1) {
    const { id } = await fixture.cluster()
    for (const each of others)
      await fixture.object(id, each, [
        { from: start, to: start + 1000 + index, milliCpu: 100 + index, memoryMib: 7 },
        { from: start + 5000, to: end, milliCpu: index, memoryMib: 3 * index, cutAt: end - 1000 },
      ])
  }
  const closing = processOn(url)
  try {
    const first = await fixture.close(callOf(), { ownerId: owner, month, as: 'final' })
    const second = await fixture.closeWith({ gather: closing.gather })(callOf(), {
      ownerId: owner,
      month,
      as: 'reopen',
    })
    if (isLeft(first) || isLeft(second)) return t.fail()
    t.is(second.right.objectCount, 123)
    t.true(second.right.isNew)
    const expected = await textsOf(fixture, first.right.month.id)
    t.true(expected.size > 20)
    t.deepEqual(await textsOf(fixture, second.right.month.id), expected)
    // What is read is the same as well: nothing is written a second time.
    const again = await fixture.close(callOf(), { ownerId: owner, month })
    t.like(again, { right: { isNew: false, month: { id: second.right.month.id } } })
    const inTwoPasses = fixture.gatherWith({ lanes: { gather: 2, views: () => 2 } })
    const third = await fixture.closeWith({ gather: inTwoPasses })(callOf(), { ownerId: owner, month, as: 'final' })
    if (isLeft(third)) return t.fail()
    t.true(third.right.isNew)
    t.deepEqual(await textsOf(fixture, third.right.month.id), expected)
  } finally {
    await closing.close()
  }
})

test('writing leaves a core to requests, but for a large month on a database server', (t) => {
  const [sqlite, server] = [closingLanes('sqlite:/data/moorage.sqlite', 2), closingLanes('mysql://u:p@db/moorage', 2)]
  t.deepEqual([sqlite.gather, sqlite.views(1e6), server.gather, server.views(1000), server.views(1e6)], [2, 1, 2, 1, 2])
  t.deepEqual(
    [closingLanes('mysql://u:p@db/moorage', 1).views(1e6), closingLanes('sqlite:/data/moorage.sqlite', 4).views(1000)],
    [1, 2],
  )
})

/** The pieces of the report of a revision. */
const piecesOf = async ({ db }: MonthsFixture, id: UsageMonthId) =>
  (
    await db.query<{ readonly body: Uint8Array }>((k) =>
      k('usage_reports').where({ month_id: id }).orderBy('piece').select('body'),
    )
  ).map(({ body }) => Buffer.from(body))

onDatabase('the report that another process writes has the same bytes', async (t, fixture, url) => {
  const { a, kind } = await fillMonth(fixture)
  await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
  const [closing, renderer] = [processOn(url), makePdfRenderer()]
  try {
    const closed = await fixture.closeWith(closing)(callOf(), { ownerId: owner, month })
    if (isLeft(closed)) return t.fail()
    const written = await piecesOf(fixture, closed.right.month.id)
    await fixture.db.query((k) => k('usage_reports').where({ month_id: closed.right.month.id }).delete())
    await makeReportWork(fixture.db, renderer).write(closed.right.month, new AbortController().signal)
    t.is(Buffer.concat(written).subarray(0, 5).toString(), '%PDF-')
    t.deepEqual(written, await piecesOf(fixture, closed.right.month.id))
  } finally {
    await closing.close()
    await renderer.close()
  }
})

onDatabase('the process completes the month first: an object that went silent is cut', async (t, fixture, url) => {
  const { a, kind } = await fillMonth(fixture)
  const { id } = await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
  const silentFrom = start + 5 * daySeconds
  await fixture.db.query((k) =>
    k('usage_objects')
      .where({ id })
      .update({ sends_heartbeats: true, last_heard_day: silentFrom / daySeconds - 1 }),
  )
  const closing = processOn(url)
  try {
    t.like(await fixture.closeWith({ gather: closing.gather })(callOf(), { ownerId: owner, month }), {
      right: { isNew: true },
    })
    const cut = await fixture.db.query<{ readonly cut_at: number }>((k) =>
      k('usage_intervals').where({ object_id: id, month }).select('cut_at'),
    )
    t.deepEqual(
      cut.map((each) => Number(each.cut_at)),
      [silentFrom],
    )
  } finally {
    await closing.close()
  }
})

onDatabase(
  'a close that is aborted publishes nothing, and its process is of use afterwards',
  async (t, fixture, url) => {
    await fillMonth(fixture)
    const closing = processOn(url)
    const close = fixture.closeWith(closing)
    const lastSteps: string[] = []
    try {
      for (const step of ['clusters read', 'parts of the views written', 'report']) {
        const stop = new AbortController()
        const onProgress = (text: string, done: number, of: number): void => {
          if (isStep(step, text, done, of)) stop.abort(new Error('The service stops.'))
        }
        await t.throwsAsync(close({ ...callOf(), signal: stop.signal }, { ownerId: owner, month, onProgress }), {
          message: 'The service stops.',
        })
        t.is(await fixture.shown('objects-usage-view'), undefined)
      }
      t.like(await close(callOf(), { ownerId: owner, month, onProgress: (text) => void lastSteps.push(text) }), {
        right: { isNew: true },
      })
      t.is(lastSteps.at(-1), 'published')
      t.is(await fixture.leftovers(), 0)
    } finally {
      await closing.close()
    }
  },
)

test.serial('a failure in the process fails the close and publishes nothing', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  const closing = processOn(`sqlite:${join(folder, 'without-tables.sqlite')}`)
  try {
    const fixture = await makeMonthsFixture(db)
    await fillMonth(fixture)
    await t.throwsAsync(fixture.closeWith({ gather: closing.gather })(callOf(), { ownerId: owner, month }), {
      message: /no such table/,
    })
    t.is(await fixture.shown('objects-usage-view'), undefined)
    t.like(await fixture.close(callOf(), { ownerId: owner, month }), { right: { isNew: true } })
    t.is(await fixture.leftovers(), 0)
  } finally {
    await closing.close()
    await db.close()
  }
})

test.serial('a database that does not answer the process is unavailable to the close', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  // Nothing listens on port 1.
  const closing = processOn('mysql://nobody@127.0.0.1:1/nothing')
  try {
    const fixture = await makeMonthsFixture(db)
    await fillMonth(fixture)
    await t.throwsAsync(fixture.closeWith({ gather: closing.gather })(callOf(), { ownerId: owner, month }), {
      instanceOf: Unavailable,
    })
  } finally {
    await closing.close()
    await db.close()
  }
})

/**
 * Declares a test on SQLite. `close` closes the month in another process, which ends after `idleAfter` milliseconds
 * without work.
 */
const onProcess = (
  title: string,
  run: (t: ExecutionContext, fixture: MonthsFixture, close: CloseMonth) => Promise<void>,
  idleAfter?: number,
): void =>
  test.serial(title, async (t) => {
    if (process.platform !== 'linux') return t.pass('processes are found on Linux alone')
    const url = `sqlite:${await migratedSqlitePath()}`
    const db = await openPatiently(url)
    const closing = processOn(url, definedFields({ idleAfter }))
    try {
      const fixture = await makeMonthsFixture(db)
      await fillMonth(fixture)
      await run(t, fixture, fixture.closeWith(closing))
    } finally {
      await closing.close()
      await db.close()
    }
  })

/** The database server is a child of the tests, too. */
const closingOf = (parent: number): readonly number[] =>
  childrenOf(parent).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('moorage: closes'))

onProcess('a process that is killed fails the close, and the next close has another one', async (t, fixture, close) => {
  for (const step of ['clusters read', 'parts of the views written', 'report']) {
    const onProgress = (text: string, done: number, of: number): void => {
      if (isStep(step, text, done, of)) for (const child of closingOf(process.pid)) process.kill(child, 'SIGKILL')
    }
    await t.throwsAsync(close(callOf(), { ownerId: owner, month, onProgress }), {
      instanceOf: Unavailable,
      message: 'The process that closes months ended by SIGKILL.',
    })
    t.is(await fixture.shown('objects-usage-view'), undefined)
  }
  t.like(await close(callOf(), { ownerId: owner, month }), { right: { isNew: true } })
  t.is(await fixture.leftovers(), 0)
})

/** A thread may end while it is read. */
const prioritiesOfThreads = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return [getPriority(Number(thread))]
    } catch {
      return []
    }
  })

onProcess(
  'the process has low priority, ignores the signals of a terminal, and ends when it has nothing to do',
  async (t, _fixture, close) => {
    let pid = 0
    const onProgress = (): void => {
      if (pid !== 0) return
      pid = closingOf(process.pid)[0] ?? 0
      process.kill(pid, 'SIGINT')
      process.kill(pid, 'SIGTERM')
      t.is(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '500')
      t.is(getPriority(pid), 10)
      t.deepEqual(new Set(prioritiesOfThreads(pid)), new Set([10]))
    }
    t.like(await close(callOf(), { ownerId: owner, month, onProgress }), { right: { isNew: true } })
    await until('the process has ended', () => (pid !== 0 && !isRunning(pid) ? true : undefined))
    t.like(await close(callOf(), { ownerId: owner, month }), { right: { isNew: false } })
  },
  0,
)

onProcess('a frozen process is ended when the close is aborted', async (t, fixture, close) => {
  const stop = new AbortController()
  let frozen = 0
  const onProgress = (): void => {
    if (frozen !== 0) return
    frozen = closingOf(process.pid)[0] ?? 0
    process.kill(frozen, 'SIGSTOP')
    stop.abort(new Error('The service stops.'))
  }
  await t.throwsAsync(close({ ...callOf(), signal: stop.signal }, { ownerId: owner, month, onProgress }), {
    message: 'The service stops.',
  })
  t.true(frozen > 0)
  await until('the frozen process has ended', () => (isRunning(frozen) ? undefined : true))
  t.is(await fixture.shown('objects-usage-view'), undefined)
})

onDatabase('what the process did is counted, and remains after its end', async (t, fixture, url) => {
  const { a, kind } = await fillMonth(fixture)
  await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
  const lines: object[] = []
  const log = { debug: (fields: object) => void lines.push(fields), warn: (fields: object) => void lines.push(fields) }
  const helpers = makeHelperProcesses(log, ['closing'])
  const closing = processOn(url, { helpers, log })
  const use = () => helpers.uses().get('closing') as HelperUse
  try {
    const close = fixture.closeWith(closing)
    t.like(await close(callOf(), { ownerId: owner, month }), { right: { isNew: true } })
    const first = use()
    t.is(first.running, 1)
    t.true(first.counts.statements.count > 0 && first.counts.statements.seconds > 0)
    t.like(first.counts.pools, { 'closing-threads': { running: 0, waiting: 0 }, reports: { waits: 1, running: 0 } })
    t.true((first.counts.pools['closing-threads']?.waits ?? 0) > 0)
    await closing.close()
    const ended = use()
    t.like(ended, { running: 0, ends: { done: 1, failed: 0, killed: 0 }, lives: { count: 1 } })
    t.deepEqual(ended.counts.statements, first.counts.statements)
    t.true(ended.cpuSeconds > 0 && ended.lives.seconds > 0)
    t.true(ended.peakBytes > 30_000_000)
    t.like(lines, [{ program: 'closing', end: 'done', exitCode: 0 }])

    const onProgress = (text: string, done: number, of: number): void => {
      if (isStep('report', text, done, of)) closingOf(process.pid).forEach((child) => process.kill(child, 'SIGKILL'))
    }
    await fixture.object(a.id, kind, [{ from: start + 5, to: end, milliCpu: 1, memoryMib: 1 }])
    await t.throwsAsync(close(callOf(), { ownerId: owner, month, as: 'final', onProgress }), {
      instanceOf: Unavailable,
    })
    const killed = use()
    t.like(killed, { running: 0, ends: { done: 1, killed: 1 }, lives: { count: 2 } })
    // The views were written, which says what was done for them.
    t.true(killed.counts.statements.count > ended.counts.statements.count)
    t.true(killed.cpuSeconds > ended.cpuSeconds)
    t.like(lines.at(-1), { program: 'closing', end: 'killed', signal: 'SIGKILL' })
  } finally {
    await closing.close()
  }
})

onDatabase('the work of the process continues the trace of the close', async (t, fixture, url) => {
  const { a, kind } = await fillMonth(fixture)
  await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
  const receiver = await startOtlpReceiver()
  const traces = { endpoint: receiver.url, headers: {}, percent: 100, release: '0.0.0', instanceId: 'one' }
  const tracing = await openOtlpTracing({ ...traces, onTrouble: (reason) => t.log(reason) })
  const closing = processOn(url, { tracing, traces })
  try {
    const close = fixture.closeWith(closing)
    const closed = await tracing.span({ name: 'close' }, () => close(callOf(), { ownerId: owner, month }))
    t.like(closed, { right: { isNew: true } })
  } finally {
    await closing.close()
    await tracing.close()
    await receiver.stop()
  }
  const { spans } = receiver
  const named = (name: string) => spans.filter((span) => span.name === name)
  const root = named('close')[0]
  t.deepEqual([...new Set(spans.map(({ traceId }) => traceId))], [root?.traceId])
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  const parentsOf = (name: string) => [...new Set(named(name).map((span) => nameOf.get(span.parentSpanId ?? '')))]
  for (const [asked, work] of [
    ['gather', 'gather'],
    ['views', 'writeViews'],
    ['report', 'writeReport'],
  ] as const)
    t.deepEqual(parentsOf(`closing ${work}`), [`process closing: ${asked}`])
  t.deepEqual(
    [parentsOf('thread gather'), parentsOf('thread writeViews')],
    [['closing gather'], ['closing writeViews']],
  )
  t.deepEqual(named('wait closing-threads'), [], 'the work of one month has a thread at once')
  t.true(named('thread gather').some(({ attributes }) => attributes.some(({ key }) => key === 'moorage.statements')))
  const within = spans.filter((span) => nameOf.get(span.parentSpanId ?? '') === 'closing writeReport')
  t.true(within.some(({ name }) => name.startsWith('SELECT ')))
  t.deepEqual(receiver.faults, [])
})
