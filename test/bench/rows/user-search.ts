import { join } from 'node:path'
import { request } from 'undici'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { fillWithUsers } from '../../support/searched-users.ts'
import { makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { median } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { dataSizes } from './large-organization-data.ts'
import type { MeasureRow, RowInput } from './row.ts'

/** A text that nearly every name has, one that some have in the middle, and one that few have. */
const texts = ['0', '0123', '99999'] as const
const asked = 200

const measureOn = async (
  { lab, bench, run }: RowInput,
  kind: 'SQLite' | 'MariaDB',
  databaseUrl: string,
): Promise<readonly BenchLine[]> => {
  const { users } = dataSizes[run.size]
  bench.progress.doing(`making ${users} users on ${kind}`)
  const database = await openDatabase(databaseUrl)
  const migratedIn = await fillWithUsers(database, users)
  await database.close()
  // A service does not make a key ring for a database that is in use already.
  const first = await lab.service({ name: `service that makes the key ring for ${kind}` })
  await first.stop()
  const service = await lab.service({
    name: `service with ${users} users on ${kind}`,
    databaseUrl,
    dataDir: first.dataDir,
  })
  const user = await makeUser(service, 'bench-ada')
  const lines: BenchLine[] = []
  for (const text of texts) {
    bench.progress.doing(`searching ${text} on ${kind}`)
    const times: number[] = []
    for (let n = -20; n < asked; n += 1) {
      const from = performance.now()
      const answer = await request(`${service.baseUrl}/api/v1/users/search?q=${text}&limit=50`, {
        headers: { authorization: `Bearer ${user.token}` },
      })
      await answer.body.dump()
      if (answer.statusCode !== 200) throw new Error(`the search was answered ${answer.statusCode}`)
      // The first ones compile; they are not counted.
      if (n >= 0) times.push(performance.now() - from)
    }
    const note = `median of ${asked}, one after the other; filling the index for them took ${(migratedIn / 1000).toFixed(0)} s`
    lines.push({
      row: '20',
      what: `search q=${text} among ${users} users, ${kind}`,
      ours: {},
      against: '-',
      value: median(times),
      unit: ' ms',
      bar: bars.search,
      note,
    })
  }
  await service.stop()
  return lines
}

/** Row 20: what a search costs does not grow with the users. */
export const userSearch: MeasureRow = async (input) => [
  ...(await measureOn(input, 'SQLite', `sqlite:${join(input.lab.folder, 'searched.sqlite')}`)),
  ...(await measureOn(input, 'MariaDB', await (await input.lab.mariaDb()).createDatabase())),
]
