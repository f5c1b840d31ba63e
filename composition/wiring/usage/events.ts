import type { Provide } from '../../boot.ts'

/** Provides the events of usage. */
export const provideUsageEvents: Provide = () => undefined
