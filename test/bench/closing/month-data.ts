import Database from 'better-sqlite3'
import { emailLists } from '../../../core/contracts/types.ts'
import { monthEnd, monthStart } from '../../../core/usage/month.ts'
import { withMariaDb } from '../lab.ts'
import { benchMonth, benchOwner } from './bench-month.ts'

/** A month with as many intervals as it is asked for: ten for each object, up to 100,000 in a cluster. */
const perObject = 10
const perCluster = 100_000

interface Words {
  /** A table with the column seq from 0 to below a number. */
  readonly numbers: (below: number) => string
  readonly div: string
  readonly uid: string
  readonly bits: string
}

const noEmails = JSON.stringify(Object.fromEntries(emailLists.map((list) => [list, []])))

const statements = (intervals: number, { numbers, div, uid, bits }: Words): readonly string[] => {
  const [start, end] = [monthStart(benchMonth), monthEnd(benchMonth)]
  const step = Math.floor((end - start) / perObject)
  const clusters = Math.ceil(intervals / perCluster)
  const objectsOfCluster = perCluster / perObject
  return [
    `insert into accounts (id, kind, name, lower_name, created_at)
      values (${benchOwner}, 'organization', 'bench', 'bench', 0)`,
    `insert into usage_kinds (id, product, api_group, kind)
      values (1, 'dbProduct', 'db.example', 'Postgres'), (2, 'dbProduct', 'db.example', 'Redis'), (3, 'dbProduct',
        'db.example', 'MySQL')`,
    `insert into usage_clusters (id, owner_id, cluster_uid, first_heard, last_heard, carried_month)
      select seq + 1, ${benchOwner}, concat('cluster-', seq), ${start}, ${end - 3600}, ${benchMonth}
      from ${numbers(clusters)}`,
    `insert into usage_presence (cluster_id, month, hours)
      select seq + 1, ${benchMonth}, ${bits}
      from ${numbers(clusters)}`,
    // Each cluster changes its mode in the middle of the month.
    `insert into usage_modes (cluster_id, at, event_id, mode)
      select seq + 1, ${start + 15 * 86_400}, 'm', 'prod'
      from ${numbers(clusters)}`,
    `insert into contracts (id, owner_id, name, product, features, emails, quota, restrictions, starts_at, ends_at,
        allows_offline, binds_new_clusters, disables_analytics, enables_client_billing, created_at, updated_at)
      values (1, ${benchOwner}, 'Bench', 'database', '[]', '${noEmails}', '{"enabled":false}', '', 0, 9000000000000,
        0, 0, 0, 0, 0, 0)`,
    `insert into contract_cluster_intervals (contract_id, cluster_uid, bound_from)
      select 1, concat('cluster-', seq), 0
      from ${numbers(clusters)}`,
    `insert into usage_objects (id, cluster_id, object_uid, kind_id, namespace, namespace_uid, name, created_at,
        last_heard_day, sends_heartbeats)
     select seq + 1, seq ${div} ${objectsOfCluster} + 1, ${uid}, seq % 3 + 1, concat('shop-', seq % 50), concat('n-',
        seq % 50), concat('db-', seq), ${start - 86_400}, 30000, 0 from ${numbers(intervals / perObject)}`,
    `insert into usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, memory_mib,
        generation, replicas)
     select ${benchMonth}, seq ${div} ${perCluster} + 1, seq ${div} ${perObject} + 1,
       ${start} + (seq % ${perObject}) * ${step}, ${start} + (seq % ${perObject} + 1) * ${step},
       ${start} + (seq % ${perObject} + 1) * ${step},
       (seq ${div} ${perObject}) % 3 + 1, 500 + seq % 4000, 1024 + seq % 5000, seq % ${perObject} + 1,
        3 from ${numbers(intervals)}`,
  ]
}

/** Fills a migrated database with statements of the database itself, which is the fastest. */
export const loadMonth = async (url: string, intervals: number): Promise<void> => {
  if (url.startsWith('sqlite:')) {
    const db = new Database(url.slice('sqlite:'.length))
    db.pragma('synchronous = OFF')
    const numbers = (below: number): string =>
      `(with recursive g(seq) as (select 0 union all select seq + 1 from g where seq < ${below - 1}) select seq from g)`
    for (const statement of statements(intervals, {
      numbers,
      div: '/',
      uid: 'lower(hex(randomblob(16)))',
      bits: `x'${'ff'.repeat(93)}'`,
    }))
      db.exec(statement)
    db.exec('analyze')
    db.close()
    return
  }
  await withMariaDb(url, async (run) => {
    const numbers = (below: number): string => `seq_0_to_${below - 1}`
    for (const statement of statements(intervals, {
      numbers,
      div: 'div',
      uid: 'md5(seq)',
      bits: `x'${'ff'.repeat(93)}'`,
    }))
      await run(statement)
    await run('analyze table usage_intervals, usage_objects')
  })
}
