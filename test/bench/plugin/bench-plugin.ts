import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { optional } from '../../../core/kernel/port-key.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import type { CloseMonth } from '../../../core/usage/months/close.ts'
import { CloseMonthPort } from '../../../core/usage/months/close.ts'
import { anyone } from '../../../plugins/kit/access.ts'
import { answer, freeText, request } from '../../../plugins/kit/codecs.ts'
import { defineGroup } from '../../../plugins/kit/group.ts'
import { handle } from '../../../plugins/kit/handle.ts'
import { definePart } from '../../../composition/part/part.ts'
import { definePlugin } from '../../../plugins/kit/plugin.ts'
import { json, list, packed } from '../../../plugins/kit/reply.ts'
import { defineRoute, type AnyBoundRoute } from '../../../plugins/kit/route.ts'
import { benchMonth, benchOwner } from '../closing/bench-month.ts'
import { sampleUsers } from './sample-users.ts'

// Loaded into a real service as a deployer's own plugin (MOORAGE_PLUGINS): routes that touch no store, so that what is
// measured is the way from the socket to the handler and back.

const SampleUser = answer(
  {
    id: t.number,
    login: t.string,
    full_name: t.string,
    email: t.string,
    website: t.string,
    description: t.string,
    created: t.string,
    active: t.boolean,
    followers_count: t.number,
  },
  'BenchSampleUser',
)
const Pong = answer({ answer: t.string }, 'BenchPong')
const Names = request({ first: freeText(64, 1), second: freeText(64, 1) }, 'BenchNames')

const tag = 'Miscellaneous'

const listSamples = defineRoute({
  id: 'bench.listSamples',
  method: 'GET',
  path: '/bench/samples',
  summary: 'Fifty objects from memory',
  tag,
  access: anyone,
  ok: packed(list(SampleUser, sampleUsers[0])),
  failures: [],
})

const ping = defineRoute({
  id: 'bench.ping',
  method: 'GET',
  path: '/bench/ping/{first}/with/{second}',
  summary: 'A short answer from memory',
  tag,
  access: anyone,
  params: Names,
  ok: json(200, Pong, { answer: 'pong' }),
  failures: [],
})

const Stillness = answer({ max_ms: t.number, max_cpu_ms: t.number }, 'BenchStillness')

const eventLoop = defineRoute({
  id: 'bench.eventLoop',
  method: 'GET',
  path: '/bench/event-loop',
  summary: 'How long the event loop stood still at most since this was last asked',
  tag,
  access: anyone,
  ok: json(200, Stillness, { max_ms: 3.5, max_cpu_ms: 2.5 }),
  failures: [],
})

const resolutionMs = 2
const delays = monitorEventLoopDelay({ resolution: resolutionMs })

const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * The CPU time of this thread between two turns of the event loop: it does not count what other processes took from it.
 */
const cpu = { last: 0, max: 0, timer: undefined as NodeJS.Timeout | undefined }
const lookAtCpu = (): void => {
  const now = threadCpuMs()
  cpu.max = Math.max(cpu.max, now - cpu.last)
  cpu.last = now
}

/** Measured from the first question on; the timer's own period is not a delay. */
const stillness = (): { readonly max_ms: number; readonly max_cpu_ms: number } => {
  delays.enable()
  cpu.timer ??= setInterval(lookAtCpu, resolutionMs).unref()
  const max_ms = Math.max(0, delays.max / 1e6 - resolutionMs)
  const max_cpu_ms = cpu.max
  delays.reset()
  Object.assign(cpu, { last: threadCpuMs(), max: 0 })
  return { max_ms, max_cpu_ms }
}

const Closing = answer({ is_running: t.boolean, seconds: t.number, failure: t.string }, 'BenchClosing')

const closeMonth = defineRoute({
  id: 'bench.closeMonth',
  method: 'POST',
  path: '/bench/closing',
  summary: 'Begins to close the month of usage of the bench',
  tag,
  access: anyone,
  ok: json(200, Pong, { answer: 'pong' }),
  failures: [],
})

const showClosing = defineRoute({
  id: 'bench.showClosing',
  method: 'GET',
  path: '/bench/closing',
  summary: 'Whether the month is being closed, and how long it took',
  tag,
  access: anyone,
  ok: json(200, Closing, { is_running: false, seconds: 3.5, failure: '' }),
  failures: [],
})

/** Closes the month; each time as another revision, so that it is computed each time. */
const makeClosing = (close: CloseMonth, ownCall: ReturnType<typeof makeOwnCall>) => {
  let state = { is_running: false, seconds: 0, failure: '' }
  let count = 0
  return {
    state: () => state,
    start: async (): Promise<void> => {
      state = { is_running: true, seconds: 0, failure: '' }
      const started = performance.now()
      count += 1
      let failure = ''
      try {
        const closed = await close(ownCall('bench.close', new AbortController().signal), {
          ownerId: benchOwner,
          month: benchMonth,
          as: count % 2 === 1 ? 'final' : 'reopen',
        })
        if (isLeft(closed)) failure = closed.left.message
      } catch (error) {
        failure = String(error)
      }
      state = { is_running: false, seconds: (performance.now() - started) / 1000, failure }
    },
  }
}

/** A route that only stands in the router's way. */
const bystander = (index: number): AnyBoundRoute =>
  handle(
    defineRoute({
      id: `bench.bystander${index}`,
      method: 'GET',
      path: `/bench/kind${index % 25}/{first}/part${index}/{second}`,
      summary: 'Never asked for',
      tag,
      access: anyone,
      params: Names,
      ok: json(200, Pong, { answer: 'pong' }),
      failures: [],
    }),
    () => Promise.resolve(right({ answer: 'bystander' })),
  )

const benchGroup = defineGroup({
  needs: { close: optional(CloseMonthPort), entropy: EntropyPort },
  routes: ({ close, entropy }) => {
    // Without billing there are no months.
    const closing = close === undefined ? undefined : makeClosing(close, makeOwnCall(entropy))
    return [
      ...(closing === undefined
        ? []
        : [
            handle(closeMonth, () => {
              void closing.start()
              return Promise.resolve(right({ answer: 'started' }))
            }),
            handle(showClosing, () => Promise.resolve(right(closing.state()))),
          ]),
      handle(listSamples, () => Promise.resolve(right({ items: sampleUsers, total: sampleUsers.length }))),
      handle(eventLoop, () => Promise.resolve(right(stillness()))),
      handle(ping, () => Promise.resolve(right({ answer: 'pong' }))),
      ...Array.from({ length: Number(process.env['BENCH_BYSTANDERS'] ?? '0') }, (_, index) => bystander(index)),
    ]
  },
})

const plugin = definePlugin({
  id: 'bench',
  summary: 'Routes for the bench',
  listener: 'api',
  gate: 'always',
  groups: [benchGroup],
})

export const part = definePart({ plugin })
