import Database from 'better-sqlite3'
import { statSync } from 'node:fs'

/** A SQLite file as it was when it was opened. */
export interface OpenedFile {
  readonly path: string
  readonly device: number
  readonly inode: number
}

let connection: Database.Database | undefined

/** Reports whether the path still leads to the file. It is not opened for that: closing it would release its locks. */
export const isThere = ({ path, device, inode }: OpenedFile): boolean => {
  const now = statSync(path, { throwIfNoEntry: false })
  return now?.dev === device && now.ino === inode
}

const open = ({ path }: OpenedFile): Database.Database => {
  const raw = new Database(path, { fileMustExist: true, timeout: 0 })
  raw.pragma('synchronous = NORMAL')
  return raw
}

/**
 * Copies what is committed from the WAL into the file, as far as no connection reads an older state, and waits for the
 * disk. It waits for no lock. While another process does the same, it does nothing. A file that was removed or replaced
 * is left alone: its WAL may be all that is left of the last changes.
 */
export const copyIntoFile = (file: OpenedFile): void => {
  if (!isThere(file)) return
  connection ??= open(file)
  connection.pragma('wal_checkpoint(PASSIVE)')
}
