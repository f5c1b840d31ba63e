import { EventEmitter } from 'node:events'
import test from 'ava'
import { untilStopped } from '../../composition/cli/lifecycle.ts'
import { makeStopSequence } from '../../composition/service/stop-sequence.ts'
import type { Log } from '../../core/kernel/log.ts'

const makeLog = () => {
  const lines: string[] = []
  const keep = (_fields: object, message: string): void => void lines.push(message)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  return { log, lines }
}

test('the last opened is closed first, and last what must outlive the rest; one that fails is logged and keeps no other open', async (t) => {
  const { log, lines } = makeLog()
  const stops = makeStopSequence(log)
  const closed: string[] = []
  stops.add('database', async () => void closed.push('database'))
  stops.addLast('health', async () => void closed.push('health'))
  stops.add('jobs', async () => Promise.reject(new Error('stuck')))
  stops.add('listener', async () => void closed.push('listener'))
  t.false(await stops.run())
  t.deepEqual(closed, ['listener', 'database', 'health'])
  t.deepEqual(lines, ['could not be closed'])
})

test('a stop that is asked for twice runs once', async (t) => {
  const stops = makeStopSequence(makeLog().log)
  let closed = 0
  stops.add('database', async () => void (closed += 1))
  t.deepEqual(await Promise.all([stops.run(), stops.run()]), [true, true])
  t.is(closed, 1)
})

test('the exit code says whether everything closed in order', async (t) => {
  for (const [allClosed, code] of [[true, 0], [false, 1]] as const) {
    const signals = new EventEmitter()
    const stopped = untilStopped({ signals, log: makeLog().log, stop: async () => allClosed, exitNow: () => t.fail() })
    signals.emit('SIGTERM')
    t.is(await stopped, code)
  }
})

test('SIGTERM drains, since a load balancer must be told; a person at a terminal does not wait for one', async (t) => {
  for (const [signal, drains] of [['SIGTERM', true], ['SIGINT', false]] as const) {
    const signals = new EventEmitter()
    const asked: boolean[] = []
    const stopped = untilStopped({ signals, log: makeLog().log, stop: async (how) => (asked.push(how.drains), true), exitNow: () => t.fail() })
    signals.emit(signal)
    await stopped
    t.deepEqual(asked, [drains])
  }
})

test('a stop beyond the limit ends the process with 1', async (t) => {
  const signals = new EventEmitter()
  const code = await new Promise((resolve) => {
    void untilStopped({ signals, log: makeLog().log, stop: () => new Promise(() => undefined), exitNow: resolve, hardLimitMs: 20 })
    signals.emit('SIGINT')
  })
  t.is(code, 1)
})
