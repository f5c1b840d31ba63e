// process: own - installs and starts the service
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { request } from 'undici'
import { releaseVersion } from '../../core/platform/version.ts'
import { isThorough } from '../support/thorough.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** A stranger's environment: nothing of the product's, and no node of this checkout on the path. */
const strangerEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  PATH: (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':'),
  HOME: process.env['HOME'] ?? '',
  ...more,
})

/**
 * This run was started with what `npm ci` installed for development. The clone gets the other half alone, all that the
 * service may load: unpacking both takes twice as long. The slow files install both.
 */
const packages: Readonly<Record<string, string>> = isThorough ? {} : { npm_config_omit: 'dev' }

const versionAt = async (url: string): Promise<unknown> => {
  const reply = await request(url)
  return { status: reply.statusCode, body: await reply.body.json() }
}

test('a fresh clone, its two commands, and it answers', async (t) => {
  t.timeout(600_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-clone-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await run('git', ['clone', '--quiet', '--no-hardlinks', root, 'moorage'], { cwd: folder, env: strangerEnvironment() })
  const clone = join(folder, 'moorage')
  const install = (...words: readonly string[]) =>
    run('npm', ['ci', ...words, '--no-audit', '--no-fund'], {
      cwd: clone,
      env: strangerEnvironment(packages),
      maxBuffer: 16_000_000,
    })
  await install('--offline').catch(() => install('--prefer-offline'))
  const listeners = {
    MOORAGE_LISTEN: '127.0.0.1:0',
    MOORAGE_OPS_LISTEN: '127.0.0.1:0',
    MOORAGE_MARKETPLACE_LISTEN: '127.0.0.1:0',
  }
  const service = spawn('npm', ['start'], {
    cwd: clone,
    env: strangerEnvironment(listeners),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const said: string[] = []
  for (const stream of [service.stdout, service.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => said.push(text))
  const ended = new Promise((resolve) => service.once('exit', resolve))
  t.teardown(async () => {
    if (service.pid !== undefined && service.exitCode === null) process.kill(-service.pid, 'SIGTERM')
    await ended
  })
  const address = await Promise.race([
    ended.then(() => undefined),
    until('the address of the service', () => /API +(\S+\/api\/v1)\n[^]*Health +\S+\n/.exec(said.join(''))?.[1]),
  ])
  const version = address === undefined ? undefined : await versionAt(`${address}/version`)
  t.deepEqual(version, { status: 200, body: { version: releaseVersion } }, said.join(''))
  const { stdout } = await run('git', ['-C', clone, 'status', '--porcelain'], { env: strangerEnvironment() })
  t.is(stdout, '', 'neither command leaves anything behind that git would see')
})
