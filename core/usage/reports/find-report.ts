import { left, right } from 'fp-ts/lib/Either.js'
import { defineFailure } from '../../kernel/failure.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { MonthKey } from '../types.ts'
import type { StoredReport, UsageReportStore } from './ports.ts'

/** The month was not generated for the account, or has no report. */
export const UsageReportMissing = defineFailure('UsageReportMissing', 'NotFound', 'No report of this month exists.')

export interface AskedReport {
  readonly ownerId: AccountId
  readonly month: MonthKey
  /** The newest if absent. */
  readonly revision: number | undefined
}

/** Returns the report of a month. */
export const makeFindReport =
  ({ reports }: { readonly reports: UsageReportStore }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, month, revision }: AskedReport,
  ): Outcome<Failure<'UsageReportMissing'>, StoredReport> => {
    const found = await reports.find(ownerId, month, revision)
    return found === undefined ? left(UsageReportMissing('There is no report of this month.')) : right(found)
  }
