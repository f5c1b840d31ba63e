import type { Provide } from '../../boot.ts'

/** Provides the reports of usage. */
export const provideUsageReports: Provide = () => undefined
