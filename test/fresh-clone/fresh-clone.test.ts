import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { request } from 'undici'
import { releaseVersion } from '../../core/platform/version.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** A stranger's environment: nothing of the product's, and no node of this checkout on the path. */
const strangerEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  PATH: (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules')).join(':'),
  HOME: process.env['HOME'] ?? '',
  ...more,
})

const versionAt = async (url: string, process_: ChildProcess): Promise<unknown> => {
  for (let tries = 0; tries < 600 && process_.exitCode === null; tries++) {
    try {
      const reply = await request(url)
      return { status: reply.statusCode, body: await reply.body.json() }
    } catch {
      await wait(100)
    }
  }
  return undefined
}

test('a fresh clone, its two commands, and it answers', async (t) => {
  t.timeout(240_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-clone-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await run('git', ['clone', '--quiet', '--no-hardlinks', root, 'moorage'], { cwd: folder, env: strangerEnvironment() })
  const clone = join(folder, 'moorage')
  const install = (...words: readonly string[]) => run('npm', ['ci', ...words], { cwd: clone, env: strangerEnvironment(), maxBuffer: 16_000_000 })
  await install('--offline').catch(() => install('--prefer-offline'))
  const [api, ops, marketplace] = [await freePort(), await freePort(), await freePort()]
  const listeners = { MOORAGE_LISTEN: `127.0.0.1:${api}`, MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`, MOORAGE_MARKETPLACE_LISTEN: `127.0.0.1:${marketplace}` }
  const service = spawn('npm', ['start'], { cwd: clone, env: strangerEnvironment(listeners), stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const said: string[] = []
  for (const stream of [service.stdout, service.stderr]) stream.setEncoding('utf8').on('data', (text: string) => said.push(text))
  const ended = new Promise((resolve) => service.once('exit', resolve))
  t.teardown(async () => {
    if (service.pid !== undefined && service.exitCode === null) process.kill(-service.pid, 'SIGTERM')
    await ended
  })
  const version = await versionAt(`http://127.0.0.1:${api}/api/v1/version`, service)
  t.deepEqual(version, { status: 200, body: { version: releaseVersion } }, said.join(''))
  const { stdout } = await run('git', ['-C', clone, 'status', '--porcelain'], { env: strangerEnvironment() })
  t.is(stdout, '', 'neither command leaves anything behind that git would see')
})
