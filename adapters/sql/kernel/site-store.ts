import type { Knex } from 'knex'
import type { BrandingStore, SiteCounts, SiteFacts } from '../../../core/platform/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { branding } from '../tables/kernel.ts'
import { long, longText, selectedAs, without } from '../kit/columns.ts'
import { assigned } from '../kit/values.ts'

/** A new column of `branding` belongs to what is shown. */
const shown = without(branding, 'id')

const onlyRow = 1

const statements = (db: SqlDatabase) => ({
  // Locked until the transaction ends, so that no concurrent change is lost.
  read: db.prepare({}, shown, (k) => k('branding').where('id', onlyRow).forUpdate()),
  put: db.prepare(shown, (k, p) =>
    k('branding')
      .insert({ id: onlyRow, ...assigned(shown, p) })
      .onConflict('id')
      .merge(assigned(shown, p)),
  ),
})

/** The branding of the installation on SQL: one row, or none. */
export const makeSqlBrandingStore = (db: SqlDatabase): ((runner: SqlRunner) => BrandingStore) => {
  const s = statements(db)
  return (runner) => ({
    read: () => runner.first(s.read, {}),
    async put(branding) {
      await runner.run(s.put, branding)
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
  const counting = names.map((name) => ({
    name,
    statement: db.prepare({}, { total: selectedAs(long()) }, (k) => tables[name](k).count({ total: '*' })),
  }))
  const version = db.prepare({}, { version: selectedAs(longText()) }, (k) =>
    k.raw(db.dialect === 'sqlite' ? 'select sqlite_version() as version' : 'select version() as version'),
  )
  return {
    async counts() {
      const counts: Partial<Record<Counted, number>> = {}
      for (const { name, statement } of counting) {
        counts[name] = (await db.first(statement, {}))?.total ?? 0
      }
      return counts as SiteCounts
    },
    async database() {
      return { kind: db.dialect, version: (await db.first(version, {}))?.version ?? '' }
    },
  }
}
