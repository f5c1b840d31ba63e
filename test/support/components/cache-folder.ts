import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from './run-folder.ts'

/** Where built and downloaded components stay between runs; never inside the source tree. */
export function cacheFolder(): string {
  const chosen = process.env['MOORAGE_TEST_CACHE']
  if (chosen !== undefined && chosen !== '') return chosen
  const xdg = process.env['XDG_CACHE_HOME']
  return join(xdg !== undefined && xdg !== '' ? xdg : join(homedir(), '.cache'), 'moorage-test')
}

/**
 * The folder `name` of the cache, filled by `fill` when it is not there yet. It appears whole
 * or not at all, and processes that want it at the same time fill it once.
 */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const place = join(cacheFolder(), name)
  if (await exists(place)) return place
  return withLock(name, async () => {
    if (await exists(place)) return place
    const making = `${place}.making-${process.pid}`
    await rm(making, { recursive: true, force: true })
    await mkdir(making, { recursive: true })
    try {
      await fill(making)
      // Two may have filled it after all, when a lock was left behind: the first one stays.
      await rename(making, place).catch(async (cause: unknown) => {
        if (!(await exists(place))) throw cause
      })
    } finally {
      await rm(making, { recursive: true, force: true })
    }
    return place
  })
}

/** True when something exists at this path. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  await mkdir(cacheFolder(), { recursive: true })
  const lock = join(cacheFolder(), `${name.replaceAll('/', '-')}.lock`)
  while (!(await tryLock(lock))) await sleep(300)
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function tryLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx')
    await file.writeFile(String(process.pid))
    await file.close()
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
  const owner = Number(await readFile(lock, 'utf8').catch(() => ''))
  // An empty file is a lock whose owner is about to write its number, unless it stays so.
  const age =
    Date.now() -
    (await stat(lock).then(
      (found) => found.mtimeMs,
      () => Date.now(),
    ))
  const abandoned = owner > 0 ? !isAlive(owner) : age > 10_000
  if (abandoned) await rm(lock, { force: true })
  return false
}
