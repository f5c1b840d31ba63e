import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** As much as the smallest operation needs. A disk that cannot hold it counts as full. */
const probe = Buffer.alloc(64 * 1024)

/**
 * Returns why no file can be written in a folder, as a code of the system, or undefined. Creates the folder if it is
 * missing.
 */
export const whyUnwritable = async (folder: string): Promise<string | undefined> => {
  const path = join(folder, `.probe-${randomUUID()}`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(path, probe, { mode: 0o600, flag: 'wx' })
    return undefined
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code ?? 'unknown'
  } finally {
    await rm(path, { force: true }).catch(() => undefined)
  }
}

/** Returns the free and all bytes of the file systems of folders. One that cannot be asked is left out. */
export const disksOf = async (
  folders: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, { readonly free: number; readonly size: number }>>> => {
  const found = await Promise.all(
    Object.entries(folders).map(async ([name, path]) => {
      const disk = await statfs(path).catch(() => undefined)
      return disk === undefined
        ? []
        : [[name, { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }] as const]
    }),
  )
  return Object.fromEntries(found.flat())
}

/**
 * Writes a file that is whole and flushed, or absent: a program that watches the folder never sees a part of it. The
 * folder is made if it does not exist; both are accessible to their owner only. An existing file is replaced. A process
 * that is killed leaves at most the unfinished file, whose name has a dot before it. No two calls may write one name at
 * a time.
 */
export const writeWhole = async (folder: string, name: string, bytes: Uint8Array): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const unfinished = join(folder, `.${name}`)
  try {
    const file = await open(unfinished, 'w', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, join(folder, name))
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw error
  }
}
