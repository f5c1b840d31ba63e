import { request } from 'undici'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { fillDirectory } from '../../provisioning/large-directory.ts'
import { makeDirectory } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { median, percentile } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'

const members = 10_000
const firstUserId = 1_000_000
const newcomer = firstUserId + members
const asked = 200

const measureOn = async (
  { bench }: RowInput,
  kind: 'SQLite' | 'MariaDB',
  { service, user }: Pick<Awaited<ReturnType<RowInput['lab']['onSqlite']>>, 'service' | 'user'>,
  databaseUrl: string,
): Promise<BenchLine> => {
  bench.progress.doing(`making a group of ${members} on ${kind}`)
  const { org, orgId, teamId, token } = await makeDirectory(service, user)
  const database = await openDatabase(databaseUrl)
  await fillDirectory(database, { orgId, firstUserId, users: members + 1, groups: [{ teamId, members }] })
  await database.close()
  const patch = async (operation: object): Promise<void> => {
    const answer = await request(`${service.baseUrl}/scim/v2/organizations/${org}/Groups/${teamId}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      body: JSON.stringify({ schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: [operation] }),
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 204) throw new Error(`the PATCH was answered ${answer.statusCode}: ${text}`)
  }
  bench.progress.doing(`adding a member on ${kind}`)
  const times: number[] = []
  for (let n = -20; n < asked; n += 1) {
    const from = performance.now()
    await patch({ op: 'Add', path: 'members', value: [{ value: String(newcomer) }] })
    // The first ones compile; they are not counted.
    if (n >= 0) times.push(performance.now() - from)
    await patch({ op: 'Remove', path: `members[value eq "${newcomer}"]` })
  }
  return {
    row: '40',
    what: `p99 of a PATCH that adds one of ${members}, ${kind}`,
    ours: { p99Ms: percentile(times, 0.99) },
    against: '-',
    value: percentile(times, 0.99),
    unit: ' ms',
    bar: bars.groupPatch,
    note: `median ${median(times).toFixed(1)} ms of ${asked}, one after the other`,
  }
}

/** Row 40: the change of a large group of a directory. */
export const groupPatch: MeasureRow = async (input) => {
  const onSqlite = await input.lab.onSqlite()
  const onMariaDb = await input.lab.onMariaDb()
  return [
    await measureOn(input, 'SQLite', onSqlite, `sqlite:${onSqlite.path}`),
    await measureOn(input, 'MariaDB', onMariaDb, onMariaDb.databaseUrl),
  ]
}
