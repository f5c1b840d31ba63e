import { randomInt } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './run-folder.ts'

/*
 * A program that cannot listen on port 0 and say where (MariaDB, etcd), or that must come back on the same port after
 * it was killed, gets a port that is its own for the life of this process. The range is below the one that systems give
 * to outgoing connections and to port 0, so that only another caller of this function could take it, and a file says
 * that it is taken.
 */
const [lowest, beyond] = [20_000, 32_000]

/** The same for all runs of this user, wherever their temporary files are. */
const folder = join('/tmp', `moorage-ports-${userInfo().uid}`)
const mine = new Set<string>()

/** A TCP port of loopback that no other test process gets while this one lives. */
export async function reservedPort(): Promise<number> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (mine.size === 0) {
    process.once('exit', () => {
      for (const path of mine) rmSync(path, { force: true })
    })
    dropAbandoned()
  }
  for (let tries = 0; tries < 1000; tries += 1) {
    const port = randomInt(lowest, beyond)
    if (!take(port)) continue
    if (await isFree(port)) return port
  }
  throw new Error(`no port from ${lowest} to ${beyond - 1} is free`)
}

function take(port: number): boolean {
  const path = join(folder, String(port))
  try {
    const file = openSync(path, 'wx')
    writeSync(file, String(process.pid))
    closeSync(file)
    mine.add(path)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** A process that was killed left its files behind. An empty file is one whose owner is about to write its number. */
function dropAbandoned(): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      const owner = Number(readFileSync(path, 'utf8'))
      if (owner > 0 && !isAlive(owner)) rmSync(path, { force: true })
    } catch {
      // Its owner has removed it.
    }
  }
}
