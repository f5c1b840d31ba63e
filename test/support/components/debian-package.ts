import { withProgress, type Say } from './progress.ts'
import { findExecutable, runCommand } from './run-command.ts'

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
