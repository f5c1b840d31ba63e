import { createHash } from 'node:crypto'
import { callApi } from '../api-calls.ts'
import { withMariaDb } from '../lab.ts'
import { compare, medianOf, readingOf } from '../measure.ts'
import { residentMegabytes } from '../process-figures.ts'
import { getRequest, loadOn } from '../requests.ts'
import type { BenchLine } from '../table.ts'
import { fillLargeData } from './large-organization-data.ts'
import { askUntilWarm } from './equal-processors.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

type Run = (sql: string, values?: unknown[]) => Promise<unknown>

/** With --slow also a million users. */
const sizes = [10_000, 100_000, 1_000_000] as const
/** Callers who ask in turn. More would only show the same: they do not fit into the memory of callers either. */
const mostCallers = 100_000
const firstUser = 1_000_000
const connections = 64

const tokenOf = (caller: number): string => createHash('sha1').update(`caller ${caller}`).digest('hex')

/** Gives the first users a token each. */
const makeTokens = async (run: Run, callers: number): Promise<void> => {
  const piece = 10_000
  for (let from = 0; from < callers; from += piece)
    await run(
      `insert into access_tokens (user_id, name, token_hash, last_eight, scopes, created_at, last_used_at)
       select ${firstUser} + seq, 'bench', unhex(sha2(sha1(concat('caller ', seq)), 256)), right(sha1(concat('caller ',
         seq)), 8),
         'all', ${Date.now()}, ${Date.now() + 3_600_000} from seq_${from}_to_${Math.min(callers, from + piece) - 1}`,
    )
}

const numberOf = async (run: Run, sql: string): Promise<number> =>
  Number(Object.values(((await run(sql)) as readonly Readonly<Record<string, unknown>>[])[0] ?? {}).at(-1))

const statements = (run: Run): Promise<number> => numberOf(run, "show global status where Variable_name = 'Questions'")

const growthAt = async ({ lab, bench }: RowInput, users: number): Promise<readonly BenchLine[]> => {
  const databaseUrl = await (await lab.mariaDb()).createDatabase()
  const service = await lab.service({ name: `service with ${users} users`, databaseUrl })
  const atStart = residentMegabytes(service.pid)
  await fillLargeData(databaseUrl, { users, objects: users, organizations: users / 100 }, bench.progress)
  const callers = Math.min(users, mostCallers)
  bench.progress.doing(`making ${callers} tokens`)
  return withMariaDb(databaseUrl, async (run) => {
    await makeTokens(run, callers)
    const [rows, megabytes] = await sizeOf(run)
    const requests = Array.from({ length: callers }, (_, caller) => getRequest('/api/v1/user', tokenOf(caller)))
    await callApi(service, '/user', { authorization: `Bearer ${tokenOf(0)}` })
    const lines: BenchLine[] = []
    const asked = [
      { who: '1,000 callers', request: requests.slice(0, 1_000) },
      { who: `${callers} callers`, request: requests },
    ]
    for (const { who, request } of asked) {
      const target = loadOn(`${users} ${who}`, service.port, request, connections)
      bench.progress.doing(`asking once for each of ${who}`)
      await askUntilWarm(bench, target, request.length)
      const before = await statements(run)
      let answers = 0
      const { ours } = await compare(
        { ...bench, generator: counting(bench.generator, (count) => void (answers += count)) },
        `GET /user of ${who}, ${users} users`,
        { ours: { target, pid: service.pid } },
      )
      const each = ((await statements(run)) - before) / answers
      lines.push({
        row: '38',
        what: `GET /user of ${who}, ${users} users`,
        ours: readingOf(ours),
        against: '-',
        value: medianOf(ours, 'p50Ms'),
        unit: ' ms',
        ...note(
          `${users} users: ${rows} rows, ${Math.round(megabytes)} MB in the database; ${each.toFixed(2)} statements for each request; the process has ${Math.round(residentMegabytes(service.pid))} MB, ${Math.round(atStart)} before the first request`,
        ),
      })
    }
    await service.stop()
    await run(`drop database ${new URL(databaseUrl).pathname.slice(1)}`)
    return lines
  })
}

const counting = (generator: RowInput['bench']['generator'], add: (answers: number) => void): typeof generator => ({
  ...generator,
  slice: async (target, seconds) => {
    const result = await generator.slice(target, seconds)
    add(result.answersInAll)
    return result
  },
})

/** Returns the rows of all tables, about, and the megabytes of data and indexes. */
const sizeOf = async (run: Run): Promise<readonly [number, number]> => {
  const ofAll = (what: string): Promise<number> =>
    numberOf(run, `select sum(${what}) as n from information_schema.tables where table_schema = database()`)
  await run('analyze table access_tokens')
  return [await ofAll('table_rows'), (await ofAll('data_length + index_length')) / 1e6]
}

/** Row 38. */
export const growth: MeasureRow = async (input) => {
  const lines: BenchLine[] = []
  for (const users of sizes) if (users < 1_000_000 || input.run.slow) lines.push(...(await growthAt(input, users)))
  return lines
}
