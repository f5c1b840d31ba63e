import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

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
