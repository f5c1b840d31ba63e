import type { MeteringTally } from '../../core/marketplace/metering/ports.ts'

/** MeteringTally in the memory of this process. */
export const makeMeteringTally = (): MeteringTally => {
  const counts = { accepted: 0, refused: 0, unknown: 0, failed: 0, partial: 0, repeated: 0 }
  return {
    count: (outcome) => {
      counts[outcome] += 1
    },
    counts: () => ({ ...counts }),
  }
}
