import type { Provide } from '../../boot.ts'

/** Provides the months of usage. */
export const provideUsageMonths: Provide = () => undefined
