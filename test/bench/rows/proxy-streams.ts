import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bars } from '../bars.ts'
import { compare, generatorNote, ratioOf, readingOf } from '../measure.ts'
import { getRequest, loadOn, upgradeRequest } from '../requests.ts'
import { median } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

const watchPath = '/api/v1/pods?watch=true'
const endlessPath = '/api/v1/events?watch=true'
const execPath = '/api/v1/namespaces/default/pods/bench/exec?command=cat&stdout=true'

/** Row 7. */
export const watch: MeasureRow = async (input) => {
  const { lab, bench } = input
  const { service, user, prefix } = await lab.proxied()
  const cluster = await lab.stubCluster()
  const { ours, twin } = await compare(bench, 'watches of 2 000 events, 8 connections', {
    ours: {
      target: loadOn('watch through the service', service.port, getRequest(prefix + watchPath, user.token), 8),
      pid: service.pid,
    },
    twin: {
      target: loadOn('watch direct', cluster.process.port, getRequest(watchPath, cluster.token), 8, { ca: cluster.ca }),
      pid: cluster.process.pid,
    },
  })
  return [
    {
      row: '7a',
      what: 'watches of 2 000 events of 500 B a second',
      ours: readingOf(ours),
      against: 'the cluster itself, by TLS',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      bar: bars.watch,
      ...note(generatorNote(ours, twin)),
    },
    await watchAbort(input),
  ]
}

/** How long after a client has gone the cluster's side of its watch is closed; the slowest of several. */
const watchAbort = async ({ lab, bench }: RowInput): Promise<BenchLine> => {
  const { service, user, prefix } = await lab.proxied()
  const { process: upstream } = await lab.stubCluster()
  const attempts = 5
  bench.progress.doing('clients leave their watches')
  const milliseconds: number[] = []
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const socket = connect({ host: '127.0.0.1', port: service.port }, () =>
      socket.write(getRequest(prefix + endlessPath, user.token)),
    )
    await new Promise((resolve, reject) => socket.once('data', resolve).once('error', reject))
    await sleep(150)
    const closed = new Promise<void>((resolve) => upstream.child.once('message', () => resolve()))
    const leftAt = performance.now()
    socket.destroy()
    const wasClosed = await Promise.race([closed.then(() => true), sleep(5000, false)])
    milliseconds.push(wasClosed ? performance.now() - leftAt : Number.POSITIVE_INFINITY)
  }
  const slowest = Math.max(...milliseconds)
  return {
    row: '7b',
    what: 'upstream closed after the client left',
    ours: {},
    against: '-',
    value: Number.isFinite(slowest) ? slowest : 5000,
    bestValue: median(milliseconds),
    unit: ' ms',
    bar: bars.watchAbort,
    note: Number.isFinite(slowest)
      ? `the slowest of ${attempts}; beside it their median`
      : 'at least one was still open after 5 s',
  }
}

/** Row 8. */
export const exec: MeasureRow = async ({ lab, bench }) => {
  const { service, user, prefix } = await lab.proxied()
  const cluster = await lab.stubCluster()
  const splice = await lab.twin('twins/splice-twin.ts', { upstreamPort: cluster.process.port, ca: cluster.ca })
  const { ours, twin } = await compare(bench, 'exec tunnel, 2 connections', {
    ours: {
      target: loadOn('exec through the service', service.port, upgradeRequest(prefix + execPath, user.token), 2, {
        kind: 'stream',
      }),
      pid: service.pid,
    },
    twin: {
      target: loadOn('exec through the splice', splice.port, upgradeRequest(execPath, cluster.token), 2, {
        kind: 'stream',
      }),
      pid: splice.pid,
    },
  })
  const megabytes = (series: typeof ours) => ({
    perSecond: (readingOf(series, { as: 'bytes' }).perSecond ?? Number.NaN) / 1e6,
  })
  return [
    {
      row: '8',
      what: 'exec tunnel, MB/s in place of req/s',
      ours: megabytes(ours),
      against: 'TCP to TLS splice',
      twin: megabytes(twin),
      ...ratioOf(ours, twin, 'bytesPerSecond'),
      unit: 'x',
      bar: bars.exec,
      ...note(generatorNote(ours, twin)),
    },
  ]
}
