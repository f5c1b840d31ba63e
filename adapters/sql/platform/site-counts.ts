import type { Knex } from 'knex'
import type { SiteCounts, SiteFacts } from '../../../core/platform/ports.ts'
import type { SqlDatabase } from '../kit/statement.ts'

type Counted = keyof SiteCounts
/** Robot accounts are not counted as users. */
const people = (k: Knex): Knex.QueryBuilder => k('users').whereNull('robot_org_id')

const tables: Readonly<Record<Counted, (k: Knex) => Knex.QueryBuilder>> = {
  users: people,
  activeUsers: (k) => people(k).where({ is_active: 1, prohibit_login: 0 }),
  siteAdmins: (k) => k('users').where('is_admin', 1),
  organizations: (k) => k('organizations'),
  teams: (k) => k('teams'),
  clusters: (k) => k('clusters'),
  sessions: (k) => k('sessions'),
  accessTokens: (k) => k('access_tokens'),
}

/** Counts rows and reads the version of the server. */
export const makeSqlSiteCounts = (db: SqlDatabase): Pick<SiteFacts, 'counts' | 'database'> => {
  const names = Object.keys(tables) as Counted[]
  const counting = names.map((name) => ({ name, statement: db.prepare((k) => tables[name](k).count({ total: '*' })) }))
  const version = db.prepare((k) => k.raw(db.dialect === 'sqlite' ? 'select sqlite_version() as version' : 'select version() as version'))
  return {
    async counts() {
      const counts: Partial<Record<Counted, number>> = {}
      for (const { name, statement } of counting) {
        counts[name] = Number((await db.first<{ total: number | string }>(statement, {}))?.total ?? 0)
      }
      return counts as SiteCounts
    },
    async database() {
      return { kind: db.dialect, version: (await db.first<{ version: string }>(version, {}))?.version ?? '' }
    },
  }
}
