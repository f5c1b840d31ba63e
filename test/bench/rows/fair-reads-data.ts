import { randomBytes } from 'node:crypto'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import type { ObjectPlan } from '../../usage/product-months.ts'
import { monthOfPlans } from '../../usage/product-months.ts'
import { plantRevision } from '../../usage/planted-months.ts'

const [teams, contracts, events, databases, viewed] = [10_000, 100_000, 100_000, 20_000, 5_000]
const namespaces = 200
/** Of the report: a megabyte. */
const [reportPieces, pieceBytes] = [16, 65_536]

type Insert = (into: string, columns: string, count: number) => Promise<unknown>

const plans: readonly ObjectPlan[] = Array.from({ length: viewed }, (_, n) => ({
  cluster: 1 + (n % 4),
  kind: 'Postgres',
  namespace: `team-${n % namespaces}`,
  name: `orders-${n}`,
  used: [{ day: 1, use: 'prod', contractId: 7, milliCpuSeconds: BigInt(n) * 99n, mebibyteSeconds: BigInt(n) * 777n }],
}))

/** Writes databases that clients are billed for, the views of a month, and its report. */
const fillUsage = async (db: SqlDatabase, insert: Insert, orgId: number): Promise<void> => {
  const [cluster, kind] = [900_000, 900_000]
  const contract = (
    await db.query<{ readonly id: number }>((k) => k('contracts').where('owner_id', orgId).max({ id: 'id' }))
  )[0]?.id
  await db.query((k) => k.raw('update contracts set enables_client_billing = 1 where id = ?', [contract ?? 0]))
  await insert(
    'contract_clusters (contract_id, owner_id, cluster_uid, display_name, bound_at)',
    `${contract}, ${orgId}, 'bench-cluster', 'Bench', 1`,
    1,
  )
  await insert(
    'usage_clusters (id, owner_id, cluster_uid, first_heard, last_heard, carried_month)',
    `${cluster}, ${orgId}, 'bench-cluster', 1, 2, 24317`,
    1,
  )
  await insert('usage_kinds (id, product, api_group, kind)', `${kind}, 'dbProduct', 'bench.example', 'Postgres'`, 1)
  await insert(
    'usage_objects (cluster_id, object_uid, kind_id, namespace, namespace_uid, name, created_at, last_heard_day, ' +
      'sends_heartbeats)',
    `${cluster}, printf('uid-%08d', i), ${kind}, 'team-' || (i % ${namespaces}), 'n-' || (i % ${namespaces}), ` +
      `'db-' || i, 1, 30000, 0`,
    databases,
  )
  const month = await plantRevision(db, orgId, [monthOfPlans(plans)])
  const reports = makeSqlUsageReportStore(db)(db)
  for (let piece = 0; piece < reportPieces; piece += 1) await reports.addPiece(month, piece, randomBytes(pieceBytes))
}

/** Writes the rows of one organization behind the back of the service. */
export const fillOrganization = async (db: SqlDatabase, orgId: number): Promise<void> => {
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
  await fillUsage(db, insert, orgId)
}
