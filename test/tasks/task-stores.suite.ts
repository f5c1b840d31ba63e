import type { AccountId } from '../../core/kernel/ids.ts'
import { makeEventPublisher } from '../../core/tasks/events.ts'
import type { ClaimedTask, NewTaskEvent, TaskEnd, TaskMessage, TaskOutbox } from '../../core/tasks/ports.ts'
import { tagOf } from '../support/outcome.ts'
import { until } from '../support/until.ts'
import { accepted, aTask, claimFrom, type TaskFixture } from './task-fixture.ts'
import { contractSuite, type SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'

const kinds = ['tiny.work']
const line = (msg: string): NewTaskEvent => ({ at: new Date(), id: 'step', status: 'Running', msg })
const good: TaskEnd = { state: 'succeeded', message: 'done', result: { count: 12345678901234567890n } }
const claimed = async (claim: Promise<ClaimedTask | undefined>): Promise<ClaimedTask> => {
  const got = await claim
  if (got === undefined) throw new Error('nothing was claimed')
  return got
}

const ports = ['TaskStore', 'TaskQueues', 'TaskRetention', 'TaskOutbox', 'TaskChanges']
const about: SuiteAbout = { name: 'task-stores', ports, needs: 'No accounts and no tasks.' }

/** What every store of tasks promises. */
export const taskStoresSuite = contractSuite<TaskFixture>(about, (on) => {
  on('a task comes out as it went in, and its input by a claim alone', async (t, fixture) => {
    const tenant = await fixture.account()
    const asked = aTask(tenant, { lockKey: 'k' })
    await fixture.change(async (tasks) => tasks.insert(asked))
    const found = await fixture.tasks.find(asked.ref)
    t.like(found?.task, {
      ref: asked.ref,
      responseId: asked.responseId,
      subject: asked.subject,
      kind: 'tiny.work',
      title: 'Work',
      tenantId: tenant,
      actorLogin: 'ada',
      state: 'queued',
      fence: 0,
      isCancelRequested: false,
    })
    t.deepEqual(found?.task.about, { cluster: 'ada/one' })
    t.true(Math.abs(Date.now() - Number(found?.task.createdAt)) < 60_000)
    t.false(JSON.stringify(found).includes('sealed'))
    const claim = await claimed(claimFrom(fixture.queues.open('a', kinds)))
    t.deepEqual(new Uint8Array(claim.sealedInput), asked.sealedInput)
    t.deepEqual([claim.actor, claim.origin], [asked.actor, asked.origin])
    t.like(claim.task, { state: 'running', fence: 1 })
    t.false(claim.isTakenOver)
  })

  on('a transaction that rolls back leaves no task', async (t, fixture) => {
    const asked = aTask(await fixture.account())
    await t.throwsAsync(
      fixture.change(async (tasks) => {
        await tasks.insert(asked)
        throw new Error('rolled back')
      }),
    )
    t.is(await fixture.tasks.find(asked.ref), undefined)
  })

  on('a lock has one unfinished task, and is free at its end', async (t, fixture) => {
    const tenant = await fixture.account()
    const first = await accepted(fixture, tenant, { lockKey: 'cluster/7/shop/web' })
    await fixture.change(async (tasks) => {
      t.is(tagOf(await tasks.insert(aTask(tenant, { lockKey: 'cluster/7/shop/web' }))), 'LockHeld')
      t.is((await tasks.findByLock('cluster/7/shop/web'))?.ref, first.ref)
      t.is(tagOf(await tasks.insert(aTask(tenant, { lockKey: 'cluster/7/shop/Web' }))), 'done', 'keys compare by bytes')
    })
    const queue = fixture.queues.open('a', kinds)
    t.true(await queue.end(await claimed(claimFrom(queue)), good, []))
    t.is(tagOf(await fixture.change((tasks) => tasks.insert(aTask(tenant, { lockKey: 'cluster/7/shop/web' })))), 'done')
  })

  on('of many claims at once each task is got by one', async (t, fixture) => {
    const tenants = [await fixture.account(), await fixture.account(), await fixture.account()]
    for (let i = 0; i < 30; i++) await accepted(fixture, tenants[i % 3] as AccountId)
    const queues = Array.from({ length: 6 }, (_, i) => fixture.queues.open(`worker-${i}`, kinds))
    const all = await Promise.all(
      queues.map(async (queue) => {
        const own: ClaimedTask[] = []
        for (let claim = await claimFrom(queue); claim !== undefined; claim = await claimFrom(queue)) own.push(claim)
        return own
      }),
    )
    const ids = all.flat().map(({ task }) => task.id)
    t.is(new Set(ids).size, ids.length, 'nothing twice')
    for (let claim = await claimFrom(queues[0]!); claim !== undefined; claim = await claimFrom(queues[0]!))
      ids.push(claim.task.id)
    t.is(new Set(ids).size, 30)
  })

  on(
    'the tenant with the fewest running comes first, and one that has its share is passed over',
    async (t, fixture) => {
      const [busy, late] = [await fixture.account(), await fixture.account()]
      for (let i = 0; i < 4; i++) await accepted(fixture, busy)
      const queue = fixture.queues.open('a', kinds)
      t.is((await claimed(claimFrom(queue))).task.tenantId, busy)
      await accepted(fixture, late)
      t.is((await claimed(claimFrom(queue))).task.tenantId, late)
      await accepted(fixture, late)
      t.is((await claimed(claimFrom(queue))).task.tenantId, busy, 'of equals the oldest')
      t.is((await claimed(claimFrom(queue, busy))).task.tenantId, late)
      t.is(await claimFrom(queue, busy), undefined)
    },
  )

  on('work of an unknown kind is left to others', async (t, fixture) => {
    await accepted(fixture, await fixture.account(), { kind: 'other.work' })
    t.is(await claimFrom(fixture.queues.open('a', kinds)), undefined)
    t.is(await claimFrom(fixture.queues.open('a', [])), undefined)
    t.truthy(await claimFrom(fixture.queues.open('b', ['other.work'])))
  })

  on(
    'a lease keeps others away; once it ran out another takes over, and the first writes nothing more',
    async (t, fixture) => {
      const task = await accepted(fixture, await fixture.account(), { lockKey: 'k' })
      const [a, b] = [fixture.queues.open('a', kinds), fixture.queues.open('b', kinds)]
      const first = await claimed(claimFrom(a))
      t.true(await a.renew(first, 30))
      t.is(await claimFrom(b), undefined)
      await fixture.age(31)
      const second = await claimed(claimFrom(b))
      t.like(second.task, { ref: task.ref, fence: 2, state: 'running' })
      t.true(second.isTakenOver)
      t.false(await a.renew(first, 30))
      t.false(await a.record(first, [line('from the dead')]))
      t.false(await a.end(first, good, [line('from the dead')]))
      await a.giveBack(first)
      t.like((await fixture.tasks.find(task.ref))?.task, { state: 'running', fence: 2 })
      t.true(await b.record(second, [line('found out')]))
      t.true(await b.end(second, { state: 'unknown', message: 'lost' }, [line('last')]))
      t.deepEqual(
        (await fixture.tasks.events(task.id, 0, 100)).map(({ msg }) => msg),
        [
          'waits',
          'Work started!',
          'The worker that began this has ended. Another one finds out what became of it; the work is not done again.',
          'found out',
          'last',
        ],
      )
      t.false(await b.end(second, good, []), 'an end is for ever')
      t.is((await fixture.tasks.find(task.ref))?.task.state, 'unknown')
    },
  )

  on('a renewed lease counts from its renewal', async (t, fixture) => {
    await accepted(fixture, await fixture.account())
    const [a, b] = [fixture.queues.open('a', kinds), fixture.queues.open('b', kinds)]
    const first = await claimed(claimFrom(a))
    await fixture.age(20)
    t.true(await a.renew(first, 30))
    await fixture.age(20)
    t.is(await claimFrom(b), undefined)
    await fixture.age(11)
    t.truthy(await claimFrom(b))
  })

  on('what was given back is run by the next one, or recovered when it had begun', async (t, fixture) => {
    await accepted(fixture, await fixture.account())
    const [a, b] = [fixture.queues.open('a', kinds), fixture.queues.open('b', kinds)]
    const first = await claimed(claimFrom(a))
    await a.giveBack(first)
    const second = await claimed(claimFrom(b))
    t.false(second.isTakenOver)
    t.is(second.task.fence, 2)
    await b.giveBack({ ...second, isTakenOver: true })
    t.true((await claimed(claimFrom(a))).isTakenOver)
  })

  on('events are numbered without a gap for all writers, and read from any number on', async (t, fixture) => {
    const task = await accepted(fixture, await fixture.account())
    const queue = fixture.queues.open('a', kinds)
    const claim = await claimed(claimFrom(queue))
    await queue.record(claim, [
      { ...line('one'), level: 'warning', data: { big: 12345678901234567890n, text: 'ü€😀' }, error: 'e', step: 's' },
      line('two'),
    ])
    await fixture.change((tasks) => tasks.append(task.id, [line('from aside')]))
    await queue.record(claim, [line('three')])
    const events = await fixture.tasks.events(task.id, 2, 3)
    t.deepEqual(
      events.map(({ seq, msg }) => `${seq} ${msg}`),
      ['3 one', '4 two', '5 from aside'],
    )
    t.deepEqual({ ...events[0], at: undefined }, {
      seq: 3,
      at: undefined,
      id: 'step',
      status: 'Running',
      msg: 'one',
      level: 'warning',
      error: 'e',
      step: 's',
      data: { big: 12345678901234567890n, text: 'ü€😀' },
    } as never)
    t.deepEqual(
      (await fixture.tasks.events(task.id, 6, 10)).map(({ seq }) => seq),
      [],
    )
  })

  on('the end keeps the result exactly and drops the input and the lock', async (t, fixture) => {
    const task = await accepted(fixture, await fixture.account(), { lockKey: 'k' })
    const queue = fixture.queues.open('a', kinds)
    t.true(await queue.end(await claimed(claimFrom(queue)), good, []))
    const ended = (await fixture.tasks.find(task.ref))?.task
    t.like(ended, { state: 'succeeded', message: 'done' })
    t.deepEqual(ended?.result, { count: 12345678901234567890n })
    t.truthy(ended?.endedAt)
    t.is(await claimFrom(queue), undefined)
  })

  on('a wish to end a task reaches the worker that has it, and no other', async (t, fixture) => {
    const tenant = await fixture.account()
    const [a, b] = [fixture.queues.open('a', kinds), fixture.queues.open('b', kinds)]
    await accepted(fixture, tenant)
    const mine = await claimed(claimFrom(a))
    await accepted(fixture, tenant)
    await claimed(claimFrom(b))
    t.deepEqual(await a.cancelRequested(), [])
    await fixture.change((tasks) => tasks.requestCancel(mine.task.id))
    t.deepEqual(await a.cancelRequested(), [mine.task.id])
    t.deepEqual(await b.cancelRequested(), [])
    await a.end(mine, { state: 'cancelled', message: 'as wished' }, [])
    t.deepEqual(await a.cancelRequested(), [])
  })

  on('a response id is found for its actor within the hour', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    const longest = 'R'.repeat(64)
    const task = await accepted(fixture, ada, { responseId: longest })
    const find = (actor: typeof ada, id = longest) => fixture.change((tasks) => tasks.findByResponse(actor, id))
    t.is((await find(ada))?.task.ref, task.ref)
    t.deepEqual(new Uint8Array((await find(ada))?.digest ?? []), new Uint8Array(32).fill(7))
    t.is(await find(eve), undefined)
    t.is(await find(ada, longest.toLowerCase()), undefined, 'case counts')
    await fixture.age(3601)
    t.is(await find(ada), undefined)
  })

  on('unfinished tasks are counted by tenant', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    for (let i = 0; i < 3; i++) await accepted(fixture, ada)
    await accepted(fixture, eve)
    const queue = fixture.queues.open('a', kinds)
    await queue.end(await claimed(claimFrom(queue)), good, [])
    t.is(await fixture.change((tasks) => tasks.countUnfinished(ada)), 2)
    t.is(await fixture.change((tasks) => tasks.countUnfinished(eve)), 1)
    t.like((await fixture.queues.counts()).byState, { queued: 3, running: 0, succeeded: 1, unknown: 0 })
    await fixture.age(100)
    const [first, ...others] = (await fixture.queues.counts()).oldest
    t.true(first?.state === 'queued' && first.seconds >= 100 && others.length === 0)
  })

  on('lists are within one actor or one tenant, newest first', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    const first = await accepted(fixture, ada)
    const second = await accepted(fixture, ada, { kind: 'other.work', about: { cluster: 'ada/two' } })
    await accepted(fixture, eve)
    const page = { page: 1, limit: 10 }
    const refs = async (filter: Parameters<typeof fixture.tasks.list>[0]) =>
      (await fixture.tasks.list(filter, page)).items.map(({ ref }) => ref)
    t.deepEqual(await refs({ actorId: ada }), [second.ref, first.ref])
    t.deepEqual(await refs({ tenantId: ada, kind: 'tiny.work' }), [first.ref])
    t.deepEqual(await refs({ actorId: ada, cluster: 'ada/two' }), [second.ref])
    t.deepEqual(await refs({ actorId: ada, state: 'running' }), [])
    t.is((await fixture.tasks.list({ actorId: ada }, { page: 2, limit: 1 })).total, 2)
  })

  on(
    'tasks of a user in an organization are listed while the user is a member who meets the entry requirements',
    async (t, fixture) => {
      const [ada, eve] = [await fixture.account(), await fixture.account()]
      const org = await fixture.organization(ada, eve)
      const own = await accepted(fixture, ada)
      const ofOrg = await accepted(fixture, org, { actor: { ...aTask(ada).actor, userId: ada } })
      await accepted(fixture, org, { actor: { ...aTask(eve).actor, userId: eve } })
      const entry = (at: Date) => ({ at, tokenLifeDays: 0, passkeyProof: 'none' }) as const
      const list = async (filter: Partial<Parameters<typeof fixture.tasks.list>[0]> = {}) => {
        const asked = { actorId: ada, entry: entry(new Date()), ...filter }
        const { items, total } = await fixture.tasks.list(asked, { page: 1, limit: 10 })
        t.is(total, items.length, 'the count leaves out what the list does')
        return items.map(({ ref }) => ref)
      }
      t.deepEqual(await list(), [ofOrg.ref, own.ref])
      t.deepEqual(await list({ tenantId: org }), [ofOrg.ref])
      await fixture.demandSecondFactor(org)
      t.deepEqual(await list(), [own.ref])
      t.deepEqual(await list({ entry: entry(new Date(0)) }), [ofOrg.ref, own.ref])
      await fixture.leave(org, ada)
      t.deepEqual(await list({ entry: entry(new Date(0)) }), [own.ref])
      t.deepEqual(await list({ tenantId: org }), [])
      const { items } = await fixture.tasks.list({ actorId: ada }, { page: 1, limit: 10 })
      t.deepEqual(
        items.map(({ ref }) => ref),
        [ofOrg.ref, own.ref],
        'for whom no membership is asked',
      )
    },
  )

  on('of too many ended tasks of an account the oldest go, a few at a time, and nothing else', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    const ended = await fixture.endedTasks(ada, 9)
    const ofEve = await fixture.endedTasks(eve, 5)
    const waiting = await accepted(fixture, ada)
    const left = async () =>
      (await Promise.all(ended.map(async (ref) => ((await fixture.tasks.find(ref)) === undefined ? '' : ref)))).filter(
        (ref) => ref !== '',
      )
    t.deepEqual(await fixture.retention.tenantsBeyond(5, 10), [ada])
    await fixture.change((tasks) => tasks.removeEndedBeyond(ada, 9, 2))
    t.deepEqual(await left(), ended)
    await fixture.change((tasks) => tasks.removeEndedBeyond(ada, 8, 2))
    t.deepEqual(await left(), ended.slice(1))
    t.is(await fixture.retention.removeEndedBeyond(ada, 5, 2), 2)
    t.deepEqual(await left(), ended.slice(3))
    t.is(await fixture.retention.removeEndedBeyond(ada, 5, 2), 1)
    t.is(await fixture.retention.removeEndedBeyond(ada, 5, 2), 0)
    t.deepEqual(await left(), ended.slice(4))
    t.deepEqual(await fixture.retention.tenantsBeyond(5, 10), [])
    t.deepEqual(await fixture.retention.tenantsBeyond(4, 1), [ada])
    for (const ref of [waiting.ref, ...ofEve]) t.truthy(await fixture.tasks.find(ref))
  })

  on('the ended tasks of one account are found by an index, however many others there are', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    await fixture.endedTasks(ada, 40)
    await fixture.endedTasks(eve, 400)
    for (const plan of await fixture.planOfSurplus(ada)) {
      t.regex(plan, /tasks_tenant_id_ended_at_index/)
      t.notRegex(plan, /SCAN tasks|TEMP B-TREE|filesort/)
    }
  })

  on('committed events wait for the bus in their order, and for the process that wrote them', async (t, fixture) => {
    const task = await accepted(fixture, await fixture.account())
    const own = fixture.outbox()
    t.deepEqual(
      (await own.mine(10)).map(({ message }) => message.event.msg),
      ['waits'],
    )
    t.deepEqual(await fixture.outbox('other').mine(10), [])
    const queue = fixture.queues.open('worker', kinds)
    await queue.record(await claimed(claimFrom(queue)), [line('one')])
    t.deepEqual(await own.mine(10), [], 'the worker that took the task over publishes the rest of it')
    const theirs = await fixture.outbox('worker').mine(10)
    t.deepEqual(
      theirs.map(({ message: { event, isNotable } }) => `${event.seq} ${event.msg} ${isNotable}`),
      ['1 waits false', '2 Work started! true', '3 one false'],
    )
    t.like(theirs[0]?.message.task, {
      ref: task.ref,
      responseId: task.responseId,
      actorId: task.actorId,
      tenantId: task.tenantId,
    })
    await fixture.outbox('worker').published(theirs.slice(0, 2).map(({ id }) => id))
    t.is(await own.adopt(10), 0, "they are the worker's for a while")
    await fixture.age(16)
    t.is(await own.adopt(10), 1)
    t.deepEqual(
      (await own.mine(10)).map(({ message }) => message.event.seq),
      [3],
    )
    t.deepEqual(await fixture.outbox('worker').mine(10), [])
  })

  on(
    'an event waits until the earlier ones of its task, which another process has, are published',
    async (t, fixture) => {
      const [first, second] = [
        await accepted(fixture, await fixture.account()),
        await accepted(fixture, await fixture.account()),
      ]
      await fixture.change((tasks) => tasks.append(first.id, [line('two')]), 'b')
      const [a, b] = [fixture.outbox('own'), fixture.outbox('b')]
      t.deepEqual(await b.mine(10), [])
      t.true(await b.waits())
      await fixture.change((tasks) => tasks.append(first.id, [line('three')]))
      const shown = async (outbox: TaskOutbox) =>
        (await outbox.mine(10)).map(({ message: { task, event } }) => [task.ref, event.seq])
      t.deepEqual(
        await shown(a),
        [
          [first.ref, 1],
          [second.ref, 1],
        ],
        'the third waits for the second',
      )
      await a.published((await a.mine(10)).map(({ id }) => id))
      t.deepEqual(await shown(a), [])
      t.deepEqual(await shown(b), [[first.ref, 2]])
      await b.published((await b.mine(10)).map(({ id }) => id))
      t.false(await b.waits())
      t.deepEqual(await shown(a), [[first.ref, 3]])
    },
  )

  on('a process that cannot publish keeps all of its events, also those beyond the next read', async (t, fixture) => {
    const task = await accepted(fixture, await fixture.account())
    await fixture.change((tasks) => tasks.append(task.id, [line('two'), line('three')]))
    await fixture.age(10)
    t.deepEqual([(await fixture.outbox().mine(1)).length, (await fixture.outbox().lag()).count], [1, 3])
    await fixture.age(10)
    t.is(await fixture.outbox('other').adopt(10), 0)
  })

  on(
    'two processes whose bus fails in the middle, and again after it is back, publish each task in order',
    async (t, fixture) => {
      const stream = new Map<string, number>()
      const isOrdered = new Map<string, number[]>()
      const bus = { isAway: true, answersLost: 0 }
      const publish = async ({ task, event }: TaskMessage): Promise<void> => {
        if (bus.isAway) throw new Error('away')
        const id = `${task.ref}.${event.seq}`
        // As the server does: a message id is taken once.
        if (!stream.has(id)) isOrdered.set(task.ref, [...(isOrdered.get(task.ref) ?? []), event.seq])
        stream.set(id, event.seq)
        if (stream.size % 7 === 0 && bus.answersLost < 20) {
          bus.answersLost += 1
          throw new Error('the answer is lost')
        }
      }
      const nothing = (): void => undefined
      const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
      const publisherOf = (holder: string) =>
        makeEventPublisher({ outbox: fixture.outbox(holder), bus: { publish }, log })
      const [a, b] = [publisherOf('own'), publisherOf('b')]
      const tenant = await fixture.account()
      const tasks = await Promise.all(Array.from({ length: 30 }, () => accepted(fixture, tenant)))
      for (const { id } of tasks) {
        await fixture.change((changes) => changes.append(id, [line('2'), line('3'), line('4'), line('5')]))
        await fixture.change((changes) => changes.append(id, [line('6')]), 'b')
      }
      await fixture.age(16)
      // What the first did not keep is adopted, up to the middle of a task.
      await fixture.outbox().mine(1)
      await fixture.age(14)
      await fixture.outbox('b').adopt(93)
      for (const { id } of tasks) await fixture.change((changes) => changes.append(id, [line('7')]))
      bus.isAway = false
      const wanted = tasks.length * 7
      // A restart of the bus in the middle.
      b.kick()
      await until('a part of it', () => {
        a.kick()
        b.kick()
        return stream.size > wanted / 3 ? true : undefined
      })
      bus.isAway = true
      a.kick()
      b.kick()
      bus.isAway = false
      await until('all of it', () => {
        a.kick()
        b.kick()
        return stream.size === wanted ? true : undefined
      })
      await Promise.all([a.stop(), b.stop()])
      for (const { ref } of tasks) t.deepEqual(isOrdered.get(ref), [1, 2, 3, 4, 5, 6, 7])
    },
  )

  on('old ends go with their events; what is unfinished or young stays', async (t, fixture) => {
    const tenant = await fixture.account()
    const queue = fixture.queues.open('a', kinds)
    const old = await accepted(fixture, tenant)
    await queue.end(await claimed(claimFrom(queue)), good, [line('x')])
    const waiting = await accepted(fixture, tenant)
    await fixture.age(7 * 24 * 3600 + 60)
    const young = await accepted(fixture, tenant, { lockKey: 'young' })
    t.is(await fixture.retention.removeEnded(7, 10), 1)
    t.deepEqual([await fixture.tasks.find(old.ref), await fixture.tasks.events(old.id, 0, 10)], [undefined, []])
    t.deepEqual(await fixture.retention.abandoned(1, 10), [waiting.id])
    t.truthy(await fixture.tasks.find(young.ref))
  })

  on('the tasks of an account are deleted with it, and its worker learns so', async (t, fixture) => {
    const tenant = await fixture.account()
    const task = await accepted(fixture, tenant)
    const queue = fixture.queues.open('a', kinds)
    const claim = await claimed(claimFrom(queue))
    await fixture.removeAccount(tenant)
    t.is(await fixture.tasks.find(task.ref), undefined)
    t.deepEqual([await queue.renew(claim, 30), await queue.record(claim, [line('x')])], [false, false])
    t.deepEqual(await fixture.outbox('a').mine(10), [])
  })

  on('accounts are counted while they are locked', async (t, fixture) => {
    const [ada, eve] = [await fixture.account(), await fixture.account()]
    t.is(await fixture.change((tasks) => tasks.lockAccounts([eve, ada, eve])), 2)
    t.is(await fixture.change((tasks) => tasks.lockAccounts([ada, 987654 as AccountId])), 1)
  })
})
