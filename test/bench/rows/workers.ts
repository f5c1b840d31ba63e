import { childrenOf } from '../../support/child-processes.ts'
import type { BenchLine } from '../table.ts'
import { compareProcessors, questions, takePrecedence, type Scaled } from './equal-processors.ts'
import type { MeasureRow, RowInput } from './row.ts'

/** An instance of so many workers. The first process has little to do and shares the processor of a worker. */
const instance = async ({ lab }: RowInput, workers: number, on: Database): Promise<Scaled> => {
  const databaseUrl = on === 'SQLite' ? undefined : await (await lab.mariaDb()).createDatabase()
  const { pid, port, baseUrl } = await lab.service({
    name: `${workers} workers on ${on}`,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    settings: { MOORAGE_WORKERS: String(workers) },
  })
  const [first, ...others] = childrenOf(pid)
  return { port, baseUrl, processors: [first === undefined ? [pid] : [pid, first], ...others.map((other) => [other])] }
}

type Database = 'SQLite' | 'MariaDB'

const twoAgainstOne = async (input: RowInput, on: Database): Promise<readonly BenchLine[]> =>
  compareProcessors(input.bench, {
    row: '34',
    name: `${on}, two workers`,
    against: 'one process',
    two: await instance(input, 2, on),
    one: await instance(input, 1, on),
    asked: [questions.user, questions.changes, questions.permissions],
  })

/** Row 34. */
export const twoWorkers: MeasureRow = async (input) => {
  const endPrecedence = takePrecedence()
  try {
    return [...(await twoAgainstOne(input, 'MariaDB')), ...(await twoAgainstOne(input, 'SQLite'))]
  } finally {
    endPrecedence()
  }
}
