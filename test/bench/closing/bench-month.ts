import type { AccountId } from '../../../core/kernel/ids.ts'
import { monthKey } from '../../../core/usage/month.ts'

/** The month that the bench closes, and to whom its usage is reported. */
export const benchMonth = monthKey(2026, 10)
export const benchOwner = 11 as AccountId
