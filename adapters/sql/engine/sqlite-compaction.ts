import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'

/** Sizes in bytes. */
interface CompactionPlan {
  readonly size: number
  /** In pages that hold nothing. Pages that are partly filled are merged too, so that more can be freed. */
  readonly unused: number
  /** Free space that the compaction takes beside the file: a copy of the content, and the journal of the file. */
  readonly needed: number
}

/** Another process has the file open. */
export class DatabaseInUse extends Error {}

/** A file of SQLite that no other process has open. */
export interface CompactionSession {
  readonly plan: CompactionPlan
  /** Rewrites the file and returns its size. An interruption leaves the content as it was. */
  compact(): number
  close(): void
}

/** In milliseconds, for a process that is closing the file. */
const closingMilliseconds = 2000

/** Opens the file of a service that has stopped. Throws `DatabaseInUse`. */
export const openCompaction = (path: string): CompactionSession => {
  const raw = new Database(path, { fileMustExist: true, timeout: closingMilliseconds })
  const close = (): void => {
    raw.pragma('journal_mode = WAL')
    raw.close()
  }
  try {
    // Leaving the WAL needs the file alone. A rollback journal also takes less space than a WAL with each new page.
    raw.pragma('journal_mode = DELETE')
  } catch (cause) {
    raw.close()
    if ((cause as { readonly code?: string }).code?.startsWith('SQLITE_BUSY') !== true) throw cause
    throw new DatabaseInUse('Another process has the database open.', { cause })
  }
  const pageBytes = raw.pragma('page_size', { simple: true }) as number
  const unused = pageBytes * (raw.pragma('freelist_count', { simple: true }) as number)
  const { size } = statSync(path)
  return {
    plan: { size, unused, needed: 2 * size - unused },
    compact() {
      inFolder(dirname(path), () => raw.exec('VACUUM'))
      return statSync(path).size
    },
    close,
  }
}

/** Keeps the temporary files of SQLite in a folder, so that the space of one file system is enough. */
const inFolder = (folder: string, work: () => void): void => {
  const before = process.env['SQLITE_TMPDIR']
  process.env['SQLITE_TMPDIR'] = folder
  try {
    work()
  } finally {
    if (before === undefined) delete process.env['SQLITE_TMPDIR']
    else process.env['SQLITE_TMPDIR'] = before
  }
}
