/** What an archive may be. Helm's own limits are wider; these hold for everything that this service fetches. */
export interface ArchiveLimits {
  /** Bytes of the archive as it comes. */
  readonly archiveBytes: number
  /** Bytes of all files together, those of archives inside included. */
  readonly unpackedBytes: number
  readonly fileBytes: number
  /** Entries, folders included. */
  readonly entries: number
  /** Names in a path. */
  readonly pathDepth: number
  readonly pathLength: number
  /** Charts below charts. */
  readonly chartDepth: number
  /** Charts of the whole tree, each as often as its parent takes it by another name; and entries of one list of dependencies. */
  readonly charts: number
  /** Bytes of the default values of that tree, likewise. */
  readonly valuesBytes: number
}

const mebibyte = 1024 * 1024

export const archiveLimits: ArchiveLimits = {
  archiveBytes: 10 * mebibyte,
  unpackedBytes: 50 * mebibyte,
  fileBytes: 5 * mebibyte,
  entries: 5_000,
  pathDepth: 24,
  pathLength: 512,
  chartDepth: 6,
  charts: 500,
  valuesBytes: 10 * mebibyte,
}
