import { setTimeout as sleep } from 'node:timers/promises'
import { callApi } from '../api-calls.ts'
import { bars, type Bar } from '../bars.ts'
import { withMariaDb } from '../lab.ts'
import { median } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow } from './row.ts'

const requests = 300

/** Statements that the server has run for clients so far. */
const questions = async (run: (sql: string) => Promise<unknown>): Promise<number> => {
  const rows = (await run("show global status where Variable_name = 'Questions'")) as { Value: string }[]
  return Number(rows[0]?.Value)
}

interface Counted {
  readonly row: string
  readonly what: string
  readonly bar: Bar
  readonly note?: string
  ask(): Promise<unknown>
}

/**
 * Row 4: what MariaDB itself counts over some hundred requests, one after the other, less what it counts without them.
 */
export const roundTrips: MeasureRow = async ({ lab, bench }) => {
  const { service, user } = await lab.onMariaDb()
  const server = await lab.mariaDb()
  const authorization = `Bearer ${user.token}`
  bench.progress.doing(`counting statements over ${requests} requests of two kinds`)
  const kinds: readonly Counted[] = [
    {
      row: '4a',
      what: 'SQL per authenticated read (GET /user)',
      bar: bars.queriesRead,
      ask: () => callApi(service, '/user', { authorization }),
    },
    {
      row: '4b',
      what: 'SQL with object permission (GET /authz/roles)',
      bar: bars.queriesWithPermission,
      note: 'the token, the permission, and the list itself (its rows with their number)',
      ask: () => callApi(service, '/authz/roles?org=bench-queries', { authorization }),
    },
  ]
  await callApi(service, '/orgs', { authorization, body: { username: 'bench-queries' } })
  return withMariaDb(server.url(''), async (run) => {
    const lines: BenchLine[] = []
    for (const kind of kinds) {
      for (let i = 0; i < 20; i += 1) await kind.ask()
      const counts: number[] = []
      for (let i = 0; i < 3; i += 1) counts.push(await countOf(run, kind))
      // A job that runs in one of the counts is not one of the requests' statements.
      const value = median(counts)
      lines.push({
        row: kind.row,
        what: kind.what,
        ours: {},
        against: '-',
        value,
        unit: '',
        bar: kind.bar,
        ...note(kind.note),
      })
    }
    return lines
  })
}

const countOf = async (run: (sql: string) => Promise<unknown>, kind: Counted): Promise<number> => {
  const startedAt = performance.now()
  const before = await questions(run)
  for (let i = 0; i < requests; i += 1) await kind.ask()
  const during = (await questions(run)) - before
  const milliseconds = performance.now() - startedAt
  // Jobs and lease renewals go on in the background; as long again without requests shows how much that is.
  const idleBefore = await questions(run)
  await sleep(milliseconds)
  const idle = (await questions(run)) - idleBefore
  return (during - idle) / requests
}
