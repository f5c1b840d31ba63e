// process: own - ends processes
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { repositoryFiles } from '../support/test-files.ts'
import { until } from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const berths = join(root, 'test/composition/fixtures/berths-part')
const execute = promisify(execFile)

/** A stranger's environment: nothing of the product's, and no programs of this checkout on the path. */
const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  PATH: (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':'),
  HOME: process.env['HOME'] ?? '',
  ...more,
})

/** Packs a copy of this checkout, which builds it, and the part. Returns the paths of both archives. */
const packInto = async (folder: string): Promise<readonly string[]> => {
  const checkout = join(folder, 'checkout')
  for (const file of repositoryFiles(root)) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true })
    cpSync(join(root, file), join(checkout, file))
  }
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  // Of a user who lets no script run: the archive has the build all the same.
  const userConfig = join(folder, 'user.npmrc')
  writeFileSync(userConfig, 'ignore-scripts=true\n')
  const pack = async (cwd: string): Promise<string> => {
    const { stdout } = await execute('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd,
      env: environment({ NPM_CONFIG_USERCONFIG: userConfig }),
    })
    return join(folder, stdout.trim().split('\n').at(-1) ?? '')
  }
  return [await pack(checkout), await pack(berths)]
}

test('a part of another package runs on the installed service with its suites', async (t) => {
  t.timeout(900_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-installed-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const archives = await packInto(folder)
  const home = join(folder, 'harbour')
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "type": "module", "private": true }')
  const install = (how: string) =>
    execute('npm', ['install', how, '--no-audit', '--no-fund', ...archives], { cwd: home, env: environment() })
  await install('--offline').catch(() => install('--prefer-offline'))

  const settings = {
    MOORAGE_PLUGINS: 'moorage-berths',
    MOORAGE_LISTEN: '127.0.0.1:0',
    MOORAGE_OPS_LISTEN: '127.0.0.1:0',
    MOORAGE_HELM: 'off',
    MOORAGE_ADMIN_PASSWORD: 'harbour-lantern-tide-42',
    MOORAGE_DRAIN_SECONDS: '0',
  }
  const moorage = (words: readonly string[], more: Readonly<Record<string, string>> = settings) =>
    execute('npx', ['--no', 'moorage', ...words], { cwd: home, env: environment(more) })
  for (const port of ['./node_modules/moorage-berths/store.suite.js', 'role-store']) {
    const { stdout } = await moorage(['test-port', port, './node_modules/moorage-berths/fixtures.js'], {})
    t.regex(stdout, /keeps (\d+) of \1 cases/)
  }

  const bin = join(home, 'node_modules', '.bin', 'moorage')
  const service = spawn(bin, ['serve'], { cwd: home, env: environment(settings), stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [service.stdout, service.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (said += text))
  const ended = new Promise((resolve) => service.once('exit', resolve))
  t.teardown(async () => {
    service.kill('SIGTERM')
    await ended
  })
  const api = await Promise.race([
    ended.then(() => undefined),
    until('the address of the service', () => /API +(\S+\/api\/v1)\n[^]*Health +\S+\n/.exec(said)?.[1]),
  ])
  if (api === undefined) return t.fail(said)
  const headers = {
    Authorization: `Basic ${btoa('admin:harbour-lantern-tide-42')}`,
    'Content-Type': 'application/json',
  }
  const made = await fetch(`${api}/berths/admin`, { method: 'POST', headers, body: '{"name":"east"}' })
  t.is(made.status, 201)
  t.like(await (await fetch(`${api}/berths/admin`, { headers })).json(), [{ name: 'east' }])
  t.is((await fetch(new URL('/berths', api))).status, 200)
  t.is((await moorage(['berths', 'count'])).stdout, '1 berths, 0 ships\n')
})
