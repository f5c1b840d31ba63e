import { randomUUID } from 'node:crypto'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
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
