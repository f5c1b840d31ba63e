import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackgroundProcess } from './background-process.ts'
import { startProcess, untilReady } from './background-process.ts'
import { installDebianPackages } from './debian-package.ts'
import { sayOnStderr } from './progress.ts'
import { findExecutable } from './run-command.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

/** Of Debian's own page. As root, the workers belong to another user, who reaches no temporary folder. */
const folderOfPages = '/usr/share/apache2/default-site'
const folderOfModules = '/usr/lib/apache2/modules'
const modules = ['mpm_event', 'authz_core', 'authz_user', 'authn_core', 'dir', 'auth_openidc']

const onThisMachine = (): string | undefined => findExecutable('apache2', ['/usr/sbin'])

/** The path of Debian's apache2, installed with the module that signs people in. */
const findApache = async (): Promise<string> => {
  const packages = ['apache2', 'libapache2-mod-auth-openidc']
  if (onThisMachine() === undefined || !existsSync(join(folderOfModules, 'mod_auth_openidc.so')))
    await installDebianPackages(packages, sayOnStderr).catch((cause: unknown) => {
      throw new Error(
        `no Apache was found: install ${packages.join(' and ')}, or leave these tests out with --without apache`,
        {
          cause,
        },
      )
    })
  return onThisMachine() ?? '/usr/sbin/apache2'
}

/** Starts an Apache with these settings and Debian's page. Ready when it answers. */
export const startApache = async (
  port: number,
  settings: readonly string[],
): Promise<Pick<BackgroundProcess, 'output' | 'stop'>> => {
  const file = await findApache()
  const folder = createRunFolder('apache')
  const lines = [
    `ServerRoot ${folder}`,
    'ServerName 127.0.0.1',
    `Listen 127.0.0.1:${port}`,
    `PidFile ${join(folder, 'apache.pid')}`,
    `DefaultRuntimeDir ${folder}`,
    `ErrorLog ${join(folder, 'error.log')}`,
    ...modules.map((name) => `LoadModule ${name}_module ${folderOfModules}/mod_${name}.so`),
    ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
    `DocumentRoot ${folderOfPages}`,
    ...settings,
  ]
  writeFileSync(join(folder, 'apache.conf'), `${lines.join('\n')}\n`)
  const started = startProcess({
    name: 'apache2',
    file,
    folder,
    arguments: ['-X', '-f', join(folder, 'apache.conf'), '-E', join(folder, 'start.log')],
  })
  try {
    await untilReady(
      started,
      async () => (await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' })).status < 500,
      30_000,
    )
  } catch (error) {
    await started.kill()
    throw error
  }
  return {
    output: () => started.output(),
    async stop() {
      await started.stop()
      removeRunFolder(folder)
    },
  }
}
