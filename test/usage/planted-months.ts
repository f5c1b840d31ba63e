import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlMonthStore } from '../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageViewStore } from '../../adapters/sql/usage/view-store.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { UsageMonthId, UsageMonthStatus } from '../../core/usage/types.ts'
import { buildViews } from '../../core/usage/views/build-views.ts'
import type { PlainMonth } from './product-months.ts'
import { readOnce } from './product-months.ts'
import { openPatiently } from '../support/databases.ts'

const generatedAt = new Date('2026-07-04T00:30:00.000Z')

export interface PlantedRevision {
  readonly revision?: number
  readonly status?: UsageMonthStatus
  /** Not published, as while it is written. */
  readonly isHidden?: boolean
}

/** Writes the views of one month of an owner as a revision. */
export const plantRevision = async (
  db: SqlDatabase,
  ownerId: number,
  products: readonly PlainMonth[],
  { revision = 1, status = 'final', isHidden = false }: PlantedRevision = {},
): Promise<UsageMonthId> => {
  const months = makeSqlMonthStore(db)(db)
  const id = await months.begin({
    ownerId: ownerId as AccountId,
    month: products[0]!.month,
    revision,
    status,
    watermark: generatedAt,
    inputHash: String(revision).repeat(64).slice(0, 64),
    codeVersion: 1,
    generatedAt,
  })
  for (const month of products) await buildViews(makeSqlUsageViewStore(db)(db), id, readOnce(month))
  if (!isHidden) await months.publish(id)
  return id
}

/** The same in the database of a service. */
export const plantInService = async (
  databaseUrl: string,
  ...given: Parameters<typeof plantRevision> extends readonly [unknown, ...infer Rest] ? Rest : never
): Promise<void> => {
  const db = await openPatiently(databaseUrl)
  try {
    await plantRevision(db, ...given)
  } finally {
    await db.close()
  }
}
