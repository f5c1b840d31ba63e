import { randomUUID } from 'node:crypto'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlTaskOutbox } from '../../adapters/sql/tasks/task-outbox.ts'
import { makeSqlTaskQueues } from '../../adapters/sql/tasks/task-queue.ts'
import {
  endedStatements,
  makeSqlTaskRetention,
  makeSqlTaskChanges,
  makeSqlTaskStore,
} from '../../adapters/sql/tasks/task-store.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import type { ShownEvent } from '../../composition/parts/tasks/tasks.ts'
import { drawView, emptyView, plainLine, showEvent } from '../../composition/parts/tasks/tasks.ts'
import { printable } from '../../composition/part/command-context.ts'
import type { AccountId, OrgId, UserId } from '../../core/kernel/ids.ts'
import type { Log } from '../../core/kernel/log.ts'
import { makeEventPublisher, makeJournal, makeProgress } from '../../core/tasks/events.ts'
import type { NewTaskEvent, OutboxItem, TaskEnd, TaskOutbox, TaskRetention } from '../../core/tasks/ports.ts'
import { makeRetireTasks } from '../../core/tasks/tasks.ts'
import {
  bounded,
  boundedEnd,
  cancelDecision,
  eachSentenceOnce,
  endEvent,
  mayBecome,
  subjectOf,
} from '../../core/tasks/task-rules.ts'
import { isFinal, taskStates } from '../../core/tasks/types.ts'
import { ResponseId } from '../../plugins/kit/codecs.ts'
import { bindsOf } from '../sql/binds-of.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { aMessage } from './task-bus.suite.ts'
import { taskStoresSuite } from './task-stores.suite.ts'
import type { TaskFixture } from './task-fixture.ts'
import { declareSuite } from '../support/declare-suite.ts'

const state = fc.constantFrom(...taskStates)
const task = { ref: '6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11', title: 'Work', fence: 3 }
const clock = { now: () => new Date('2026-05-01T08:00:00Z') }

test('a final state is for ever, and every other one can end', (t) => {
  fc.assert(fc.property(state, state, (from, to) => !(isFinal(from) && mayBecome(from, to))))
  for (const from of taskStates.filter((each) => !isFinal(each)))
    t.true(
      taskStates.some((to) => isFinal(to) && mayBecome(from, to)),
      from,
    )
  t.false(mayBecome('queued', 'unknown'), 'what was not begun is never lost')
  t.false(mayBecome('queued', 'succeeded'))
})

test('every cancellable state leads to cancelled', (t) => {
  for (const each of taskStates) t.is(isRight(cancelDecision(each)), mayBecome(each, 'cancelled'), each)
  t.deepEqual(cancelDecision('queued'), { _tag: 'Right', right: 'end-now' })
  t.deepEqual(cancelDecision('running'), { _tag: 'Right', right: 'ask-worker' })
})

test('a response id is one bus word of 1 to 64 characters in its case', (t) => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), (id) => {
      const decoded = ResponseId.decode(id)
      return isRight(decoded) && decoded.right === id
    }),
  )
  // What existing clients make: a UUID in either case, an xid, a ULID, a name with a counter.
  for (const id of [
    '6F1CBB1E-52c8-4b7a-9d0e-0c3f0f6f2a11',
    'cq3v8t5ng3bk0a1b2c3g',
    '01J9ZQ4T8X3YB6W7V5N2M1K0PE',
    'install_web-7',
    '7',
    'x'.repeat(64),
  ])
    t.true(isRight(ResponseId.decode(id)), id)
  for (const bad of ['', '*', '>', 'a.b', 'a b', ' a', 'a\n', 'a/b', 'ä', 'x'.repeat(65)])
    t.true(isLeft(ResponseId.decode(bad)), bad)
})

test('ids are UUIDs of version 4, and their subject is two words and one token', (t) => {
  const id = systemEntropy.uuid()
  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.true(isRight(ResponseId.decode(id)))
  t.is(subjectOf(id).split('.').length, 3)
})

test('texts and results of an end are bounded, and the end event says how it ended', (t) => {
  fc.assert(fc.property(fc.string(), fc.nat(50), (text, most) => bounded(text, most + 1).length <= most + 1))
  const huge: TaskEnd = { state: 'failed', message: 'm'.repeat(9000), error: 'e'.repeat(9000), result: { diff: 'x' } }
  const end = boundedEnd(huge, 'x'.repeat(2 * 1024 * 1024))
  t.true(end.message.length <= 1000 && (end.error ?? '').length <= 4000)
  const cut = { isTruncated: true, message: 'The result is larger than 256 KiB and was not kept.' }
  t.deepEqual(end.result, cut)
  const of = (text: string) => boundedEnd({ state: 'succeeded', message: 'm', result: { text } }, text).result
  t.deepEqual(of('x'.repeat(256 * 1024)), { text: 'x'.repeat(256 * 1024) })
  t.deepEqual(of('x'.repeat(256 * 1024 + 1)), cut)
  t.deepEqual(of('ü'.repeat(128 * 1024 + 1)), cut, 'bytes count')
  t.deepEqual(boundedEnd({ state: 'succeeded', message: 'm', result: { a: 1 } }, '{"a":1}'), {
    state: 'succeeded',
    message: 'm',
    result: { a: 1 },
  })
  for (const each of ['succeeded', 'failed', 'cancelled', 'unknown'] as const) {
    const event = endEvent(task, { state: each, message: 'm' }, clock.now())
    t.like(event, {
      id: task.ref,
      status: each === 'succeeded' ? 'Success' : 'Failed',
      data: { state: each },
      isNotable: true,
    })
    t.is(event.error, each === 'succeeded' ? undefined : 'm')
  }
})

const action = fc.oneof(
  fc.record({ do: fc.constant('open' as const), text: fc.string() }),
  fc.record({
    do: fc.constantFrom('say' as const, 'done' as const, 'failed' as const),
    step: fc.nat(5),
    text: fc.string(),
  }),
)

test('each step begins and ends once, whatever a handler reports', (t) => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), fc.boolean(), (actions, isGood) => {
      const events: NewTaskEvent[] = []
      const progress = makeProgress(task, clock, (event) => void events.push(event))
      const steps: ReturnType<typeof progress.step>[] = []
      for (const each of actions) {
        if (each.do === 'open') steps.push(progress.step(each.text))
        else steps[each.step]?.[each.do](each.text)
      }
      progress.closeSteps(isGood)
      const byId = new Map<string, string>()
      for (const { id, status } of events) byId.set(id, `${byId.get(id) ?? ''}${status[0]}`)
      return byId.size === steps.length && [...byId].every(([id, told]) => id !== task.ref && /^SR*[SF]$/.test(told))
    }),
  )
  const said: NewTaskEvent[] = []
  makeProgress(task, clock, (event) => void said.push(event)).say('x'.repeat(5000), {
    level: 'warning',
    data: { much: 'y'.repeat(9000) },
  })
  t.like(said[0], { id: task.ref, status: 'Running', level: 'warning', data: { isTruncated: true } })
  t.is(said[0]?.msg.length, 4000)
})

const journalOf = () => {
  const stored: NewTaskEvent[] = []
  const journal = makeJournal({
    store: async (events) => stored.push(...events) > 0,
    onStored: () => undefined,
    onLost: () => undefined,
  })
  return { journal, all: async () => [...stored, ...(await journal.close())] }
}
const event = (status: NewTaskEvent['status'], msg: string): NewTaskEvent => ({
  at: clock.now(),
  id: 'step',
  status,
  msg,
})

test('the first two thousand lines are kept, and all steps', async (t) => {
  const { journal, all } = journalOf()
  journal.add(event('Started', 'begin'))
  for (let line = 1; line <= 2_500; line += 1) journal.add(event('Running', `line ${line}`))
  journal.add(event('Success', 'end'))
  const kept = await all()
  t.is(kept.length, 2_003)
  t.deepEqual(
    [kept[0], ...kept.slice(-3)].map((each) => each?.msg),
    ['begin', 'line 2000', 'Further lines are not kept.', 'end'],
  )
  t.like(kept.at(-2), { id: 'step', status: 'Running', level: 'warning' })
})

test('of all lines at most a mebibyte is kept', async (t) => {
  const { journal, all } = journalOf()
  for (let line = 0; line < 300; line += 1)
    journal.add({ ...event('Running', 'x'.repeat(4_000)), data: { text: 'y'.repeat(4_000) } })
  const kept = await all()
  t.is(kept.at(-1)?.msg, 'Further lines are not kept.')
  t.true(kept.length > 100 && kept.length < 140, String(kept.length))
})

test('steps beyond a thousand are done unreported, with one notice', (t) => {
  const events: NewTaskEvent[] = []
  const progress = makeProgress(task, clock, (event) => void events.push(event))
  for (let index = 0; index < 1_100; index += 1) {
    const step = progress.step(`Step ${index}`)
    step.say('at work')
    step.done()
  }
  progress.closeSteps(true)
  t.is(events.filter(({ status }) => status === 'Started').length, 1_000)
  t.is(events.filter(({ status }) => status === 'Success').length, 1_000)
  t.deepEqual(
    events.filter(({ id }) => id === task.ref).map(({ msg }) => msg),
    ['Further steps are not told.'],
  )
})

const shown = fc.record({
  seq: fc.nat(),
  at: fc.constant('2026-05-01T08:00:00.000Z'),
  id: fc.constantFrom('t', 's1', 's2', 's3', 's4', 's5', 's6'),
  status: fc.constantFrom(
    'Pending' as const,
    'Started' as const,
    'Running' as const,
    'Success' as const,
    'Failed' as const,
  ),
  msg: fc.string(),
  step: fc.option(fc.string(), { nil: undefined }),
  error: fc.option(fc.string(), { nil: undefined }),
})

test('the display fits its terminal and prints no control characters', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.array(shown, { minLength: 1 }),
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 4, max: 60 }),
        (events, columns, height) => {
          let view = emptyView
          const lines: string[] = []
          for (const event of events as ShownEvent[]) {
            view = showEvent(view, event)
            lines.push(plainLine(view, event))
          }
          const drawn = drawView(view, Date.parse('2026-05-01T09:00:00Z'), columns, height)
          return (
            drawn.length <= Math.max(height, 4) &&
            drawn.every((line) => line.length <= columns && line === printable(line)) &&
            lines.every((line) => line === printable(line))
          )
        },
      ),
    ),
  )
})

const instants = {
  tasks: ['created_at', 'started_at', 'ended_at', 'lease_until'],
  task_outbox: ['held_until'],
} as const

const endedRow = (tenantId: number, ref: string, second: number) => ({
  ref,
  response_id: ref,
  subject: ref,
  kind: 'tiny.work',
  title: 'Work',
  tenant_id: tenantId,
  actor_id: tenantId,
  actor_login: 'ada',
  actor: '{}',
  about: '{}',
  state: 'succeeded',
  digest: Buffer.alloc(32),
  message: 'done',
  created_at: Date.now(),
  ended_at: Date.now() - 3_600_000 + second * 1000,
})

const fixtureOf = (db: SqlDatabase): TaskFixture => {
  const changes = new Map<string, ReturnType<typeof makeSqlTaskChanges>>()
  let accounts = 0
  return {
    tasks: makeSqlTaskStore(db),
    queues: makeSqlTaskQueues(db),
    retention: makeSqlTaskRetention(db),
    outbox: (holder = 'own') => makeSqlTaskOutbox(db, holder),
    change: (work, holder = 'own') => {
      const bind = changes.get(holder) ?? makeSqlTaskChanges(db, holder)
      changes.set(holder, bind)
      return db.transaction((tx) => work(bind(tx)))
    },
    account: async () => {
      accounts += 1
      const name = `account-${accounts}`
      await db.query((k) => k('accounts').insert({ kind: 'user', name, lower_name: name, created_at: 0 }))
      const [row] = await db.query<{ id: number }>((k) => k('accounts').where({ name }).select('id'))
      return Number(row?.id) as UserId
    },
    removeAccount: async (id) => {
      await db.query((k) => k('accounts').where({ id }).delete())
    },
    organization: async (...members) => {
      accounts += 1
      const name = `org-${accounts}`
      await db.query((k) => k('accounts').insert({ kind: 'organization', name, lower_name: name, created_at: 0 }))
      const [row] = await db.query<{ id: number }>((k) => k('accounts').where({ name }).select('id'))
      const id = Number(row?.id) as OrgId
      await db.query((k) => k('organizations').insert({ id, created_at: 0 }))
      for (const user_id of members) {
        await db.query((k) => k('users').insert({ id: user_id, password_hash: '', created_at: 0 }))
        await db.query((k) => k('org_members').insert({ org_id: id, user_id, created_at: 0 }))
      }
      return id
    },
    leave: async (org_id, user_id) => {
      await db.query((k) => k('org_members').where({ org_id, user_id }).delete())
    },
    demandSecondFactor: async (id) => {
      await db.query((k) => k('organizations').where({ id }).update({ two_factor_from: 1 }))
    },
    endedTasks: async (tenantId, count) => {
      const refs = Array.from({ length: count }, () => randomUUID())
      const rows = refs.map((ref, index) => endedRow(tenantId, ref, index))
      for (let at = 0; at < count; at += 40) await db.query((k) => k('tasks').insert(rows.slice(at, at + 40)))
      return refs
    },
    planOfSurplus: async (tenantId) => {
      if (db.dialect === 'mysql') await db.query((k) => k.raw('analyze table tasks'))
      const { count, oldest } = endedStatements(db)
      const binds = { tenantId, most: 1002, limit: 2 }
      const plans: string[] = []
      for (const statement of [count, oldest]) {
        const values = bindsOf(statement, binds)
        plans.push(
          JSON.stringify(
            await db.query((k) =>
              k.raw(`${db.dialect === 'mysql' ? 'explain' : 'explain query plan'} ${statement.sql}`, values as never),
            ),
          ),
        )
      }
      return plans
    },
    age: async (seconds) => {
      for (const [table, columns] of Object.entries(instants)) {
        await db.query((k) =>
          k(table).update(
            Object.fromEntries(columns.map((column) => [column, k.raw('?? - ?', [column, seconds * 1000])])),
          ),
        )
      }
    },
    close: () => db.close(),
  }
}

for (const database of eachDatabase())
  declareSuite(taskStoresSuite, database.name, async () => fixtureOf(await database.open()))

const makeFixture = () => {
  const waiting: OutboxItem[] = []
  const published: number[] = []
  const lines: string[] = []
  const fixture = { isAway: false, left: [] as OutboxItem[], waiting, published, lines }
  const outbox: TaskOutbox = {
    mine: async (limit) => waiting.slice(0, limit),
    waits: async () => waiting.length > 0,
    published: async (ids) => void waiting.splice(0, waiting.length, ...waiting.filter(({ id }) => !ids.includes(id))),
    adopt: async () => waiting.push(...fixture.left.splice(0)) && 0,
    lag: async () => ({ count: waiting.length, oldestSeconds: 0 }),
  }
  const keep = (_: object, message: string): void => void lines.push(message)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const bus = {
    publish: async ({ event }: { readonly event: { readonly seq: number } }) => {
      if (fixture.isAway) throw new Error('away')
      published.push(event.seq)
    },
  }
  const add = (...seqs: readonly number[]): void =>
    void waiting.push(...seqs.map((seq) => ({ id: seq, message: aMessage('t', seq) })))
  return { ...fixture, fixture, add, publisher: makeEventPublisher({ outbox, bus, log }) }
}

test('pending events of a commit are published once, in order', async (t) => {
  const { add, publisher, published, waiting } = makeFixture()
  add(...Array.from({ length: 250 }, (_, i) => i + 1))
  publisher.kick()
  publisher.kick()
  await until('all of it', () => (waiting.length === 0 ? true : undefined))
  publisher.kick()
  await publisher.stop()
  t.deepEqual(
    published,
    Array.from({ length: 250 }, (_, i) => i + 1),
  )
})

test('events survive a bus outage in order, with one log line', async (t) => {
  const { fixture, add, publisher, published, waiting, lines } = makeFixture()
  fixture.isAway = true
  add(1, 2)
  publisher.kick()
  await until('it was noticed', () => (lines.length > 0 ? true : undefined))
  add(3)
  publisher.kick()
  t.deepEqual(published, [])
  fixture.isAway = false
  await until('all of it', () => (waiting.length === 0 ? true : undefined))
  await publisher.stop()
  t.deepEqual(published, [1, 2, 3])
  t.is(lines.filter((line) => line.includes('cannot be published')).length, 1)
})

test('after a stop nothing more is begun', async (t) => {
  const { add, publisher, published } = makeFixture()
  await publisher.stop()
  add(1)
  publisher.kick()
  await new Promise((resolve) => setImmediate(resolve))
  t.deepEqual(published, [])
})

/** Accounts with so many ended tasks each. */
const retentionOf = (counts: Map<AccountId, number>): TaskRetention => ({
  removeEnded: async () => 0,
  abandoned: async () => [],
  tenantsBeyond: async (kept, limit) =>
    [...counts]
      .filter(([, count]) => count > kept)
      .map(([id]) => id)
      .slice(0, limit),
  removeEndedBeyond: async (id, kept, limit) => {
    const count = counts.get(id) ?? 0
    const removed = Math.min(limit, Math.max(0, count - kept))
    counts.set(id, count - removed)
    return removed
  },
})

const retireOver = (retention: TaskRetention) => {
  const lines: object[] = []
  const log = { info: (fields: object) => void lines.push(fields), warn: () => undefined } as unknown as Log
  const unused = (): never => {
    throw new Error('nothing is abandoned here')
  }
  const retire = makeRetireTasks({
    retention,
    log,
    clock: systemClock,
    ownCall: unused,
    unitOfWork: { run: unused },
    publisher: { kick: unused },
  })
  return { retire, lines }
}

test('every account is brought down to a thousand ended tasks', async (t) => {
  const counts = new Map(
    [
      [1, 1_000],
      [2, 1_001],
      [3, 2_400],
      [4, 1_200],
    ].map(([id, count]) => [id as AccountId, count as number]),
  )
  const { retire, lines } = retireOver(retentionOf(counts))
  await retire(new AbortController().signal)
  t.deepEqual([...counts.values()], [1_000, 1_000, 1_000, 1_000])
  t.deepEqual(lines, [{ removed: 1_601, keptEnded: 1_000 }])
})

test('a service that stops removes nothing more', async (t) => {
  const counts = new Map([[1 as AccountId, 5_000]])
  await retireOver(retentionOf(counts)).retire(AbortSignal.abort())
  t.deepEqual([...counts.values()], [5_000])
})

test('an error has a cause once, however many objects it is repeated for', (t) => {
  const cause = 'Get "https://member-cluster/api/v1/namespaces/a": The cluster did not answer in time.'
  const objects = Array.from({ length: 56 }, (_, index) => `ConfigMap ${index}`)
  for (const joint of [' ', '\n', '; ', ' * ', ' && ']) {
    const told = eachSentenceOnce(objects.map((object) => `${object}: ${cause}`).join(joint))
    t.is(told.split('did not answer in time').length, 2, joint)
    for (const object of objects) t.true(told.includes(object), `${joint}${object}`)
  }
  t.is(eachSentenceOnce(`${cause} ${cause} ${cause}`), cause)
  t.is(boundedEnd({ state: 'failed', message: 'm', error: `${cause}\n${cause}` }, undefined).error, cause)
})

test('a text without a repetition is unchanged, and one with short repetitions too', (t) => {
  for (const text of [
    '',
    'a. a. a.',
    'cannot patch "web" with kind Deployment: the field is immutable. The release is recorded as failed.',
    'no: no: no',
  ])
    t.is(eachSentenceOnce(text), text)
})
