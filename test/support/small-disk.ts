import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of a few MiB that a test fills and frees while processes work on it. */
export interface SmallDisk {
  /** Its path for processes that `enter` starts. */
  readonly folder: string
  /** Its path for this process. SQLite does not follow it: it goes through a link of the system. */
  readonly outside: string
  /** The words before a command that runs it where the disk is mounted. */
  readonly enter: readonly string[]
  /** Takes the space that is left, but for some KiB. */
  fill(leftKibibytes?: number): void
  /** Gives back what `fill` has taken. */
  free(): void
  /** The processes on the disk must have ended. */
  close(): Promise<void>
}

/**
 * Returns undefined where the system does not allow to mount: root may, and others where user namespaces are allowed.
 */
export const startSmallDisk = async (mebibytes: number): Promise<SmallDisk | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-disk-'))
  const isRoot = process.getuid?.() === 0
  // The mount is seen by this process alone, and goes with it. It ends when its input is closed, however this one ends.
  const script = `mount -t tmpfs -o size=${mebibytes}m none "$0" && echo mounted && exec cat`
  const holder = spawn('unshare', [isRoot ? '-m' : '-Urm', 'sh', '-c', script, folder], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => holder.once('error', () => resolve()).once('exit', () => resolve()))
  const isMounted = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)])
  if (!isMounted) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  const outside = `/proc/${holder.pid}/root${folder}`
  const ballast = join(outside, 'ballast')
  return {
    folder,
    outside,
    enter: [
      'nsenter',
      `--target=${holder.pid}`,
      '--mount',
      ...(isRoot ? [] : ['--user', '--preserve-credentials']),
      '--',
    ],
    fill: (leftKibibytes = 0) => {
      const spare = join(outside, 'spare')
      writeFileSync(spare, Buffer.alloc(leftKibibytes * 1024))
      const file = openSync(ballast, 'a')
      try {
        for (const block of [1 << 20, 4096]) {
          const bytes = Buffer.alloc(block)
          try {
            while (writeSync(file, bytes) === block);
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
          }
        }
      } finally {
        closeSync(file)
        rmSync(spare)
      }
    },
    free: () => rmSync(ballast),
    close: async () => {
      holder.stdin.end()
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}
