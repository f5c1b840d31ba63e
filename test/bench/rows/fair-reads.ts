import { join } from 'node:path'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { callApi, makeToken, makeUser, type BenchUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import type { LoadGenerator } from '../load/load-generator.ts'
import type { LoadTarget } from '../load/protocol.ts'
import type { Bench } from '../measure.ts'
import { getRequest, loadOn, postRequest } from '../requests.ts'
import { adminName, adminPassword, type BenchService } from '../service-process.ts'
import { median, ratio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { fillOrganization } from './fair-reads-data.ts'

/** Of the tenant that reads, without a pause between an answer and the next request. */
const connections = 4
/** Each connection was answered twice. */
const leastAnswers = 2 * connections
const objects = 500

const org = 'bench-large'

/** The reads that cost the main thread most, each of them as a flood. */
const readsOf = ({ port }: BenchService, { token }: BenchUser, siteAdminToken: string): readonly LoadTarget[] => {
  const get = (id: string, path: string, asker = token): LoadTarget =>
    loadOn(id, port, getRequest(`/api/v1${path}`, asker), connections)
  const view = `/dashboard/summary/2026/6/usage-report/products/dbProduct/views/objects-usage-view?view_type=total&org=${org}`
  const batch = Array.from({ length: objects }, (_, at) => ({ objectType: 'team', objectID: at + 1 }))
  return [
    get('the audit export', `/orgs/${org}/audit/export`),
    get('a deep page of the audit log', `/orgs/${org}/audit?page=200&limit=50`),
    get('50 of 10^5 contracts', `/user/contracts?org=${org}&limit=50`),
    get(
      'contracts that are not associated',
      `/user/contracts/active/not-associated-with/clusters/00000000-0000-4000-8000-000000000000?org=${org}`,
    ),
    loadOn(
      'permissions of 500 objects',
      port,
      postRequest(`/api/v1/authz/objects/allowed-permissions?org=${org}`, token, batch),
      connections,
    ),
    get('the OpenAPI document, uncompressed', '/openapi.json'),
    get('10,000 teams without a page', `/orgs/${org}/teams`),
    get('a search of users', '/users/search?q=b&limit=50'),
    get('the databases of 20,000 objects by namespace', `/dbaas/billing/reports/namespaces?org=${org}`),
    get('a usage view of 5,000 objects', `${view}&format=json`, siteAdminToken),
    get('the same as CSV', `${view}&format=csv`, siteAdminToken),
    get('a report of a month as PDF', `/dashboard/summary/2026/6/download?org=${org}`, siteAdminToken),
  ]
}

interface FairReadsInput {
  readonly bench: Bench
  readonly service: BenchService
  readonly storm: LoadGenerator
  readonly seconds: number
}

/** Of row 36: the others' median while one tenant reads, over that while it sends as many plain requests. */
export const measureFairReads = async ({
  bench,
  service,
  storm,
  seconds,
}: FairReadsInput): Promise<readonly BenchLine[]> => {
  const reader = await makeUser(service, 'bench-reader')
  const other = await makeUser(service, 'bench-reads-beside')
  const siteAdminToken = await makeToken(service, adminName, adminPassword)
  const authorization = `Bearer ${reader.token}`
  const made = await callApi(service, '/orgs', { authorization, body: { username: org } })
  const database = await openDatabase(`sqlite:${join(service.dataDir, 'moorage.sqlite')}`)
  await fillOrganization(database, Number((made as { readonly id: unknown }).id)).finally(() => database.close())
  const calm = loadOn('others', service.port, getRequest('/api/v1/user', other.token), connections, {
    pauseMilliseconds: 5,
  })
  const plain = loadOn('plain requests', service.port, getRequest('/api/v1/user', reader.token), connections)
  const besides = async (flood: LoadTarget) => {
    const [others, flooding] = await Promise.all([bench.generator.slice(calm, seconds), storm.slice(flood, seconds)])
    return { median: others.p50, answers: flooding.answersInAll, reason: flooding.firstError }
  }
  const lines: BenchLine[] = []
  for (const read of readsOf(service, reader, siteAdminToken)) {
    const rounds = []
    for (let round = 0; round < bench.pace.rounds; round += 1)
      rounds.push({ control: await besides(plain), during: await besides(read) })
    const answers = rounds.reduce((sum, { during }) => sum + during.answers, 0)
    const reason = rounds.map(({ during }) => during.reason).find((each) => each !== undefined)
    const ratios = rounds.map(({ control, during }) => ratio(during.median, control.median))
    lines.push({
      row: '36',
      what: `others' median beside ${read.id}`,
      ours: {},
      against: 'beside plain requests',
      value: answers < leastAnswers ? Number.NaN : median(ratios),
      bestValue: Math.min(...ratios),
      unit: 'x' as const,
      bar: bars.fairLimiter,
      note: `${median(rounds.map(({ during }) => during.median)).toFixed(1)} ms; ${read.connections} at the same time: ${answers} answers${reason === undefined ? '' : ` (${reason})`}`,
    })
  }
  return lines
}
