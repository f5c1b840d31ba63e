import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { fillWithUsers } from '../../support/searched-users.ts'

/** Accounts, contracts of each, and clusters of each contract: 100 000 contracts and 1 000 000 bindings. */
export const contractSizes = {
  full: { accounts: 1000, contracts: 100, clusters: 10 },
  small: { accounts: 100, contracts: 100, clusters: 10 },
} as const

/** One statement inserts so many: a longer one takes more than the time that a statement may. */
const rowsInAPiece = 50_000
const numbers = {
  sqlite: (from: number, to: number) =>
    `(with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i from n) as n`,
  mysql: (from: number, to: number) => `(select seq as i from seq_${from}_to_${to}) as n`,
}
const whole = { sqlite: (a: string, b: number) => `${a} / ${b}`, mysql: (a: string, b: number) => `${a} div ${b}` }
const uidOf = {
  sqlite: (n: string) => `printf('00000000-0000-4000-8000-%012d', ${n})`,
  mysql: (n: string) => `concat('00000000-0000-4000-8000-', lpad(${n}, 12, '0'))`,
}

/** The UID of a cluster of the first account. */
export const firstUids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
/** The login of the first account. */
export const firstAccount = 'u000001'

const insertAll = async (
  db: SqlDatabase,
  { accounts, contracts, clusters }: (typeof contractSizes)[keyof typeof contractSizes],
): Promise<void> => {
  const insert = async (into: string, columns: string, count: number): Promise<void> => {
    for (let from = 0; from < count; from += rowsInAPiece)
      await db.query((k) =>
        k.raw(
          `insert into ${into} select ${columns} from ${numbers[db.dialect](from, Math.min(count, from + rowsInAPiece) - 1)}`,
        ),
      )
  }
  const now = Date.now()
  const all = accounts * contracts
  await insert(
    'contracts (id, owner_id, name, product, features, emails, quota, restrictions, starts_at, ends_at, allows_offline, binds_new_clusters, disables_analytics, enables_client_billing, created_at, updated_at)',
    `i + 1, 1001 + ${whole[db.dialect]('i', contracts)}, 'Contract', 'database', '["database-enterprise"]', '{"contactPerson":[],"signingAuthority":[],"licenseUsers":[],"financeTeam":[],"usageAlertClient":[],"usageAlertAdmin":[]}', '{"enabled":false,"metric":"memory_gib_month","limit":0,"alertThresholds":[],"disableLicenseOnLimitReached":false}', '', ${now} - 86400000 - i * 1000, ${now} + 86400000 * (1 + i % 300), 1, 0, 0, 0, ${now}, ${now}`,
    all,
  )
  await insert(
    'contract_clusters (contract_id, owner_id, cluster_uid, display_name, bound_at)',
    `1 + ${whole[db.dialect]('i', clusters)}, 1001 + ${whole[db.dialect]('i', contracts * clusters)}, ${uidOf[db.dialect]('i')}, 'Cluster', ${now}`,
    all * clusters,
  )
  await db.query((k) =>
    k.raw(db.dialect === 'sqlite' ? 'analyze' : 'analyze table contracts, contract_clusters, accounts'),
  )
}

/** Fills an empty database. Returns the seconds that it took. */
export const fillWithContracts = async (databaseUrl: string, size: keyof typeof contractSizes): Promise<number> => {
  const from = performance.now()
  const database = await openDatabase(databaseUrl)
  await fillWithUsers(database, contractSizes[size].accounts)
  await insertAll(database, contractSizes[size])
  await database.close()
  return (performance.now() - from) / 1000
}
