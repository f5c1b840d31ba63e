import { join } from 'node:path'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { callApi, makeUser, type BenchUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import type { LoadGenerator } from '../load/load-generator.ts'
import type { LoadTarget } from '../load/protocol.ts'
import type { Bench } from '../measure.ts'
import { getRequest, loadOn, postRequest } from '../requests.ts'
import type { BenchService } from '../service-process.ts'
import { median, ratio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'

/** Of the tenant that reads, without a pause between an answer and the next request. */
const connections = 4
const leastAnswers = 20
const [teams, contracts, events, objects] = [10_000, 100_000, 100_000, 500]

const org = 'bench-large'

/** Rows of one organization, written behind the back of the service. */
const fill = async (db: SqlDatabase, orgId: number): Promise<void> => {
  const insert = (into: string, columns: string, count: number) =>
    db.query((k) =>
      k.raw(
        `insert into ${into} select ${columns} from ` +
          `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`,
      ),
    )
  const at = Date.now()
  await insert(
    'teams (org_id, name, lower_name, permission, created_at)',
    `${orgId}, 'bench-' || i, 'bench-' || i, 'read', ${at}`,
    teams,
  )
  const emails =
    '{"contactPerson":[],"signingAuthority":[],"licenseUsers":[],"financeTeam":[],"usageAlertClient":[],"usageAlertAdmin":[]}'
  const quota =
    '{"enabled":false,"metric":"memory_gib_month","limit":0,"alertThresholds":[],"disableLicenseOnLimitReached":false}'
  await insert(
    'contracts (owner_id, name, product, features, emails, quota, restrictions, starts_at, ends_at, allows_offline, ' +
      'binds_new_clusters, disables_analytics, enables_client_billing, created_at, updated_at)',
    `${orgId}, 'Contract', 'database', '["database-enterprise"]', '${emails}', '${quota}', '', ${at} - 86400000 - i, ` +
      `${at} + 86400000, 1, 0, 0, 0, ${at}, ${at}`,
    contracts,
  )
  await insert(
    'audit_events (at, tenant_id, actor_id, actor_name, method, source_ip, request_id, operation, action, result, ' +
      'object_type, object_name, changes, previous_hash, hash)',
    `${at} - ${events} + i, ${orgId}, 5, 'ada', 'token', '192.0.2.1', 'r' || i, 'authz.createRole', 'role.created', ` +
      `'done', 'role', 'Viewers', '{"permissions":["cluster_mgmt/view clusters"]}', zeroblob(32), zeroblob(32)`,
    events,
  )
}

/** The reads that cost the main thread most, each of them as a flood. */
const readsOf = ({ port }: BenchService, { token }: BenchUser): readonly LoadTarget[] => {
  const get = (id: string, path: string): LoadTarget =>
    loadOn(id, port, getRequest(`/api/v1${path}`, token), connections)
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
  const authorization = `Bearer ${reader.token}`
  const made = await callApi(service, '/orgs', { authorization, body: { username: org } })
  const database = await openDatabase(`sqlite:${join(service.dataDir, 'moorage.sqlite')}`)
  await fill(database, Number((made as { readonly id: unknown }).id)).finally(() => database.close())
  const calm = loadOn('others', service.port, getRequest('/api/v1/user', other.token), connections, {
    pauseMilliseconds: 5,
  })
  const plain = loadOn('plain requests', service.port, getRequest('/api/v1/user', reader.token), connections)
  const besides = async (flood: LoadTarget) => {
    const [others, flooding] = await Promise.all([bench.generator.slice(calm, seconds), storm.slice(flood, seconds)])
    return { median: others.p50, answers: flooding.answersInAll, reason: flooding.firstError }
  }
  const lines: BenchLine[] = []
  for (const read of readsOf(service, reader)) {
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
      bar: bars.fairTurns,
      note: `${median(rounds.map(({ during }) => during.median)).toFixed(1)} ms; ${read.connections} at the same time: ${answers} answers${reason === undefined ? '' : ` (${reason})`}`,
    })
  }
  return lines
}
