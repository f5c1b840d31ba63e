import { makeLogScope } from '../../../adapters/logging/bunyan-log.ts'
import { makeWithinRequest } from '../../../composition/runtime/http/request/request-context.ts'
import type { RequestContext } from '../../../composition/runtime/http/request/request-context.ts'
import { noTracing } from '../../../core/platform/ports.ts'
import { startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { bars } from '../bars.ts'
import { compare, generatorNote, medianOf, readingOf } from '../measure.ts'
import { getRequest, loadOn } from '../requests.ts'
import { makeUser } from '../api-calls.ts'
import { note, type MeasureRow } from './row.ts'

const calls = 200_000

/** The CPU microseconds that a request costs more for being surrounded while traces are off. */
const surroundMicroseconds = async (): Promise<number> => {
  const within = makeWithinRequest({ tracing: noTracing, scope: makeLogScope(noTracing.current) })
  const context = { requestId: 'a' } as RequestContext
  const work = async (): Promise<void> => Promise.resolve()
  const cost = async (call: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage()
    for (let n = 0; n < calls; n += 1) await call()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / calls
  }
  const surrounded = () => within({} as never, context, work)
  const differences: number[] = []
  for (let round = 0; round < 7; round += 1) differences.push((await cost(surrounded)) - (await cost(work)))
  return Math.max(0, differences.sort((a, b) => a - b)[3] ?? 0)
}

/** Row 33: what traces cost a request that is authenticated, when they are off and when all are recorded. */
export const traces: MeasureRow = async ({ lab, bench }) => {
  const receiver = await startOtlpReceiver()
  const on = await lab.service({ name: 'service with traces', settings: { MOORAGE_OTLP_ENDPOINT: receiver.url } })
  const off = await lab.service({ name: 'service without traces' })
  const [withTraces, without] = [await makeUser(on, 'bench-ada'), await makeUser(off, 'bench-ada')]
  const { ours, twin } = await compare(bench, 'GET /user with and without traces, 16 connections', {
    ours: { target: loadOn('traced', on.port, getRequest('/api/v1/user', withTraces.token), 16), pid: on.pid },
    twin: { target: loadOn('untraced', off.port, getRequest('/api/v1/user', without.token), 16), pid: off.pid },
  })
  await on.stop()
  await off.stop()
  await receiver.stop()
  const offUs = await surroundMicroseconds()
  const share = (100 * offUs) / medianOf(twin, 'cpuUs')
  return [
    {
      row: '33',
      what: 'traces off: share of the CPU of GET /user',
      ours: readingOf(twin),
      against: 'the same without the id of the request in the log',
      value: share,
      unit: ' %',
      bar: bars.tracesOff,
      note: `${offUs.toFixed(2)} us a request`,
    },
    {
      row: '33 +',
      what: 'traces on, all recorded: CPU of GET /user',
      ours: readingOf(ours),
      against: 'the service without traces',
      twin: readingOf(twin),
      value: medianOf(ours, 'cpuUs') / medianOf(twin, 'cpuUs'),
      unit: 'x',
      ...note('no bar: traces are off unless a receiver is named', generatorNote(ours, twin)),
    },
  ]
}
