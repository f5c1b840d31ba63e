import { defineFailure } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { token } from '../kernel/token.ts'

/** A release of that name exists, and Helm would not use the name again; the message says what can be done. */
export const ReleaseNameTaken = defineFailure('ReleaseNameTaken', 'Conflict')
/** A helm that is not ours works on the release, or died while it did; the message says what can be done. */
export const ReleasePending = defineFailure('ReleasePending', 'Conflict')
/** Options of a release operation contradict each other, or name what cannot be; the message names the field. */
export const ReleaseOptionsRefused = defineFailure('ReleaseOptionsRefused', 'Unprocessable')

/** Compares texts by lines; long ones aside, so that nothing else waits for them. */
export interface TextDiff {
  /** Changed lines with a few around them, each after `+`, `-` or a space; hunks begin with `@@`. Empty when equal. */
  lines(from: string, to: string): Promise<string>
}
export const TextDiffToken = token<TextDiff>('packages.TextDiff')

/** What a release record holds: JSON, and files that stand in it as base64. */
export interface StoredParts {
  readonly record: FreeObject
  readonly files: ReadonlyMap<string, Uint8Array>
}

/** Foretells how large a release record will be. */
export interface RecordSizes {
  /** Bytes of the stored value: JSON, compressed, in base64. */
  packed(parts: StoredParts): Promise<number>
}
export const RecordSizesToken = token<RecordSizes>('packages.RecordSizes')

/** Waits; resolves early, and never rejects, when the signal is aborted. */
export interface Pause {
  (milliseconds: number, signal: AbortSignal): Promise<void>
}
export const PauseToken = token<Pause>('packages.Pause')
