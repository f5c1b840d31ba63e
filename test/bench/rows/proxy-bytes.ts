import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bars } from '../bars.ts'
import { compare, generatorNote, ratioOf, readingOf, type Series } from '../measure.ts'
import { importCluster, makeUser } from '../api-calls.ts'
import { residentMegabytes } from '../process-figures.ts'
import { getRequest, loadOn } from '../requests.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

const configMap = (name: string): string => `/api/v1/namespaces/default/configmaps/${name}`

/** The same object through the service and through both bare proxies. */
const throughAll = async (
  { lab, bench }: RowInput,
  what: string,
  name: string,
  connections: number,
): Promise<Record<'ours' | 'pipe' | 'dispatch', Series>> => {
  const { service, user, prefix } = await lab.proxied()
  const cluster = await lab.stubCluster()
  const settings = { upstreamPort: cluster.process.port, ca: cluster.ca, token: cluster.token }
  const pipe = await lab.twin('twins/pipe-proxy-twin.ts', settings)
  const dispatch = await lab.twin('twins/dispatch-proxy-twin.ts', settings)
  const direct = getRequest(configMap(name))
  return compare(bench, what, {
    ours: {
      target: loadOn(`service ${name}`, service.port, getRequest(prefix + configMap(name), user.token), connections),
      pid: service.pid,
    },
    pipe: { target: loadOn(`pipe ${name}`, pipe.port, direct, connections), pid: pipe.pid },
    dispatch: { target: loadOn(`dispatch ${name}`, dispatch.port, direct, connections), pid: dispatch.pid },
  })
}

/** Row 5. The twins check nobody; ours proves the token, asks for the permission and keeps the log. */
export const proxySmall: MeasureRow = async (input) => {
  const { ours, pipe, dispatch } = await throughAll(input, 'proxy, 2 KB answers, 32 connections', 'small', 32)
  const line = (row: string, against: string, twin: Series, bar: BenchLine['bar']): BenchLine => ({
    row,
    what: 'proxy 2 KB, 32 conns',
    ours: readingOf(ours),
    against,
    twin: readingOf(twin),
    ...ratioOf(ours, twin),
    unit: 'x',
    ...(bar === undefined ? {} : { bar }),
    ...note(generatorNote(ours, twin)),
  })
  return [
    line('5a', 'node:http + https.request pipe', pipe, bars.proxySmallPipe),
    line('5b', 'node:http + undici dispatch', dispatch, bars.proxySmallDispatch),
  ]
}

/** Row 6. */
export const proxyLarge: MeasureRow = async (input) => {
  const { ours, pipe } = await throughAll(input, 'proxy, 5 MB answers, 4 connections', 'large', 4)
  return [
    {
      row: '6a',
      what: 'proxy 5 MB, 4 conns',
      ours: readingOf(ours),
      against: 'node:http + https.request pipe',
      twin: readingOf(pipe),
      ...ratioOf(ours, pipe),
      unit: 'x',
      bar: bars.proxyLarge,
      ...note(generatorNote(ours, pipe)),
    },
    await memoryWithSlowClients(input),
  ]
}

const slowClients = 8

/** A service that has done nothing else, so that what it holds is held for the slow clients. */
const memoryWithSlowClients = async ({ lab, bench }: RowInput): Promise<BenchLine> => {
  const service = await lab.service({ name: 'service with slow clients' })
  const user = await makeUser(service, 'bench-ada')
  const prefix = await importCluster(service, user, 'stub', (await lab.stubCluster()).kubeconfig)
  bench.progress.doing(`${slowClients} clients read 512 MB each, slowly`)
  const before = residentMegabytes(service.pid)
  const sockets = Array.from({ length: slowClients }, () =>
    readSlowly(service.port, getRequest(prefix + configMap('huge'), user.token)),
  )
  let peak = 0
  for (const until = performance.now() + 4000; performance.now() < until; await sleep(50))
    peak = Math.max(peak, residentMegabytes(service.pid))
  for (const socket of sockets) socket.destroy()
  await service.stop()
  return {
    row: '6b',
    what: `memory with ${slowClients} slow clients`,
    ours: {},
    against: '-',
    value: peak,
    unit: ' MB',
    bar: bars.slowClientMegabytes,
    note: `resident memory of a fresh service; ${Math.round(before)} MB before the first of them`,
  }
}

/** Reads a piece every 50 ms and nothing in between. */
const readSlowly = (port: number, request: string): { destroy(): void } => {
  const socket = connect({ host: '127.0.0.1', port }, () => socket.write(request))
  const timer = setInterval(() => socket.resume(), 50)
  socket.on('data', () => socket.pause())
  socket.on('error', () => undefined)
  return {
    destroy: () => {
      clearInterval(timer)
      socket.destroy()
    },
  }
}
