import { childrenOf } from '../../support/child-processes.ts'
import { makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { compare, generatorNote, ratioOf, readingOf, type Variant } from '../measure.ts'
import { getRequest, loadOn } from '../requests.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'
import type { BenchLine } from '../table.ts'

const connections = 64

/** An instance of so many workers; the CPU time is that of all its processes. */
const instance = async ({ lab }: RowInput, workers: number, databaseUrl: string | undefined): Promise<Variant> => {
  const name = `${workers} ${databaseUrl === undefined ? 'on SQLite' : 'on MariaDB'}`
  const service = await lab.service({
    name: `workers ${name}`,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    settings: { MOORAGE_WORKERS: String(workers) },
  })
  const user = await makeUser(service, `bench-${workers}`)
  return {
    target: loadOn(`workers ${name}`, service.port, getRequest('/api/v1/user', user.token), connections),
    pid: [service.pid, ...childrenOf(service.pid)],
  }
}

const twoAgainstOne = async (input: RowInput, on: 'SQLite' | 'MariaDB'): Promise<BenchLine> => {
  const url = async () => (on === 'SQLite' ? undefined : (await input.lab.mariaDb()).createDatabase())
  const { two, one } = await compare(input.bench, `GET /user on ${on}, two workers and one`, {
    two: await instance(input, 2, await url()),
    one: await instance(input, 1, await url()),
  })
  return {
    row: '34',
    what: `GET /user, ${on}, two workers`,
    ours: readingOf(two),
    against: 'one process',
    twin: readingOf(one),
    ...ratioOf(two, one),
    unit: 'x',
    bar: bars.twoWorkers,
    ...note('the load takes a core of its own', generatorNote(two, one)),
  }
}

/** Row 34. */
export const twoWorkers: MeasureRow = async (input) => [
  await twoAgainstOne(input, 'MariaDB'),
  await twoAgainstOne(input, 'SQLite'),
]
