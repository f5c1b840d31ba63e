import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withProgress, type Say } from './progress.ts'
import { findExecutable, mustRun, runCommand } from './run-command.ts'

/** Installs packages of Debian as root. Throws with the output of apt-get if they cannot be installed. */
export async function installDebianPackages(packages: readonly string[], say: Say): Promise<void> {
  const names = packages.join(' and ')
  const apt = findExecutable('apt-get')
  if (apt === undefined) throw new Error(`there is no apt-get to install ${names} with`)
  if (process.getuid?.() !== 0) throw new Error(`only root can install ${names}`)
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await withProgress(say, `installing ${names}`, async () => {
    // The lists of a machine that was just made are missing or old.
    await runCommand(apt, ['update'], { environment })
    const result = await runCommand(apt, ['install', '-y', '--no-install-recommends', ...packages], { environment })
    if (result.status !== 0) throw new Error(`apt-get could not install ${names}\n${result.stderr}`)
  })
}

/** Downloads packages of Debian and unpacks them into a folder, without installing them. */
export async function unpackDebianPackages(packages: readonly string[], folder: string, say: Say): Promise<void> {
  const [apt, dpkg] = [findExecutable('apt-get'), findExecutable('dpkg-deb')]
  const names = packages.join(' and ')
  if (apt === undefined || dpkg === undefined)
    throw new Error(`there is no apt-get or no dpkg-deb to get ${names} with`)
  await withProgress(say, `fetching ${names}`, async () => {
    const download = () => runCommand(apt, ['download', ...packages], { cwd: folder })
    let result = await download()
    if (result.status !== 0 && process.getuid?.() === 0) {
      // The lists of a machine that was just made are missing or old.
      await runCommand(apt, ['update'])
      result = await download()
    }
    if (result.status !== 0) throw new Error(`apt-get could not download ${names}\n${result.stderr}`)
  })
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.deb')) continue
    await mustRun(dpkg, ['-x', join(folder, file), folder])
    await rm(join(folder, file))
  }
}
