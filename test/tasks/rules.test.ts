import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import type { TaskEnd, NewTaskEvent } from '../../core/tasks/ports.ts'
import { makeJournal, makeProgress } from '../../core/tasks/progress.ts'
import { bounded, boundedEnd, cancelDecision, endEvent, mayBecome, subjectOf } from '../../core/tasks/task-rules.ts'
import { isFinal, taskStates } from '../../core/tasks/types.ts'
import { emptyView, plainLine, printable, showEvent, drawView } from '../../composition/cli/task-view.ts'
import { ResponseId } from '../../plugins/kit/codecs.ts'
import type { ShownEvent } from '../../composition/cli/task-view.ts'

const state = fc.constantFrom(...taskStates)
const task = { ref: '6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11', title: 'Work', fence: 3 }
const clock = { now: () => new Date('2026-05-01T08:00:00Z') }

test('a final state is for ever, and every other one can end', (t) => {
  fc.assert(fc.property(state, state, (from, to) => !(isFinal(from) && mayBecome(from, to))))
  for (const from of taskStates.filter((each) => !isFinal(each))) t.true(taskStates.some((to) => isFinal(to) && mayBecome(from, to)), from)
  t.false(mayBecome('queued', 'unknown'), 'what was not begun is never lost')
  t.false(mayBecome('queued', 'succeeded'))
})

test('whatever may be cancelled may become cancelled', (t) => {
  for (const each of taskStates) t.is(isRight(cancelDecision(each)), mayBecome(each, 'cancelled'), each)
  t.deepEqual(cancelDecision('queued'), { _tag: 'Right', right: 'end-now' })
  t.deepEqual(cancelDecision('running'), { _tag: 'Right', right: 'ask-worker' })
})

test('a response id is one word of a bus subject, of 1 to 64 characters, and keeps its case', (t) => {
  fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), (id) => {
    const decoded = ResponseId.decode(id)
    return isRight(decoded) && decoded.right === id
  }))
  // What existing clients make: a UUID in either case, an xid, a ULID, a name with a counter.
  for (const id of ['6F1CBB1E-52c8-4b7a-9d0e-0c3f0f6f2a11', 'cq3v8t5ng3bk0a1b2c3g', '01J9ZQ4T8X3YB6W7V5N2M1K0PE', 'install_web-7', '7', 'x'.repeat(64)]) t.true(isRight(ResponseId.decode(id)), id)
  for (const bad of ['', '*', '>', 'a.b', 'a b', ' a', 'a\n', 'a/b', 'ä', 'x'.repeat(65)]) t.true(isLeft(ResponseId.decode(bad)), bad)
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
  t.deepEqual(boundedEnd({ state: 'succeeded', message: 'm', result: { a: 1 } }, '{"a":1}'), { state: 'succeeded', message: 'm', result: { a: 1 } })
  for (const each of ['succeeded', 'failed', 'cancelled', 'unknown'] as const) {
    const event = endEvent(task, { state: each, message: 'm' }, clock.now())
    t.like(event, { id: task.ref, status: each === 'succeeded' ? 'Success' : 'Failed', data: { state: each }, isNotable: true })
    t.is(event.error, each === 'succeeded' ? undefined : 'm')
  }
})

const action = fc.oneof(
  fc.record({ do: fc.constant('open' as const), text: fc.string() }),
  fc.record({ do: fc.constantFrom('say' as const, 'done' as const, 'failed' as const), step: fc.nat(5), text: fc.string() }),
)

test('whatever a handler says, each step begins once, ends once, and says nothing before or after', (t) => {
  fc.assert(fc.property(fc.array(action, { maxLength: 40 }), fc.boolean(), (actions, isGood) => {
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
  }))
  const said: NewTaskEvent[] = []
  makeProgress(task, clock, (event) => void said.push(event)).say('x'.repeat(5000), { level: 'warning', data: { much: 'y'.repeat(9000) } })
  t.like(said[0], { id: task.ref, status: 'Running', level: 'warning', data: { isTruncated: true } })
  t.is(said[0]?.msg.length, 4000)
})

const journalOf = () => {
  const stored: NewTaskEvent[] = []
  const journal = makeJournal({ store: async (events) => stored.push(...events) > 0, onStored: () => undefined, onLost: () => undefined })
  return { journal, all: async () => [...stored, ...(await journal.close())] }
}
const event = (status: NewTaskEvent['status'], msg: string): NewTaskEvent => ({ at: clock.now(), id: 'step', status, msg })

test('of more than two thousand lines the first are kept, then one that says so; steps are kept', async (t) => {
  const { journal, all } = journalOf()
  journal.add(event('Started', 'begin'))
  for (let line = 1; line <= 2_500; line += 1) journal.add(event('Running', `line ${line}`))
  journal.add(event('Success', 'end'))
  const kept = await all()
  t.is(kept.length, 2_003)
  t.deepEqual([kept[0], ...kept.slice(-3)].map((each) => each?.msg), ['begin', 'line 2000', 'Further lines are not kept.', 'end'])
  t.like(kept.at(-2), { id: 'step', status: 'Running', level: 'warning' })
})

test('of all lines at most a mebibyte is kept', async (t) => {
  const { journal, all } = journalOf()
  for (let line = 0; line < 300; line += 1) journal.add({ ...event('Running', 'x'.repeat(4_000)), data: { text: 'y'.repeat(4_000) } })
  const kept = await all()
  t.is(kept.at(-1)?.msg, 'Further lines are not kept.')
  t.true(kept.length > 100 && kept.length < 140, String(kept.length))
})

test('steps beyond a thousand are done and not told, which is said once', (t) => {
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
  t.deepEqual(events.filter(({ id }) => id === task.ref).map(({ msg }) => msg), ['Further steps are not told.'])
})

const shown = fc.record({
  seq: fc.nat(), at: fc.constant('2026-05-01T08:00:00.000Z'), id: fc.constantFrom('t', 's1', 's2', 's3', 's4', 's5', 's6'),
  status: fc.constantFrom('Pending' as const, 'Started' as const, 'Running' as const, 'Success' as const, 'Failed' as const), msg: fc.string(), step: fc.option(fc.string(), { nil: undefined }), error: fc.option(fc.string(), { nil: undefined }),
})

test('whatever events come, the display fits its terminal and prints no control characters', (t) => {
  t.notThrows(() => fc.assert(fc.property(fc.array(shown, { minLength: 1 }), fc.integer({ min: 20, max: 200 }), fc.integer({ min: 4, max: 60 }), (events, columns, height) => {
    let view = emptyView
    const lines: string[] = []
    for (const event of events as ShownEvent[]) {
      view = showEvent(view, event)
      lines.push(plainLine(view, event))
    }
    const drawn = drawView(view, Date.parse('2026-05-01T09:00:00Z'), columns, height)
    return drawn.length <= Math.max(height, 4) && drawn.every((line) => line.length <= columns && line === printable(line)) && lines.every((line) => line === printable(line))
  })))
})
