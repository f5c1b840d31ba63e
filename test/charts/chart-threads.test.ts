import test from 'ava'
import { makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import { Busy } from '../../core/kernel/failure.ts'
import { WorkStopped } from '../../adapters/outbound/bounded-threads.ts'

/** Takes seconds, and every test closes the threads before it ends. */
const endless = {
  kind: 'text',
  job: { do: 'parse', bytes: Buffer.from('- {a: 1, b: 2, c: 3}\n'.repeat(390_000)) },
} as const
const short = { kind: 'diff', from: 'a\n', to: 'b\n' } as const
const large = () =>
  ({ kind: 'text', job: { do: 'parse', bytes: Buffer.from('- {a: 1, b: 2, c: 3}\n'.repeat(200_000)) } }) as const

test('jobs of one account that do not end hold up no other account', async (t) => {
  let account = 1
  const threads = makeChartThreads({ threads: 2, account: () => account })
  const running = Array.from({ length: 12 }, () =>
    t.throwsAsync(threads.run<'text'>(endless), { instanceOf: WorkStopped, message: /service stops/ }),
  )
  account = 2
  t.regex((await threads.run<'diff'>(short)).lines, /^\+b$/m)
  await threads.close()
  await Promise.all(running)
})

test('a job beyond its memory ends with its thread, and the next one is served', async (t) => {
  const threads = makeChartThreads({ threads: 1, heapMegabytes: 24 })
  t.teardown(() => threads.close())
  const stopped = t.throwsAsync(threads.run<'text'>(large()), { instanceOf: WorkStopped, message: /more memory/ })
  t.regex((await threads.run<'diff'>(short)).lines, /^\+b$/m, 'one that waited')
  await stopped
})

test('excess jobs are refused, and closing ends running and waiting ones', async (t) => {
  const threads = makeChartThreads({ threads: 1, maxWaiting: 1 })
  const running = t.throwsAsync(threads.run<'text'>(endless), { instanceOf: WorkStopped, message: /service stops/ })
  const waiting = t.throwsAsync(threads.run<'diff'>(short), { instanceOf: WorkStopped, message: /service stops/ })
  await t.throwsAsync(threads.run<'diff'>(short), { instanceOf: Busy, message: /Too many/ })
  await threads.close()
  await Promise.all([running, waiting])
  await t.throwsAsync(threads.run<'diff'>(short), { instanceOf: WorkStopped, message: /service stops/ })
})
