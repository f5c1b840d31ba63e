import test from 'ava'
import type { Log } from '../../core/kernel/log.ts'
import { makeEventPublisher } from '../../core/tasks/event-publisher.ts'
import type { OutboxItem, TaskOutbox } from '../../core/tasks/ports.ts'
import { until } from '../support/until.ts'
import { aMessage } from './task-bus.suite.ts'

const makeWorld = () => {
  const waiting: OutboxItem[] = []
  const published: number[] = []
  const lines: string[] = []
  const world = { isAway: false, left: [] as OutboxItem[], waiting, published, lines }
  const outbox: TaskOutbox = {
    mine: async (limit) => waiting.slice(0, limit),
    published: async (ids) => void waiting.splice(0, waiting.length, ...waiting.filter(({ id }) => !ids.includes(id))),
    adopt: async () => waiting.push(...world.left.splice(0)) && 0,
  }
  const keep = (_: object, message: string): void => void lines.push(message)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const bus = {
    publish: async ({ event }: { readonly event: { readonly seq: number } }) => {
      if (world.isAway) throw new Error('away')
      published.push(event.seq)
    },
  }
  const add = (...seqs: readonly number[]): void => void waiting.push(...seqs.map((seq) => ({ id: seq, message: aMessage('t', seq) })))
  return { ...world, world, add, publisher: makeEventPublisher({ outbox, bus, log }) }
}

test('what a commit left behind is published at once, in order, and once', async (t) => {
  const { add, publisher, published, waiting } = makeWorld()
  add(...Array.from({ length: 250 }, (_, i) => i + 1))
  publisher.kick()
  publisher.kick()
  await until('all of it', () => (waiting.length === 0 ? true : undefined))
  publisher.kick()
  await publisher.stop()
  t.deepEqual(published, Array.from({ length: 250 }, (_, i) => i + 1))
})

test('while the bus is away nothing is lost and nothing overtakes; it is logged once', async (t) => {
  const { world, add, publisher, published, waiting, lines } = makeWorld()
  world.isAway = true
  add(1, 2)
  publisher.kick()
  await until('it was noticed', () => (lines.length > 0 ? true : undefined))
  add(3)
  publisher.kick()
  t.deepEqual(published, [])
  world.isAway = false
  await until('all of it', () => (waiting.length === 0 ? true : undefined))
  await publisher.stop()
  t.deepEqual(published, [1, 2, 3])
  t.is(lines.filter((line) => line.includes('cannot be published')).length, 1)
})

test('after a stop nothing more is begun', async (t) => {
  const { add, publisher, published } = makeWorld()
  await publisher.stop()
  add(1)
  publisher.kick()
  await new Promise((resolve) => setImmediate(resolve))
  t.deepEqual(published, [])
})
