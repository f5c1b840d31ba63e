// process: own - replaces the clock
import test from 'ava'
import sinon from 'sinon'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlTaskChanges, makeSqlTaskStore } from '../../adapters/sql/tasks/task-store.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { TaskEnd, TaskRun } from '../../core/tasks/ports.ts'
import type { Task } from '../../core/tasks/types.ts'
import { isFinal } from '../../core/tasks/types.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { unwrap } from '../support/outcome.ts'
import { aTask } from './task-fixture.ts'
import { startTestWorker } from './worker-fixture.ts'

const good = (message = 'done'): TaskEnd => ({ state: 'succeeded', message })

const fixtureOf = async (database = eachDatabase()[0]!) => {
  const db = await database.open()
  const changes = makeSqlTaskChanges(db, 'here')
  const tasks = makeSqlTaskStore(db)
  return {
    db,
    tasks,
    account: (name: string) => anAccount(db, name),
    accept: (tenant: AccountId, title = 'Work'): Promise<Task> =>
      db.transaction(async (tx) => unwrap(await changes(tx).insert(aTask(tenant, { title })))),
    end: (ref: string) =>
      until(`the end of ${ref}`, async () => {
        const found = await tasks.find(ref)
        return found !== undefined && isFinal(found.task.state) ? found.task : undefined
      }),
    cancel: (task: Task) => db.transaction((tx) => changes(tx).requestCancel(task.id)),
  }
}

const anAccount = async (db: SqlDatabase, name: string): Promise<UserId> => {
  await db.query((k) => k('accounts').insert({ kind: 'user', name, lower_name: name, created_at: 0 }))
  const [row] = await db.query<{ id: number }>((k) => k('accounts').where({ name }).select('id'))
  return Number(row?.id) as UserId
}

const gate = () => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

test.serial('a stopped worker leaves no timer, so that the process can end', async (t) => {
  const { db } = await fixtureOf()
  const clock = sinon.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  t.teardown(() => clock.restore())
  const { worker } = startTestWorker(db, {
    kind: { kind: 'tiny.work', run: async () => good(), recover: async () => good() },
  })
  t.true(await worker.stop(22_000))
  t.is(clock.countTimers(), 0)
})

test('tasks are limited to the workers, one of which serves other tenants', async (t) => {
  const fixture = await fixtureOf()
  const [busy, late] = [await fixture.account('busy'), await fixture.account('late')]
  const running = new Set<string>()
  let most = 0
  const release = gate()
  const run = async ({ task }: TaskRun): Promise<TaskEnd> => {
    running.add(task.ref)
    most = Math.max(most, running.size)
    await release.opened
    running.delete(task.ref)
    return good()
  }
  const orders = []
  for (let i = 0; i < 6; i++) orders.push(await fixture.accept(busy))
  const { worker, bus } = startTestWorker(fixture.db, {
    kind: { kind: 'tiny.work', run, recover: async () => good() },
    workers: 3,
  })
  await until('two of three are busy', () => (running.size === 2 ? true : undefined))
  const other = await fixture.accept(late)
  bus.wake()
  await until('the late one is served at once', () => (running.has(other.ref) ? true : undefined))
  release.open()
  for (const { ref } of [...orders, other]) t.is((await fixture.end(ref)).state, 'succeeded')
  t.is(most, 3)
  t.true(await worker.stop(1_000))
})

test('work of a deleted user is not started', async (t) => {
  const fixture = await fixtureOf()
  const task = await fixture.accept(await fixture.account('ada'))
  let runs = 0
  const run = async (): Promise<TaskEnd> => {
    runs += 1
    return good()
  }
  const { worker } = startTestWorker(fixture.db, {
    kind: { kind: 'tiny.work', run, recover: run },
    isActorGone: () => true,
  })
  t.like(await fixture.end(task.ref), { state: 'failed', message: 'Work: not begun.', error: 'ada is gone.' })
  t.is(runs, 0)
  await worker.stop(1_000)
})

test('work without a renewed lease ends before it and writes nothing', async (t) => {
  const fixture = await fixtureOf()
  const task = await fixture.accept(await fixture.account('ada'))
  const seen: unknown[] = []
  const written: string[] = []
  const run = async ({ signal, progress, callNow }: TaskRun): Promise<TaskEnd> => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    seen.push(signal.reason, (await callNow())._tag)
    progress.say('too late')
    return good()
  }
  const { worker, lines } = startTestWorker(fixture.db, {
    kind: { kind: 'tiny.work', run, recover: async () => good() },
    leaseSeconds: 2,
    around: (queue) => ({
      ...queue,
      renew: () => Promise.reject(new Error('away')),
      record: (...args) => {
        written.push('record')
        return queue.record(...args)
      },
      end: (...args) => {
        written.push('end')
        return queue.end(...args)
      },
      claim: async (options) => (seen.length === 0 ? queue.claim(options) : undefined),
    }),
  })
  await until('the worker gave up', () =>
    lines.some((line) => line.includes('taken over by another worker')) ? true : undefined,
  )
  t.deepEqual(seen, ['lease-lost', 'Left'])
  t.deepEqual(
    written.filter((what) => what === 'end'),
    [],
  )
  t.is((await fixture.tasks.find(task.ref))?.task.state, 'running')
  await worker.stop(1_000)
})

test('an end that the database does not take at first is written later', async (t) => {
  const fixture = await fixtureOf()
  const task = await fixture.accept(await fixture.account('ada'))
  let refusals = 2
  const { worker } = startTestWorker(fixture.db, {
    kind: {
      kind: 'tiny.work',
      run: async ({ progress }) => {
        progress.say('kept')
        return good()
      },
      recover: async () => good(),
    },
    around: (queue) => ({
      ...queue,
      end: (...args) => (refusals-- > 0 ? Promise.reject(new Error('away')) : queue.end(...args)),
    }),
  })
  t.is((await fixture.end(task.ref)).state, 'succeeded')
  t.deepEqual(
    (await fixture.tasks.events(task.id, 0, 10)).map(({ msg }) => msg),
    ['Work started!', 'kept', 'done'],
  )
  await worker.stop(1_000)
})

test('a task that kills its workers is given up', async (t) => {
  const fixture = await fixtureOf()
  const task = await fixture.accept(await fixture.account('ada'))
  await fixture.db.query((k) => k('tasks').where('id', task.id).update({ state: 'running', fence: 6, lease_until: 1 }))
  let recoveries = 0
  const { worker } = startTestWorker(fixture.db, {
    kind: {
      kind: 'tiny.work',
      run: async () => good(),
      recover: async () => {
        recoveries += 1
        return good()
      },
    },
  })
  t.is((await fixture.end(task.ref)).state, 'unknown')
  t.is(recoveries, 0)
  await worker.stop(1_000)
})

test('a failed recovery leaves the task unknown, and a later one decides', async (t) => {
  const fixture = await fixtureOf()
  const ada = await fixture.account('ada')
  const [lost, found] = [await fixture.accept(ada, 'Lost'), await fixture.accept(ada, 'Found')]
  await fixture.db.query((k) => k('tasks').update({ state: 'running', fence: 1, lease_until: 1 }))
  const recover = async ({ task }: TaskRun): Promise<TaskEnd> => {
    if (task.title === 'Lost') throw new Error('no idea')
    return good('it had been done')
  }
  const { worker } = startTestWorker(fixture.db, {
    kind: {
      kind: 'tiny.work',
      run: async () => {
        throw new Error('must not run')
      },
      recover,
    },
  })
  t.is((await fixture.end(lost.ref)).state, 'unknown')
  t.like(await fixture.end(found.ref), { state: 'succeeded', message: 'it had been done' })
  await worker.stop(1_000)
})

test("a task of idempotent steps runs again after its worker's death", async (t) => {
  const fixture = await fixtureOf()
  const ada = await fixture.account('ada')
  const [resumed, unwanted] = [await fixture.accept(ada, 'Resumed'), await fixture.accept(ada, 'Unwanted')]
  await fixture.db.query((k) => k('tasks').update({ state: 'running', fence: 1, lease_until: 1 }))
  const begun = gate()
  const run = async ({ task, signal }: TaskRun): Promise<TaskEnd> => {
    if (task.title === 'Resumed') return good('continued')
    begun.open()
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    return { state: 'cancelled', message: String(signal.reason) }
  }
  const { worker, bus } = startTestWorker(fixture.db, { kind: { kind: 'tiny.work', run, recover: 'run-again' } })
  t.like(await fixture.end(resumed.ref), { state: 'succeeded', message: 'continued' })
  await begun.opened
  await fixture.db.query((k) => k('tasks').where('ref', unwanted.ref).update({ is_cancel_requested: 1 }))
  bus.wake()
  t.like(await fixture.end(unwanted.ref), { state: 'cancelled', message: 'cancelled' })
  await worker.stop(1_000)
})

test('a task whose steps are idempotent is run again after an orderly stop', async (t) => {
  const fixture = await fixtureOf()
  const task = await fixture.accept(await fixture.account('ada'))
  const begun = gate()
  const stopped = startTestWorker(fixture.db, {
    kind: {
      kind: 'tiny.work',
      run: async ({ signal }) => {
        begun.open()
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        throw new Error('it stops')
      },
      recover: 'run-again',
    },
  })
  await begun.opened
  t.true(await stopped.worker.stop(5_000))
  const { worker } = startTestWorker(fixture.db, {
    holder: 'there',
    kind: { kind: 'tiny.work', run: async () => good('continued'), recover: 'run-again' },
  })
  t.like(await fixture.end(task.ref), { state: 'succeeded', message: 'continued' })
  await worker.stop(1_000)
})

test('a stop waits for handlers within its budget only', async (t) => {
  const fixture = await fixtureOf()
  const ada = await fixture.account('ada')
  const task = await fixture.accept(ada)
  const started = gate()
  const release = gate()
  const run = async (): Promise<TaskEnd> => {
    started.open()
    await release.opened
    return good()
  }
  const { worker } = startTestWorker(fixture.db, { kind: { kind: 'tiny.work', run, recover: run }, workers: 1 })
  await started.opened
  const waiting = await fixture.accept(ada)
  t.false(await worker.stop(20), 'it did not end in time')
  release.open()
  t.true(await worker.stop(5_000))
  t.is((await fixture.tasks.find(task.ref))?.task.state, 'succeeded')
  t.is((await fixture.tasks.find(waiting.ref))?.task.state, 'queued')
})

for (const database of eachDatabase())
  test(`${database.name}: exactly one of a cancel and a claim wins`, async (t) => {
    const fixture = await fixtureOf(database)
    t.teardown(() => fixture.db.close())
    const ada = await fixture.account('ada')
    const changes = makeSqlTaskChanges(fixture.db, 'here')
    const ran: string[] = []
    const { worker, bus } = startTestWorker(fixture.db, {
      kind: {
        kind: 'tiny.work',
        run: async ({ task }) => {
          ran.push(task.ref)
          return good()
        },
        recover: async () => good(),
      },
    })
    for (let i = 0; i < 100; i++) {
      const task = await fixture.accept(ada)
      bus.wake()
      const isEnded = await fixture.db.transaction(async (tx) => {
        const tasks = changes(tx)
        const locked = await tasks.lock(task.id)
        if (locked?.state !== 'queued') return false
        await tasks.endUnattended(task.id, { state: 'cancelled', message: 'before' })
        return true
      })
      const { state } = await fixture.end(task.ref)
      t.is(state, isEnded ? 'cancelled' : 'succeeded')
      t.is(ran.includes(task.ref), !isEnded)
    }
    await worker.stop(1_000)
  })
