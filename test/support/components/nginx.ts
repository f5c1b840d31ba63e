import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { nginx } from './available.ts'
import { startProcess, untilReady } from './background-process.ts'
import { installDebianPackages } from './debian-package.ts'
import { environmentNames } from './names.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { findExecutable, runCommand } from './run-command.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

const help = `install nginx (Debian: nginx), name one with ${environmentNames.nginx}, or switch these tests off with --without nginx`

const onThisMachine = (): string | undefined => findExecutable('nginx', ['/usr/sbin', '/usr/local/sbin'])

/** The path of an nginx that asks hooks: as the environment names it, of this machine, or Debian's. */
export async function findNginx(say: Say = sayOnStderr): Promise<string> {
  const known = process.env[environmentNames.nginx] ?? onThisMachine()
  if (known === undefined)
    await installDebianPackages(['nginx'], say).catch((cause: unknown) => {
      throw new Error(`no nginx was found (${cause instanceof Error ? cause.message : String(cause)}): ${help}`, {
        cause,
      })
    })
  const path = known ?? onThisMachine()
  if (path === undefined) throw new Error(`nginx was installed, but it is not on PATH: ${help}`)
  const { stderr } = await runCommand(path, ['-V'], { timeoutMilliseconds: 20_000 })
  if (!stderr.includes('http_auth_request_module')) throw new Error(`${path} has no auth_request module: ${help}`)
  return path
}

export interface RunningNginx {
  /** What it has written to its error log. */
  output(): string
  stop(): Promise<void>
}

/** Starts an nginx with these settings of its block `http`. Ready when `port` is open. */
export async function startNginx(port: number, settings: string): Promise<RunningNginx> {
  const file = await nginx()
  if (file === undefined) throw new Error('nginx is switched off in this run')
  const folder = createRunFolder('nginx')
  // As root, its workers belong to another user, who must reach the temporary files.
  chmodSync(folder, 0o755)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    [
      'daemon off;',
      'worker_processes 1;',
      `pid ${join(folder, 'nginx.pid')};`,
      'error_log stderr info;',
      'events { worker_connections 256; }',
      `http { access_log off; ${temporary.join(' ')}`,
      settings,
      '}',
    ].join('\n'),
  )
  const started = startProcess({
    name: 'nginx',
    file,
    folder,
    arguments: ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')],
  })
  try {
    await untilReady(started, () => isOpen(port), 30_000)
  } catch (error) {
    await started.kill()
    removeRunFolder(folder)
    throw error
  }
  return {
    output: () => started.output(),
    stop: async () => {
      await started.stop()
      removeRunFolder(folder)
    },
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
