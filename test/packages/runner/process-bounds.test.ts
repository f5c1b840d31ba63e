import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { makeGuards } from '../../../adapters/helm/process/helm-runner.ts'
import { onPath } from '../../../adapters/helm/process/helm-finder.ts'
import type { HelmLimits } from '../../../adapters/helm/process/limits.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import { until } from '../../support/until.ts'
import { messageOf } from './helm-runner.suite.ts'
import { spyHelm, type SpyBench } from './spy-helm.ts'

const open = new AbortController().signal
const chart = { archive: new Uint8Array([1]), values: { password: 'lantern' } }

const spy = (t: ExecutionContext, script: string, limits?: Partial<HelmLimits>): SpyBench => {
  const bench = spyHelm(script, limits)
  t.teardown(async () => {
    await bench.runner.close()
    bench.remove()
  })
  return bench
}

const leftIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name.startsWith('moorage-helm-'))

test('helm is given nothing of the service’s own', async (t) => {
  process.env['MOORAGE_CANARY'] = 'canary-in-the-environment'
  process.env['HTTPS_PROXY'] = 'http://canary.example.com'
  t.teardown(() => void (delete process.env['MOORAGE_CANARY'], delete process.env['HTTPS_PROXY']))
  const { runner, folder, work } = spy(t, 'echo "# where $(pwd)"; env | sed "s/^/# env /"; ls -ld . | sed "s/^/# dir /"; stat -c "# file %a %n" *; sed "s/^/# kube /" kubeconfig; echo "# args $*"; ls /proc/self/fd | sed "s/^/# fd /"')
  const { manifest } = unwrap(await runner.template(work, chart, open))
  const lines = (kind: string): readonly string[] => manifest.split('\n').flatMap((line) => (line.startsWith(`# ${kind} `) ? [line.slice(kind.length + 3)] : []))
  const where = lines('where')[0] ?? ''
  t.true(where.startsWith(join(folder, 'moorage-helm-')))
  t.false(manifest.includes('canary'))
  const known = ['GOMEMLIMIT', 'GOTRACEBACK', 'HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME', 'HELM_DRIVER', 'HELM_NO_PLUGINS', 'HELM_PLUGINS', 'HOME', 'KUBECONFIG', 'NO_COLOR', 'TMPDIR']
  // A shell sets PATH, PWD and the like for itself.
  t.deepEqual(lines('env').map((line) => line.split('=')[0] ?? '').filter((name) => !['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)).sort(), known)
  t.regex(lines('dir')[0] ?? '', /^drwx------/)
  t.deepEqual(lines('file').filter((line) => !line.startsWith('700')).sort(), ['600 chart.tgz', '600 kubeconfig', '600 values.json'])
  t.regex(lines('kube').join('\n'), /"server":"http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}"/)
  t.notRegex(lines('kube').join('\n'), /token|certificate|password/)
  t.false((lines('args')[0] ?? '').includes('lantern'))
  t.deepEqual(leftIn(folder), [])
})

test('a change that ignores SIGTERM is killed after its grace, and that is said', async (t) => {
  const { runner, folder, work } = spy(t, 'trap "" TERM; echo started > $HOME/../../started; while :; do sleep 0.05; done')
  const cancelling = new AbortController()
  const running = runner.install({ ...work, flags: {} }, chart, cancelling.signal)
  await until('helm runs', () => (existsSync(join(folder, 'started')) ? true : undefined))
  cancelling.abort()
  const ended = await running
  t.is(tagOf(ended), 'HelmStopped')
  t.regex(messageOf(ended), /was killed: the release may be left pending/)
  t.deepEqual(leftIn(folder), [])
})

test('what takes longer than all its waits together is ended', async (t) => {
  const { runner, work } = spy(t, 'trap "echo Error: context canceled >&2; exit 1" TERM; while :; do sleep 0.05; done', { renderSeconds: 0.3 })
  const ended = await runner.template(work, chart, open)
  t.is(tagOf(ended), 'HelmStopped')
  t.regex(messageOf(ended), /took too long.*context canceled/)
})

test('a rollback that is cancelled has a limited time to finish', async (t) => {
  const finishing = spy(t, 'echo started > $HOME/../../started; while [ ! -e $HOME/../../finish ]; do sleep 0.05; done', { finishSeconds: 20 })
  const cancelled = new AbortController()
  const rolling = finishing.runner.rollback({ ...finishing.work, flags: {} }, 1, cancelled.signal)
  await until('helm runs', () => (existsSync(join(finishing.folder, 'started')) ? true : undefined))
  cancelled.abort()
  writeFileSync(join(finishing.folder, 'finish'), '')
  unwrap(await rolling)
  const endless = spy(t, 'echo started > $HOME/../../started; while :; do sleep 0.05; done')
  const stopping = new AbortController()
  const removing = endless.runner.uninstall({ ...endless.work, flags: {} }, stopping.signal)
  await until('helm runs', () => (existsSync(join(endless.folder, 'started')) ? true : undefined))
  stopping.abort()
  t.regex(messageOf(await removing), /cancelled or the service stops.*may be left pending/)
})

test('output of a change beyond the limit is omitted, and the change is kept', async (t) => {
  const { runner, work } = spy(t, 'head -c 3000000 /dev/zero | tr "\\0" x', { outputBytes: 1024 * 1024 })
  const { release, manifest } = unwrap(await runner.install({ ...work, flags: {} }, chart, open))
  t.is(release, undefined)
  t.is(manifest, '')
})

test('a program that is missing, or fails without output, is reported', async (t) => {
  const silent = spy(t, 'exit 7')
  t.regex(messageOf(await silent.runner.uninstall({ ...silent.work, flags: {} }, open)), /code 7 and said nothing/)
  const gone = spy(t, 'exit 0')
  t.not(await gone.runner.version(), undefined)
  rmSync(join(gone.folder, 'helm'))
  const first = await gone.runner.template(gone.work, chart, open)
  t.is(tagOf(first), 'HelmMissing')
  t.is(await gone.runner.version(), undefined)
  const killed = spy(t, 'kill -KILL $$')
  t.regex(messageOf(await killed.runner.install({ ...killed.work, flags: {} }, chart, open)), /ended from outside \(SIGKILL\)/)
})

test('without a helm every operation says how to get one', async (t) => {
  const bench = spy(t, 'exit 0')
  rmSync(join(bench.folder, 'helm'))
  const { runner, work } = bench
  t.is(await runner.version(), undefined)
  const outcomes = [await runner.template(work, chart, open), await runner.install(work, chart, open), await runner.rollback(work, 0, open), await runner.uninstall(work, open)]
  for (const outcome of outcomes) {
    t.is(tagOf(outcome), 'HelmMissing')
    t.regex(messageOf(outcome), /MOORAGE_HELM.*moorage helm install/)
  }
})

test('a tenant that requests too many renderings at once gets a message to try again', async (t) => {
  const { runner, work } = spy(t, 'sleep 0.5', { renderings: { inAll: 2, perTenant: 1, waitingPerTenant: 1 } })
  const many = await Promise.all([1, 2, 3].map(() => runner.template(work, chart, open)))
  t.deepEqual(many.map(tagOf).sort(), ['HelmBusy', 'done', 'done'])
})

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended but was not waited for is no longer alive in the sense of a test.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

if (process.platform === 'linux' && onPath('setpriv', process.env['PATH'] ?? '') !== undefined) {
  test('what runs ends with a service that is killed', async (t) => {
    const { command, words } = makeGuards(process.env['PATH'] ?? '').wrap('/bin/sleep', ['300'], 2048)
    const parent = spawn(process.execPath, ['-e', `const c = require('node:child_process').spawn(${JSON.stringify(command)}, ${JSON.stringify(words)}, { detached: true, stdio: 'ignore' }); setTimeout(() => console.log(c.pid), 200); setInterval(() => {}, 1000)`], { stdio: ['ignore', 'pipe', 'inherit'] })
    const pid = Number(await new Promise<string>((resolve) => parent.stdout.once('data', (data: Buffer) => resolve(data.toString()))))
    t.true(isAlive(pid))
    parent.kill('SIGKILL')
    await until('it has ended', () => (isAlive(pid) ? undefined : true))
    t.false(isAlive(pid))
  })
}

test('a machine without the programs for bounds goes without them', (t) => {
  t.deepEqual(makeGuards('').wrap('/usr/bin/helm', ['version'], 100), { command: '/usr/bin/helm', words: ['version'] })
  t.deepEqual(makeGuards(process.env['PATH'] ?? '', 'darwin').wrap('helm', ['version'], 100), { command: 'helm', words: ['version'] })
})
