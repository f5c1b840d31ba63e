import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cached } from './cache-folder.ts'
import { sayOnStderr, withProgress, type Say } from './progress.ts'
import { findExecutable, mustRun, runCommand } from './run-command.ts'

const help = 'install promtool (Prometheus), or switch these tests off with --without promtool'

/** The promtool command: on PATH, else that of Debian's package, unpacked into the cache. */
export async function findPromtool(say: Say = sayOnStderr): Promise<string> {
  const path = findExecutable('promtool', ['/usr/local/bin']) ?? (await fromDebian(say))
  const { status, stdout, stderr } = await runCommand(path, ['--version'], { timeoutMilliseconds: 20_000 })
  if (status !== 0 || !(stdout + stderr).includes('promtool'))
    throw new Error(`${path} does not say which version it is; ${help}`)
  return path
}

/** The server of Prometheus: on PATH, else beside promtool. */
export async function findPrometheus(promtool: string): Promise<string> {
  const path = findExecutable('prometheus', ['/usr/local/bin']) ?? join(dirname(promtool), 'prometheus')
  const { status, stdout, stderr } = await runCommand(path, ['--version'], { timeoutMilliseconds: 20_000 })
  if (status !== 0 || !(stdout + stderr).includes('prometheus'))
    throw new Error(`there is no prometheus beside ${promtool}; install Prometheus, or use --without promtool`)
  return path
}

async function fromDebian(say: Say): Promise<string> {
  const apt = findExecutable('apt-get')
  if (apt === undefined) throw new Error(`there is no promtool and no apt-get; ${help}`)
  const folder = await cached('promtool-debian', (making) =>
    withProgress(say, 'fetching promtool', async () => {
      const download = () => runCommand(apt, ['download', 'prometheus'], { cwd: making })
      // The lists of a machine that was just made are missing or old; only root can fetch them.
      if ((await download()).status !== 0) {
        await runCommand(apt, ['update'])
        await mustRun(apt, ['download', 'prometheus'], { cwd: making })
      }
      for (const file of (await readdir(making)).filter((name) => name.endsWith('.deb')))
        await mustRun('dpkg', ['-x', join(making, file), making])
    }),
  )
  return join(folder, 'usr/bin/promtool')
}
