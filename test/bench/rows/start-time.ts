import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bars } from '../bars.ts'
import { best, median } from '../statistics.ts'
import { startBenchService } from '../service-process.ts'
import { reservedPort } from '../../support/components/reserved-port.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'

/** Seconds from the start of the process to the first answer of the API. */
const startOnce = async (folder: string, dataDir: string): Promise<number> => {
  const port = await reservedPort()
  const startedAt = performance.now()
  const starting = startBenchService({
    name: 'service that starts',
    folder,
    dataDir,
    settings: { MOORAGE_LISTEN: `127.0.0.1:${port}`, MOORAGE_PLUGINS: '' },
  })
  let seconds: number | undefined
  while (seconds === undefined) {
    if (await answers(port)) seconds = (performance.now() - startedAt) / 1000
    else await sleep(3)
    if (performance.now() - startedAt > 30_000) throw new Error('the service did not answer within 30 s of its start')
  }
  await (await starting).stop()
  return seconds
}

const answers = async (port: number): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/api/v1/version`)).ok
  } catch {
    return false
  }
}

/** Row 18: on data that is there, as at every start but the first; and the very first one. */
export const startTime: MeasureRow = async ({ lab, bench, run }: RowInput) => {
  const times = run.quick ? 3 : 7
  const dataDir = join(lab.folder, 'data-start')
  bench.progress.measuring('starting the service', times * 2)
  const first: number[] = []
  const later: number[] = []
  for (let round = 0; round < times; round += 1) {
    bench.progress.round(round + 1, times)
    await rm(dataDir, { recursive: true, force: true })
    first.push(await startOnce(lab.folder, dataDir))
    later.push(await startOnce(lab.folder, dataDir))
  }
  const line = (row: string, what: string, seconds: readonly number[]): BenchLine => ({
    row,
    what,
    ours: {},
    against: '-',
    value: median(seconds),
    bestValue: best(seconds, 'less'),
    unit: ' s',
    bar: bars.start,
  })
  return [
    line('18', 'start to first answer, all plugins', later),
    line('18 +', 'the very first start: schema, keys, admin', first),
  ]
}
