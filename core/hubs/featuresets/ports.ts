import type { TimeSlices } from '../../kernel/clock.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { FeatureClaims } from './claims.ts'

/**
 * Reports whether a chart version is in a range, written as in a HelmRelease: `1.2.3`, `^1.2`, `>=1.2 <2`. A text that
 * is neither is in no range.
 */
export type VersionInRange = (version: string, range: string) => boolean
export const VersionInRangePort = portKey<VersionInRange>('featuresets.VersionInRange')

/** One for the whole service, so that all routes share what it keeps. */
export const FeatureClaimsPort = portKey<FeatureClaims>('featuresets.FeatureClaims')

/** Runs the work on one spoke after that on another, so that other requests do not wait for a large cluster set. */
export const SpokeSlicesPort = portKey<TimeSlices>('featuresets.SpokeSlices')
