import { pick } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { newRow, values } from '../kit/values.ts'
import { siteSettings } from '../tables/kernel.ts'

/** Statements over the table `site_settings`: texts by names, which are those of the callers. */
export const siteSettingStatements = (db: SqlDatabase) => ({
  find: db.prepare({ name: siteSettings.name }, { value: siteSettings.value }, (k, p) =>
    k('site_settings').where('name', p.name),
  ),
  put: db.prepare(pick(siteSettings, 'name', 'value'), (k, p) =>
    k('site_settings')
      .insert(newRow(siteSettings, { name: p.name, value: p.value }))
      .onConflict('name')
      .merge(values(siteSettings, { value: p.value })),
  ),
})
