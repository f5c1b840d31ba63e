import type { Knex } from 'knex'
import type { BrandingStore } from '../../../core/platform/ports.ts'
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
  read: db.prepare((k) => k('branding').where('id', onlyRow).select('logo', 'favicon', 'primary_color', 'show_app_tag', 'app_name').forUpdate()),
  put: db.prepare((k, p: (n: Column) => Knex.Value) =>
    k('branding').insert({ id: onlyRow, ...columns(p) }).onConflict('id').merge(columns(p)),
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
