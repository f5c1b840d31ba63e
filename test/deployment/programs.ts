import { installDebianPackages } from '../support/components/debian-package.ts'
import { sayOnStderr } from '../support/components/progress.ts'
import { findExecutable } from '../support/components/run-command.ts'

const folders = ['/usr/sbin', '/sbin', '/usr/local/sbin']

/**
 * Returns the path of a program of this machine, which is installed from its Debian package if it is not there. Throws
 * if it cannot be.
 */
export const programOf = async (name: string, ...packages: readonly string[]): Promise<string> => {
  const found = findExecutable(name, folders)
  if (found !== undefined) return found
  await installDebianPackages(packages.length === 0 ? [name] : packages, sayOnStderr)
  const installed = findExecutable(name, folders)
  if (installed === undefined) throw new Error(`the packages of ${name} have no such program`)
  return installed
}
