// process: own - starts a service as a process
import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { isRunning } from '../support/child-processes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { cleanEnvironment, mainFile, startServiceProcess } from '../support/service-process.ts'
import { testEnvironment } from '../support/service.ts'
import { until as answerOf } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-command-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))
const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = fileURLToPath(new URL('../../composition/bin/moorage.mjs', import.meta.url))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (
  file: string,
  words: readonly string[],
  environment: Record<string, string> = {},
  node = process.execPath,
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      node,
      [file, ...words],
      { env: cleanEnvironment({ TMPDIR: folder, MOORAGE_DATA_DIR: join(folder, 'data'), ...environment }) },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })

test('the process exits 0, 1 and 2, results on stdout and the rest on stderr', async (t) => {
  const [good, failed, wrong] = await Promise.all([
    run(mainFile, ['config', 'print', '--json']),
    run(mainFile, ['config', 'print'], { MOORAGE_LISTEN: 'nowhere' }),
    run(mainFile, ['serve', '--frobnicate']),
  ])
  t.is(good.code, 0)
  t.notThrows(() => JSON.parse(good.stdout))
  t.is(good.stderr, '')
  t.deepEqual([failed.code, failed.stdout], [1, ''])
  t.deepEqual([wrong.code, wrong.stdout], [2, ''])
})

test('the command explains missing packages in a fresh checkout', async (t) => {
  const checkout = mkdtempSync(join(tmpdir(), 'moorage-checkout-'))
  t.teardown(() => rmSync(checkout, { recursive: true, force: true }))
  const command = join(checkout, 'composition', 'bin', 'moorage.mjs')
  mkdirSync(join(checkout, 'composition', 'bin'), { recursive: true })
  copyFileSync(new URL('../../composition/bin/moorage.mjs', import.meta.url), command)
  writeFileSync(join(checkout, 'composition', 'main.ts'), "import 'a-package-that-is-not-installed'\n")
  const { code, stdout, stderr } = await run(command, ['serve'])
  t.deepEqual([code, stdout], [1, ''])
  t.is(stderr, 'moorage: the package a-package-that-is-not-installed is not installed. In this folder, run: npm ci\n')
})

test('npm pack builds first, and no script of a package that npm installs is run', async (t) => {
  const checkout = mkdtempSync(join(tmpdir(), 'moorage-pack-'))
  t.teardown(() => rmSync(checkout, { recursive: true, force: true }))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
    allowScripts: Record<string, boolean>
  }
  manifest.scripts['build'] = 'mkdir dist && echo built > dist/main.js'
  writeFileSync(join(checkout, 'package.json'), JSON.stringify(manifest))
  copyFileSync(join(root, '.npmrc'), join(checkout, '.npmrc'))
  const sh = (command: string) =>
    promisify(execFile)('sh', ['-c', command], { cwd: checkout, env: cleanEnvironment({}) })
  await sh('npm pack --offline')
  t.regex((await sh('tar tzf moorage-*.tgz')).stdout, /^package\/dist\/main\.js$/m)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>
  }
  // npm builds what has a binding.gyp, too, which the lock file does not say.
  const scripted = Object.entries(lock.packages).filter(
    ([path, { hasInstallScript }]) =>
      path !== '' && (hasInstallScript === true || existsSync(join(root, path, 'binding.gyp'))),
  )
  t.deepEqual(
    manifest.allowScripts,
    Object.fromEntries(scripted.map(([path]) => [path.replace(/^.*node_modules\//, ''), false])),
  )
})

test('each long-running script replaces its shell so that signals reach it', (t) => {
  const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  for (const name of ['start', 'moorage', 'test', 'bench', 'test-hub', 'usage-sample'])
    t.regex(scripts[name] ?? '', /^exec node /, name)
})

test('a port that is in use is reported in plain words', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { code, stdout, stderr } = await run(mainFile, ['serve'], {
    ...(await testEnvironment(join(folder, 'port'), 'sqlite')),
    MOORAGE_LISTEN: `127.0.0.1:${port}`,
  })
  t.is(code, 1)
  t.is(stdout, '')
  t.regex(
    stderr,
    new RegExp(`moorage: MOORAGE_LISTEN: 127\\.0\\.0\\.1:${port} cannot be bound: another process listens there\\.`),
  )
})

test('--help does not load the service', async (t) => {
  const probe = `process.on('exit', () => {
    const loaded = Object.keys(process.getBuiltinModule('module')._cache)
    if (loaded.some((name) => /restify|knex|better-sqlite3|argon2/.test(name))) process.exitCode = 9
  })`
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(probe)}`]
  const [help, check] = await Promise.all([
    run(mainFile, ['--help'], { NODE_OPTIONS: preload.join(' ') }),
    run(mainFile, ['config', 'check'], { NODE_OPTIONS: preload.join(' ') }),
  ])
  t.is(help.code, 0)
  t.regex(help.stdout, /Usage: moorage/)
  t.is(check.code, 9, 'the probe sees what is loaded')
})

test('the installed command re-executes on the Node of npm ci', async (t) => {
  const old = '/usr/bin/node'
  const { stdout: version } = await run('--version', [], {}, old)
  if (!/^v(1|2[0-3])/.test(version)) return t.pass('there is no old Node on this machine')
  const [good, wrong] = await Promise.all([run(bin, ['--version'], {}, old), run(bin, ['bogus'], {}, old)])
  t.regex(good.stdout, /^v\d{4}\./)
  t.deepEqual([good.code, wrong.code], [0, 2])
})

test('a reader of stdout that leaves does not hang or crash the command', async (t) => {
  const child = spawn(process.execPath, [mainFile, 'config', 'schema'], {
    env: cleanEnvironment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => void (stderr += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  t.is(code, 0)
  t.is(stderr, '')
})

test('a result that a full disk does not take is a failure', async (t) => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [mainFile, 'config', 'print'], {
    env: cleanEnvironment({}),
    stdio: ['ignore', full, 'pipe'],
  })
  closeSync(full)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  t.is(await new Promise((resolve) => child.once('close', resolve)), 1)
  t.is(stderr, 'moorage: the result could not be written as a whole (ENOSPC).\n')
})

test('a large result reaches a slow reader of a pipe whole', async (t) => {
  const pipeline = '"$0" "$1" openapi --json | (sleep 0.3; cat)'
  const text = await new Promise<string>((resolve, reject) => {
    const options = { env: cleanEnvironment({}), maxBuffer: 64_000_000 }
    execFile('sh', ['-c', pipeline, process.execPath, mainFile], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
  t.true(text.length > 300_000, 'more than a pipe holds')
  t.notThrows(() => JSON.parse(text))
})

/**
 * Starts the service at a terminal, with nothing in its data folder, and interrupts it when its address and its
 * password are there.
 */
const firstStart = (
  name: string,
  format: Readonly<Record<string, string>> = {},
): Promise<{ readonly text: string; readonly code: number | null }> =>
  new Promise((resolve, reject) => {
    const environment = {
      TMPDIR: folder,
      MOORAGE_DATA_DIR: join(folder, name),
      MOORAGE_LISTEN: '127.0.0.1:0',
      MOORAGE_OPS_LISTEN: '127.0.0.1:0',
      MOORAGE_HELM: 'off',
      ...format,
    }
    const child = spawn(
      'script',
      ['--quiet', '--return', '--command', `exec '${process.execPath}' '${mainFile}' serve`, '/dev/null'],
      { env: cleanEnvironment(environment), stdio: ['pipe', 'pipe', 'inherit'] },
    )
    let text = ''
    let isStopping = false
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (isStopping || !/shown only this once/.test(text)) return
      isStopping = true
      child.stdin.write('\u0003')
    })
    child.once('error', reject)
    // Not `exit`, after which the last lines may still come.
    child.once('close', (code) => resolve({ text, code }))
  })

test('the first start at a terminal prints schema, helm, address and password', async (t) => {
  const seen = (await firstStart('terminal')).text.split('\r\n').map((line) => line.split('\u001b[2K').at(-1) ?? '')
  const end = seen.findIndex((line) => line.includes('Password'))
  const time = '\\d\\d:\\d\\d:\\d\\d info  '
  const expected = [
    `^${time}the database schema is up to date: \\d+ migrations ran$`,
    `^${time}helm is off: packages can be read, not changed$`,
    '^Moorage v\\S+ is ready\\.$',
    '^  API ',
    '^  Docs ',
    '^  Health ',
    '^  Admin ',
    '^  Password ',
  ]
  t.is(end, expected.length - 1, seen.join('\n'))
  for (const [index, pattern] of expected.entries()) t.regex(seen[index] ?? '', new RegExp(pattern))
})

test('MOORAGE_LOG_FORMAT=json logs JSON, and SIGINT flushes the log', async (t) => {
  const { text, code } = await firstStart('json', { MOORAGE_LOG_FORMAT: 'json' })
  t.is(code, 0)
  t.regex(text, /Docs +http:\/\/127\.0\.0\.1:\d+\/api\/v1\/docs/)
  const lines = text
    .split('\r\n')
    .map((line) => line.replace('^C', ''))
    .filter((line) => line.startsWith('{'))
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  t.true(messages.filter((message) => message.startsWith('Migrating the database: ')).length > 20)
  t.true(messages.includes('ready'))
  // Not the last line: what the service says of helm may come after it.
  t.true(
    messages.some((message) => message.startsWith('stopping: ')),
    'the log is flushed',
  )
})

const plugin = fileURLToPath(new URL('fixtures/slow-plugin.ts', import.meta.url))
const withSlowRoute = { settings: { MOORAGE_PLUGINS: plugin } }

/** Throws when it is not so in a minute and a half: a process starts slowly on a busy machine. */
const until = async (isSo: () => Promise<boolean>): Promise<void> =>
  void (await answerOf(`${String(isSo)} is so`, async () => ((await isSo()) ? true : undefined)))

/** Starts a request and waits until the service has it. */
const inFlight = async (
  service: ServiceProcess,
  ms: number,
): Promise<{ readonly answer: Promise<ServiceAnswer | 'cut'> }> => {
  const answer = service.send('GET', `/api/v1/slow/${ms}`).catch((): 'cut' => 'cut')
  await until(async () => (await (await fetch(`${service.opsUrl}/metrics`)).text()).includes('requests_in_flight 1\n'))
  return { answer }
}

test('SIGTERM answers the request in flight, refuses new ones and exits with 0', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const { answer } = await inFlight(service, 3000)
  service.signal('SIGTERM')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  t.is((await fetch(`${service.opsUrl}/readyz`)).status, 503)
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  await t.throwsAsync(fetch(`${service.baseUrl}/api/v1/version`))
  const answered = await answer
  t.not(answered, 'cut')
  if (answered !== 'cut') t.deepEqual([answered.status, answered.json], [200, { text: 'done on SelfHosted' }])
  t.is(await service.exited, 0)
  t.regex(service.stderr(), /"msg":"stopping/)
})

const manifest = fileURLToPath(new URL('../../package.json', import.meta.url))

/** Runs the script of `npm start` as npm does: by a shell, which gets the signals that npm passes on. */
const startByShell = async (folder: string): Promise<{ readonly shell: ChildProcess; readonly api: string }> => {
  const { start } = (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly scripts: { readonly start: string } })
    .scripts
  const env = cleanEnvironment({
    TMPDIR: folder,
    ...(await testEnvironment(folder, 'sqlite')),
    npm_lifecycle_event: 'start',
  })
  const shell = spawn('sh', ['-c', start], {
    cwd: root,
    env: { ...env, PATH: `${join(root, 'node_modules', '.bin')}:${env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  shell.stdout?.setEncoding('utf8').on('data', (text: string) => void (said += text))
  await until(async () => /Health/.test(said) || shell.exitCode !== null)
  return { shell, api: /API +(\S+)/.exec(said)?.[1] ?? '' }
}

test('npm start leaves no shell between npm and the service', async (t) => {
  const { shell, api } = await startByShell(join(folder, 'npm-start'))
  t.teardown(() => shell.kill('SIGKILL'))
  t.is((await fetch(`${api}/version`)).status, 200)
  const exited = new Promise((resolve) => shell.once('exit', resolve))
  // npm and the terminal both send it.
  shell.kill('SIGINT')
  shell.kill('SIGINT')
  t.is(await exited, 0)
  await t.throwsAsync(fetch(`${api}/version`))
})

test('SIGTERM during the start completes the schema and exits with 0', async (t) => {
  const environment = {
    ...(await testEnvironment(join(folder, 'early'), 'sqlite')),
    MOORAGE_DATA_DIR: join(folder, 'early'),
    MOORAGE_DATABASE_URL: `sqlite:${join(folder, 'early', 'm.sqlite')}`,
    MOORAGE_DRAIN_SECONDS: '15',
    MOORAGE_ADMIN_PASSWORD: '',
  }
  const child = spawn(process.execPath, [mainFile, 'serve'], {
    env: cleanEnvironment({ TMPDIR: folder, ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr === '') child.kill('SIGTERM')
    stderr += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  t.is(code, 0, stderr)
  t.regex(stderr, /stopping: /)
  t.regex(stdout, /Password/)
})

test('the service stops when the process on an older Node that started it is killed', async (t) => {
  const environment = {
    ...(await testEnvironment(join(folder, 'killed'), 'sqlite')),
    TMPDIR: folder,
    MOORAGE_DATA_DIR: join(folder, 'killed'),
  }
  // What the process on the older Node does.
  const starter =
    "const c = require('child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' }); console.log('child ' + c.pid)"
  const child = spawn(process.execPath, ['-e', starter, bin, 'serve'], {
    env: cleanEnvironment({ ...environment, MOORAGE_REEXECUTED: '1', MOORAGE_DRAIN_SECONDS: '0' }),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said += text))
  await until(async () => /Health +\S+\n/.test(said))
  const pid = Number(/child (\d+)/.exec(said)?.[1])
  t.teardown(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
  child.kill('SIGKILL')
  await until(async () => !isRunning(pid))
  t.false(isRunning(pid))
})

for (const [how, command, words] of [
  ['npm start', 'npm', ['start']],
  ['npx', 'npx', ['--no', 'moorage', 'serve']],
] as const) {
  test(`${how}: SIGTERM stops the service in order, and leaves no process behind`, async (t) => {
    const settings = { ...(await testEnvironment(join(folder, command), 'sqlite')), MOORAGE_LOG_FORMAT: 'json' }
    const log = join(folder, `${command}.log`)
    const file = openSync(log, 'w')
    // A file, since npx ends before the service does.
    const child = spawn(command, words, {
      cwd: root,
      env: cleanEnvironment({ TMPDIR: folder, ...settings }),
      stdio: ['ignore', file, file],
    })
    closeSync(file)
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const said = (): string => readFileSync(log, 'utf8')
    const isReady = (): boolean => /Health +\S+\n/.test(said()) && /"pid":\d+/.test(said())
    await until(async () => isReady() || child.exitCode !== null)
    const pid = Number(/"pid":(\d+)/.exec(said())?.[1])
    t.true(pid > 0, said())
    t.teardown(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
    child.kill('SIGTERM')
    await exited
    await until(async () => !isRunning(pid))
    t.false(isRunning(pid), said())
    t.regex(said(), /"msg":"stopping/)
  })
}

test('a second signal ends it at once', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const { answer } = await inFlight(service, 60_000)
  service.signal('SIGINT')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  service.signal('SIGTERM')
  t.is(await service.exited, 1)
  t.is(await answer, 'cut')
})
