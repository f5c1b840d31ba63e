import type { SqlDatabase } from '../kit/statement.ts'
import { pick } from '../kit/columns.ts'
import { newRow, values } from '../kit/values.ts'
import { siteSettings } from '../tables/kernel.ts'

/** What an operator does from time to time, and must not forget. */
type UpkeepWork = 'backup' | 'audit_check'

const nameOf = (work: UpkeepWork): string => `last_good_${work}`

/** When work of operators last succeeded, on SQL. */
interface UpkeepTimes {
  /** Records that work succeeded. */
  record(work: UpkeepWork, at: Date): Promise<void>
  /** Returns when each work last succeeded, as Unix time; 0 of work that never did. */
  lastSeconds(): Promise<Readonly<Record<UpkeepWork, number>>>
}

/** UpkeepTimes over the table `site_settings`. */
export const makeSqlUpkeepTimes = (db: SqlDatabase): UpkeepTimes => {
  const read = db.prepare({ name: siteSettings.name }, { value: siteSettings.value }, (k, p) =>
    k('site_settings').where('name', p.name),
  )
  const put = db.prepare(pick(siteSettings, 'name', 'value'), (k, p) =>
    k('site_settings')
      .insert(newRow(siteSettings, { name: p.name, value: p.value }))
      .onConflict('name')
      .merge(values(siteSettings, { value: p.value })),
  )
  const secondsOf = async (work: UpkeepWork): Promise<number> => {
    const row = await db.first(read, { name: nameOf(work) })
    return row === undefined ? 0 : Date.parse(row.value) / 1000
  }
  return {
    async record(work, at) {
      await db.run(put, { name: nameOf(work), value: at.toISOString() })
    },
    lastSeconds: async () => ({ backup: await secondsOf('backup'), audit_check: await secondsOf('audit_check') }),
  }
}
