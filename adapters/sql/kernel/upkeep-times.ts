import type { SqlDatabase } from '../kit/statement.ts'
import { siteSettingStatements } from './site-settings.ts'

/** What an operator does from time to time, and must not forget. */
export type UpkeepWork = 'backup' | 'audit_check'

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
  const { find, put } = siteSettingStatements(db)
  const secondsOf = async (work: UpkeepWork): Promise<number> => {
    const row = await db.first(find, { name: nameOf(work) })
    return row === undefined ? 0 : Date.parse(row.value) / 1000
  }
  return {
    async record(work, at) {
      await db.run(put, { name: nameOf(work), value: at.toISOString() })
    },
    lastSeconds: async () => ({ backup: await secondsOf('backup'), audit_check: await secondsOf('audit_check') }),
  }
}
