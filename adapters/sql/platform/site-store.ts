import type { Knex } from 'knex'
import type { BrandingStore, SiteCounts, SiteFacts } from '../../../core/platform/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'

type Column = 'logo' | 'favicon' | 'primaryColor' | 'showAppTag' | 'appName'

const columns = (p: (n: Column) => Knex.Value): Record<string, Knex.Value> => ({
  logo: p('logo'),
  favicon: p('favicon'),
  primary_color: p('primaryColor'),
  show_app_tag: p('showAppTag'),
  app_name: p('appName'),
})

const onlyRow = 1

const statements = (db: SqlDatabase) => ({
  // Locked until the transaction ends, so that no concurrent change is lost.
  read: db.prepare((k) =>
    k('branding')
      .where('id', onlyRow)
      .select('logo', 'favicon', 'primary_color', 'show_app_tag', 'app_name')
      .forUpdate(),
  ),
  put: db.prepare((k, p: (n: Column) => Knex.Value) =>
    k('branding')
      .insert({ id: onlyRow, ...columns(p) })
      .onConflict('id')
      .merge(columns(p)),
  ),
})

interface BrandingRow {
  readonly logo: string
  readonly favicon: string
  readonly primary_color: string
  readonly show_app_tag: number | string
  readonly app_name: string
}

/** The branding of the installation on SQL: one row, or none. */
export const makeSqlBrandingStore = (db: SqlDatabase): ((runner: SqlRunner) => BrandingStore) => {
  const s = statements(db)
  return (runner) => ({
    async read() {
      const row = await runner.first<BrandingRow>(s.read, {})
      if (row === undefined) return undefined
      return {
        logo: row.logo,
        favicon: row.favicon,
        primaryColor: row.primary_color,
        showAppTag: Number(row.show_app_tag) === 1,
        appName: row.app_name,
      }
    },
    async put(branding) {
      await runner.run(s.put, { ...branding })
    },
  })
}

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
  const version = db.prepare((k) =>
    k.raw(db.dialect === 'sqlite' ? 'select sqlite_version() as version' : 'select version() as version'),
  )
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
