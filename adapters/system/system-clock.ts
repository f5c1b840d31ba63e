import type { Clock } from '../../core/kernel/clock.ts'

export const systemClock: Clock = { now: () => new Date() }
