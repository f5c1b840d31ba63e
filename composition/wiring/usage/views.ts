import type { Provide } from '../../boot.ts'

/** Provides the views of usage. */
export const provideUsageViews: Provide = () => undefined
