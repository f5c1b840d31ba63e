import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache-folder.ts'
import type { ServerProgram } from './database-server.ts'
import { installDebianPackages } from './debian-package.ts'
import { withProgress, type Say } from './progress.ts'
import { findExecutable, isExecutable, mustRun, runCommand } from './run-command.ts'

interface MariaDbBinaries {
  readonly server: string
  readonly installDb: string
  /** Set when they were unpacked outside their usual place. */
  readonly unpackedAt: string | undefined
  readonly environment: NodeJS.ProcessEnv
}

// The client package has my_print_defaults, which mariadb-install-db runs.
const debianPackages = ['mariadb-server-core', 'mariadb-client-core']
const packageNames = debianPackages.join(' and ')
const help = `install MariaDB (Debian: ${packageNames}), or switch these tests off with --without mariadb`

/** MariaDB of this machine, else Debian's, installed by root or unpacked by anyone else. */
export async function findMariaDb(say: Say): Promise<ServerProgram> {
  const { server, installDb, unpackedAt, environment } = await findBinaries(say)
  return {
    name: 'mariadbd',
    initialize: [
      installDb,
      '--no-defaults',
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--skip-name-resolve',
    ],
    serve: [server, '--no-defaults', '--sync-frm=0', '--innodb-log-file-size=128M'],
    shared:
      unpackedAt === undefined
        ? []
        : [
            `--basedir=${unpackedAt}`,
            `--lc-messages-dir=${join(unpackedAt, 'share/mysql')}`,
            `--character-sets-dir=${join(unpackedAt, 'share/mysql/charsets')}`,
          ],
    atStart: [],
    environment,
  }
}

async function findBinaries(say: Say): Promise<MariaDbBinaries> {
  const found = onThisMachine()
  if (found !== undefined) return found
  const apt = findExecutable('apt-get')
  if (apt === undefined) throw new Error(`mariadbd was not found, and there is no apt-get to fetch it with: ${help}`)
  if (process.getuid?.() === 0) {
    await installDebianPackages(debianPackages, say).catch((cause: unknown) => {
      throw new Error(`${cause instanceof Error ? cause.message : String(cause)}: ${help}`, { cause })
    })
    const installed = onThisMachine()
    if (installed !== undefined) return installed
    throw new Error(`${packageNames} was installed, but mariadbd is still not on PATH or in /usr/sbin`)
  }
  const folder = await cached('mariadb', (making) =>
    withProgress(say, `fetching ${packageNames}`, () => unpack(apt, making)),
  )
  return inUnpacked(folder)
}

function onThisMachine(): MariaDbBinaries | undefined {
  const server = findExecutable('mariadbd', ['/usr/sbin', '/usr/local/sbin', '/usr/libexec'])
  const installDb = findExecutable('mariadb-install-db')
  if (server === undefined || installDb === undefined) return undefined
  return { server, installDb, unpackedAt: undefined, environment: process.env }
}

/** Downloads the package and what it needs that is not installed, and unpacks them; no rights are needed. */
async function unpack(apt: string, into: string): Promise<void> {
  const plan = await runCommand(apt, ['-s', 'install', '-y', '--no-install-recommends', ...debianPackages])
  const missing = [...plan.stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '')
  const downloads = join(into, 'downloads')
  await mkdir(downloads)
  const result = await runCommand(apt, ['download', ...new Set([...debianPackages, ...missing])], { cwd: downloads })
  if (result.status !== 0)
    throw new Error(`apt-get could not download ${packageNames}: ${help}\n${plan.stderr}${result.stderr}`)
  for (const file of await readdir(downloads)) await mustRun('dpkg', ['-x', join(downloads, file), into])
  await mustRun('rm', ['-r', downloads])
}

async function inUnpacked(folder: string): Promise<MariaDbBinaries> {
  const server = join(folder, 'usr/sbin/mariadbd')
  if (!isExecutable(server)) throw new Error(`${server} is not there; delete ${folder} and run again`)
  const libraries = (await readdir(join(folder, 'usr/lib')).catch(() => [])).map((name) =>
    join(folder, 'usr/lib', name),
  )
  const environment = {
    ...process.env,
    LD_LIBRARY_PATH: [...libraries, process.env['LD_LIBRARY_PATH'] ?? ''].join(':'),
  }
  return { server, installDb: join(folder, 'usr/bin/mariadb-install-db'), unpackedAt: join(folder, 'usr'), environment }
}
