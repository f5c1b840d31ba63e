// process: own - ends processes or changes its own
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { onPath } from '../../../adapters/helm/process/helm-finder.ts'
import { makeGuards } from '../../../adapters/helm/process/helm-runner.ts'
import type { HelmLimits } from '../../../adapters/helm/process/limits.ts'
import type { LoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import { calledObject, makeLoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused, ProxyPathRefused } from '../../../core/clusters/ports.ts'
import type { Exchange } from '../../../core/kernel/exchange.ts'
import type { HelmEvent } from '../../../core/packages/releases/ports.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import { until } from '../../support/until.ts'
import { fakeArchive, makeFakeHelmRunner } from '../../packages/fake-helm-runner.ts'
import type { RunnerFixture } from './helm-runner.suite.ts'
import { helmRunnerSuite, messageOf } from './helm-runner.suite.ts'
import type { SpyBench } from './spy-helm.ts'
import { spyHelm } from './spy-helm.ts'
import { declareSuite } from '../../support/declare-suite.ts'

const open = new AbortController().signal
const chart = { archive: new Uint8Array([1]), values: { password: 'lantern' } }

const spy = (t: ExecutionContext, script: string, limits?: Partial<HelmLimits>): SpyBench => {
  const fixture = spyHelm(script, limits)
  t.teardown(async () => {
    await fixture.runner.close()
    fixture.remove()
  })
  return fixture
}

const leftIn = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith('moorage-helm-'))

test('helm is given nothing of the service’s own', async (t) => {
  process.env['MOORAGE_CANARY'] = 'canary-in-the-environment'
  process.env['HTTPS_PROXY'] = 'http://canary.example.com'
  t.teardown(() => void (delete process.env['MOORAGE_CANARY'], delete process.env['HTTPS_PROXY']))
  const { runner, folder, work } = spy(
    t,
    'echo "# where $(pwd)"; env | sed "s/^/# env /"; ls -ld . | sed "s/^/# dir /"; stat -c "# file %a %n" *; sed "s/^/# kube /" kubeconfig; echo "# args $*"; ls /proc/self/fd | sed "s/^/# fd /"',
  )
  const { manifest } = unwrap(await runner.template(work, chart, open))
  const lines = (kind: string): readonly string[] =>
    manifest.split('\n').flatMap((line) => (line.startsWith(`# ${kind} `) ? [line.slice(kind.length + 3)] : []))
  const where = lines('where')[0] ?? ''
  t.true(where.startsWith(join(folder, 'moorage-helm-')))
  t.false(manifest.includes('canary'))
  const known = [
    'GOGC',
    'GOMEMLIMIT',
    'GOTRACEBACK',
    'HELM_CACHE_HOME',
    'HELM_CONFIG_HOME',
    'HELM_DATA_HOME',
    'HELM_DRIVER',
    'HELM_NO_PLUGINS',
    'HELM_PLUGINS',
    'HOME',
    'KUBECONFIG',
    'NO_COLOR',
    'TMPDIR',
  ]
  // A shell sets PATH, PWD and the like for itself.
  t.deepEqual(
    lines('env')
      .map((line) => line.split('=')[0] ?? '')
      .filter((name) => !['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))
      .sort(),
    known,
  )
  t.regex(lines('dir')[0] ?? '', /^drwx------/)
  t.deepEqual(
    lines('file')
      .filter((line) => !line.startsWith('700'))
      .sort(),
    ['600 chart.tgz', '600 kubeconfig', '600 values.json'],
  )
  t.regex(lines('kube').join('\n'), /"server":"http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}"/)
  t.notRegex(lines('kube').join('\n'), /token|certificate|password/)
  t.false((lines('args')[0] ?? '').includes('lantern'))
  t.deepEqual(leftIn(folder), [])
})

test('a change that ignores SIGTERM is killed after its grace and reported', async (t) => {
  const { runner, folder, work } = spy(
    t,
    'trap "" TERM; echo started > $HOME/../../started; while :; do sleep 0.05; done',
  )
  const cancelling = new AbortController()
  const running = runner.install({ ...work, flags: {} }, chart, cancelling.signal)
  await until('helm runs', () => (existsSync(join(folder, 'started')) ? true : undefined))
  cancelling.abort()
  const ended = await running
  t.is(tagOf(ended), 'HelmStopped')
  t.regex(messageOf(ended), /was killed: the release may be left pending/)
  t.deepEqual(leftIn(folder), [])
})

test('a process beyond all its waits is ended', async (t) => {
  const { runner, work } = spy(
    t,
    'trap "echo Error: context canceled >&2; exit 1" TERM; while :; do sleep 0.05; done',
    { renderSeconds: 0.3 },
  )
  const ended = await runner.template(work, chart, open)
  t.is(tagOf(ended), 'HelmStopped')
  t.regex(messageOf(ended), /took longer than the 0.3 s .*MOORAGE_HELM_RENDER_SECONDS.*context canceled/)
})

test('a rollback that is cancelled has a limited time to finish', async (t) => {
  const finishing = spy(
    t,
    'echo started > $HOME/../../started; while [ ! -e $HOME/../../finish ]; do sleep 0.05; done',
    { finishSeconds: 20 },
  )
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
  t.regex(
    messageOf(await killed.runner.install({ ...killed.work, flags: {} }, chart, open)),
    /ended from outside \(SIGKILL\)/,
  )
})

test('without a helm every operation says how to get one', async (t) => {
  const fixture = spy(t, 'exit 0')
  rmSync(join(fixture.folder, 'helm'))
  const { runner, work } = fixture
  t.is(await runner.version(), undefined)
  const outcomes = [
    await runner.template(work, chart, open),
    await runner.install(work, chart, open),
    await runner.rollback(work, 0, open),
    await runner.uninstall(work, open),
  ]
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
  test('helm processes end with a killed service', async (t) => {
    const { command, words } = makeGuards(process.env['PATH'] ?? '').wrap('/bin/sleep', ['300'], 2048)
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const c = require('node:child_process').spawn(${JSON.stringify(command)}, ${JSON.stringify(words)}, { detached: true, stdio: 'ignore' }); setTimeout(() => console.log(c.pid), 200); setInterval(() => {}, 1000)`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const pid = Number(
      await new Promise<string>((resolve) => parent.stdout.once('data', (data: Buffer) => resolve(data.toString()))),
    )
    t.true(isAlive(pid))
    parent.kill('SIGKILL')
    await until('it has ended', () => (isAlive(pid) ? undefined : true))
    t.false(isAlive(pid))
  })
}

test('a machine without the programs for bounds goes without them', (t) => {
  t.deepEqual(makeGuards('').wrap('/usr/bin/helm', ['version'], 100), { command: '/usr/bin/helm', words: ['version'] })
  t.deepEqual(makeGuards(process.env['PATH'] ?? '', 'darwin').wrap('helm', ['version'], 100), {
    command: 'helm',
    words: ['version'],
  })
})

type Relay = MemberCluster['relay']

const clusterOf = (relay: Relay): MemberCluster => ({ relay }) as unknown as MemberCluster

const answering =
  (status = 200, body = '{}'): Relay =>
  async (exchange) => {
    exchange.respond(status, [['content-type', 'application/json']])
    exchange.write(new TextEncoder().encode(body))
    exchange.end()
    return right(undefined)
  }

const ask = (
  url: string,
  options: { readonly method?: string; readonly body?: string; readonly headers?: Record<string, string> } = {},
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      { method: options.method ?? 'GET', headers: options.headers ?? {} },
      (answer: IncomingMessage) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(options.body)
  })

const openProxy = (t: ExecutionContext): LoopbackProxy => {
  const proxy = makeLoopbackProxy()
  t.teardown(() => proxy.close())
  return proxy
}

test('only who knows the segment gets through, and only to its own cluster', async (t) => {
  const proxy = openProxy(t)
  const nobody = (): void => undefined
  const one = await proxy.open({ cluster: clusterOf(answering(200, '"one"')), onEvent: nobody })
  const two = await proxy.open({ cluster: clusterOf(answering(200, '"two"')), onEvent: nobody })
  t.regex(one.url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/)
  t.not(one.url, two.url)
  t.is((await ask(`${one.url}/version`)).text, '"one"')
  t.is((await ask(`${two.url}/version`)).text, '"two"')
  const origin = new URL(one.url).origin
  const segment = new URL(one.url).pathname.slice(1)
  const flipped = `${segment.slice(0, -1)}${segment.endsWith('0') ? '1' : '0'}`
  for (const path of [
    '/',
    '/version',
    `/${'0'.repeat(32)}/version`,
    `/${flipped}/version`,
    `/${segment.toUpperCase()}x/version`,
    `//${segment}/version`,
    `/a/${segment}/version`,
  ])
    t.is((await ask(`${origin}${path}`)).status, 404, path)
  one.close()
  t.is((await ask(`${one.url}/version`)).status, 404)
  t.is((await ask(`${two.url}/version`)).status, 200)
  await proxy.close()
  await t.throwsAsync(ask(`${two.url}/version`))
})

test('path, query, headers and body pass as they are', async (t) => {
  const seen: {
    readonly method: string
    readonly path: string
    readonly query: string
    readonly accept: unknown
    readonly body: string | undefined
  }[] = []
  const proxy = openProxy(t)
  const relay: Relay = async (exchange, signal) => {
    let body: string | undefined
    if (exchange.body !== undefined)
      for await (const chunk of exchange.body) body = (body ?? '') + new TextDecoder().decode(chunk)
    seen.push({
      method: exchange.method,
      path: exchange.path,
      query: exchange.query,
      accept: exchange.headers['accept'],
      body,
    })
    return answering()(exchange, signal)
  }
  const door = await proxy.open({ cluster: clusterOf(relay), onEvent: () => undefined })
  await ask(`${door.url}/api/v1/namespaces/a%2Fb/pods?watch=true&x=%20?&`, {
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  })
  await ask(`${door.url}/api/v1/namespaces`, { method: 'POST', body: 'k8s\u0000bytes' })
  t.deepEqual(seen, [
    {
      method: 'GET',
      path: '/api/v1/namespaces/a%2Fb/pods',
      query: 'watch=true&x=%20?&',
      accept: 'application/vnd.kubernetes.protobuf',
      body: undefined,
    },
    { method: 'POST', path: '/api/v1/namespaces', query: '', accept: undefined, body: 'k8s\u0000bytes' },
  ])
})

test('changes are reported on their answer, dry runs as such, reads never', async (t) => {
  const events: HelmEvent[] = []
  const proxy = openProxy(t)
  const door = await proxy.open({ cluster: clusterOf(answering(201)), onEvent: (event) => void events.push(event) })
  await ask(`${door.url}/api/v1/namespaces/a/secrets?fieldManager=helm`, { method: 'POST', body: '{}' })
  await ask(`${door.url}/apis/apps/v1/namespaces/a/deployments/web?dryRun=All&force=true`, {
    method: 'PATCH',
    body: '{}',
  })
  await ask(`${door.url}/api/v1/namespaces/a/secrets`)
  t.deepEqual(events, [
    {
      kind: 'call',
      method: 'POST',
      target: '/api/v1/namespaces/a/secrets',
      status: 201,
      isDryRun: false,
      object: { group: 'core', version: 'v1', resource: 'secrets', namespace: 'a', name: undefined },
    },
    {
      kind: 'call',
      method: 'PATCH',
      target: '/apis/apps/v1/namespaces/a/deployments/web',
      status: 201,
      isDryRun: true,
      object: { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'a', name: 'web' },
    },
  ])
})

test('an unreachable cluster is reported as a Status and cached', async (t) => {
  const proxy = openProxy(t)
  const told = async (failure: Awaited<ReturnType<Relay>>): Promise<unknown> => {
    const door = await proxy.open({ cluster: clusterOf(async () => failure), onEvent: () => undefined })
    const { status, text } = await ask(`${door.url}/version`)
    const { kind, message } = JSON.parse(text) as { readonly kind: string; readonly message: string }
    return [status, kind, message, door.trouble()]
  }
  t.deepEqual(await told(left(ClusterUnreachable('no way'))), [502, 'Status', 'no way', 'no way'])
  t.deepEqual(await told(left(CredentialRefused('not you'))), [502, 'Status', 'not you', 'not you'])
  t.deepEqual(await told(left(ProxyPathRefused('bad path'))), [400, 'Status', 'bad path', 'bad path'])
  const throwing = await proxy.open({
    cluster: clusterOf(() => Promise.reject(new Error('secret words'))),
    onEvent: () => undefined,
  })
  const failed = await ask(`${throwing.url}/version`)
  t.is(failed.status, 500)
  t.false(failed.text.includes('secret words'))
})

test('a watch lives until the door is shut, or its client leaves', async (t) => {
  const proxy = openProxy(t)
  const aborted: string[] = []
  const relay: Relay = (exchange: Exchange, signal) => {
    exchange.respond(200, [])
    exchange.write(new TextEncoder().encode('event\n'))
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => (aborted.push(exchange.path), resolve(right(undefined)))),
    )
  }
  const door = await proxy.open({ cluster: clusterOf(relay), onEvent: () => undefined })
  const watching = (path: string): Promise<{ leave(): void; readonly ended: Promise<void> }> =>
    new Promise((resolve) => {
      const sent = httpRequest(`${door.url}${path}`, (answer) => {
        answer.on('error', () => undefined)
        const ended = new Promise<void>((done) => answer.once('close', () => done()))
        answer.once('data', () => resolve({ leave: () => void sent.destroy(), ended }))
      })
      sent.on('error', () => undefined)
      sent.end()
    })
  const leaving = await watching('/api/v1/pods')
  const staying = await watching('/api/v1/nodes')
  leaving.leave()
  await until('the client has left', () => aborted[0])
  t.deepEqual(aborted, ['/api/v1/pods'])
  door.close()
  await staying.ended
  t.deepEqual(aborted, ['/api/v1/pods', '/api/v1/nodes'])
})

test('a path names an object, a collection, or nothing', (t) => {
  t.deepEqual(calledObject('/api/v1/namespaces'), {
    group: 'core',
    version: 'v1',
    resource: 'namespaces',
    namespace: undefined,
    name: undefined,
  })
  t.deepEqual(calledObject('/api/v1/namespaces/a'), {
    group: 'core',
    version: 'v1',
    resource: 'namespaces',
    namespace: undefined,
    name: 'a',
  })
  t.deepEqual(calledObject('/apis/rbac.authorization.k8s.io/v1/clusterroles/x'), {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    resource: 'clusterroles',
    namespace: undefined,
    name: 'x',
  })
  t.deepEqual(calledObject('/apis/apps/v1/namespaces/a/deployments/web/scale'), {
    group: 'apps',
    version: 'v1',
    resource: 'deployments',
    namespace: 'a',
    name: 'web',
  })
  for (const path of ['/', '/version', '/api', '/apis', '/api/v1', '/apis/apps/v1', '/openapi/v2'])
    t.is(calledObject(path), undefined, path)
})

const runner = makeFakeHelmRunner()
const cluster = { uid: 'uid-fake' } as MemberCluster
let namespaces = 0

const fixture: RunnerFixture = {
  runner,
  cluster,
  namespace: async () => `fake-${(namespaces += 1)}`,
  chart: async ({ version = '1.0.0', text = 'calm', hasHook, notes = '', neverReady = false, values }) => ({
    archive: fakeArchive({
      version,
      defaults: { text },
      hooks: hasHook === true ? ['$RELEASE-hook'] : [],
      notes: notes.replaceAll('{{ .Release.Name }}', '$RELEASE'),
      neverReady,
    }),
    values,
  }),
  records: async (namespace, name) =>
    runner.revisions(namespace, name).map(({ version, info }) => `${version} ${info.status}`),
}

declareSuite(helmRunnerSuite, 'the fake', async () => fixture, test)

test('it simulates a machine without helm, and renders any archive', async (t) => {
  const fake = makeFakeHelmRunner()
  const work = {
    target: { cluster, driver: 'Secret', tenantId: 1 },
    release: { namespace: 'a', name: 'b' },
    flags: {},
  } as const
  const open = new AbortController().signal
  const any = { archive: new Uint8Array([0x1f, 0x8b]), values: undefined }
  t.is(tagOf(await fake.install(work, any, open)), 'done')
  t.deepEqual(
    fake.asked.map(({ operation }) => operation),
    ['install'],
  )
  fake.found = undefined
  t.is(await fake.version(), undefined)
  t.is(tagOf(await fake.upgrade(work, any, open)), 'HelmMissing')
})
