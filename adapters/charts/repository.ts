import type { IndexedVersion } from './repository-index.ts'

/** An archive as it came from its repository. */
export interface ChartArchive {
  readonly version: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What the repository says of it, not yet compared: lower-case hex of SHA-256. */
  readonly digests: readonly string[]
}

/** One repository, opened for one caller. Its methods throw what `toSourceFailure` knows. */
export interface Repository {
  /** The newest version of each chart, by name. */
  charts(signal: AbortSignal): Promise<readonly IndexedVersion[]>
  /** Newest first; throws ChartMissing when there is none. */
  versions(name: string, signal: AbortSignal): Promise<readonly IndexedVersion[]>
  /** @param wanted a version, a range, or empty for the newest stable one. */
  fetch(name: string, wanted: string, signal: AbortSignal): Promise<ChartArchive>
}
