// process: own - starts a service as a process
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { kubectl, kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import type { CommandResult } from '../../support/components/run-command.ts'
import { runCommand } from '../../support/components/run-command.ts'
import type { StubKubelet } from '../../support/components/stub-kubelet.ts'
import { echoPort, startStubKubelet } from '../../support/components/stub-kubelet.ts'
import { cleanEnvironment } from '../../support/service-process.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import type { Person } from '../cluster-fixture.ts'
import type { Asked, Handshake } from './handshake.ts'
import { encodedToken, clientFrame, openWebsocket } from './handshake.ts'
import { clientKubeconfig, expectStatus, importCluster, makePeople, peoplesPassword } from '../cluster-fixture.ts'

/** An unmodified kubectl, a kubeconfig from the service, the whole service, a real kube-apiserver behind it. */
const withKubernetesAndKubeletAndKubectl = needing('kubernetes', 'kubelet', 'kubectl')

const clusterName = 'harbour'
const connectPermissions = ['view clusters', 'connect to clusters', 'view accessconfig'].map((action) => ({
  namespace: 'cluster_mgmt',
  action,
}))

let cluster: ControlPlaneAccess
let kubelet: StubKubelet
let service: TestService
let owner: Person
let org: string
let kubectlPath: string
let kubeconfigPath: string
let people: ReturnType<typeof makePeople>
const endings: (() => void | Promise<void>)[] = []

withKubernetesAndKubeletAndKubectl.before(async () => {
  cluster = (await kubernetes())!
  kubectlPath = (await kubectl())!
  kubelet = await startStubKubelet(cluster)
  endings.push(() => kubelet.stop())
  service = await startService()
  endings.push(() => service.stop())
  people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, clusterName, cluster.kubeconfig()), 200)
  const file = await clientKubeconfig(service, owner, org, clusterName)
  endings.push(file.remove)
  kubeconfigPath = file.path
})

withKubernetesAndKubeletAndKubectl.after.always(async () => {
  for (const end of endings.toReversed()) await end()
})

const args = (namespace: string, ...words: string[]): string[] => [
  '--kubeconfig',
  kubeconfigPath,
  '--namespace',
  namespace,
  ...words,
]
const run = (namespace: string, words: readonly string[], input?: string): Promise<CommandResult> =>
  runCommand(kubectlPath, args(namespace, ...words), {
    timeoutMilliseconds: 60_000,
    ...(input === undefined ? {} : { input }),
  })

const configMap = (data: object): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'chart' }, data })

const untilNoStreams = async (): Promise<number> => {
  for (let left = 100; left > 0 && (await kubelet.openStreams()) > 0; left -= 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  return kubelet.openStreams()
}

withKubernetesAndKubeletAndKubectl('get, apply, patch and delete', async (t) => {
  const namespace = await cluster.createNamespace()
  const applied = await run(namespace, ['apply', '-f', '-'], configMap({ depth: '3' }))
  t.is(applied.stdout, 'configmap/chart created\n', applied.stderr)
  t.is((await run(namespace, ['apply', '-f', '-'], configMap({ depth: '4' }))).stdout, 'configmap/chart configured\n')
  t.is(
    (await run(namespace, ['apply', '--server-side', '--force-conflicts', '-f', '-'], configMap({ depth: '5' })))
      .stdout,
    'configmap/chart serverside-applied\n',
  )
  t.is(
    (await run(namespace, ['patch', 'configmap', 'chart', '-p', '{"data":{"tide":"low"}}'])).stdout,
    'configmap/chart patched\n',
  )
  t.is(
    (await run(namespace, ['get', 'configmap', 'chart', '-o', 'jsonpath={.data}'])).stdout,
    '{"depth":"5","tide":"low"}',
  )
  t.deepEqual((await cluster.request('GET', `/api/v1/namespaces/${namespace}/configmaps/chart`)).body as object, {
    ...((await cluster.request('GET', `/api/v1/namespaces/${namespace}/configmaps/chart`)).body as object),
    data: { depth: '5', tide: 'low' },
  })
  t.is((await run(namespace, ['delete', 'configmap', 'chart'])).status, 0)
  t.is((await cluster.request('GET', `/api/v1/namespaces/${namespace}/configmaps/chart`)).status, 404)
  const gone = await run(namespace, ['get', 'configmap', 'chart'])
  t.is(gone.status, 1)
  t.regex(gone.stderr, /NotFound/)
})

withKubernetesAndKubeletAndKubectl(
  'moorage kubeconfig: kubectl runs it for a credential, which is used again while it is valid; no lasting secret is in a file',
  async (t) => {
    const namespace = await cluster.createNamespace()
    const folder = mkdtempSync(join(tmpdir(), 'moorage-exec-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const member = await people.person('operator')
    await people.teamWithRole(owner, org, [member], connectPermissions)
    const environment = cleanEnvironment({
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
      MOORAGE_SERVER: service.baseUrl,
      MOORAGE_TOKEN: member.token,
      XDG_CACHE_HOME: join(folder, 'cache'),
    })
    const bin = fileURLToPath(new URL('../../../composition/bin/moorage.mjs', import.meta.url))
    const printed = await runCommand(process.execPath, [bin, 'kubeconfig', `${org}/${clusterName}`, '--command', bin], {
      environment,
      timeoutMilliseconds: 60_000,
    })
    t.is(printed.status, 0, printed.stderr)
    t.false(printed.stdout.includes('moor_'))
    const path = join(folder, 'config')
    writeFileSync(path, printed.stdout)
    const kubectlAs = (words: readonly string[], input?: string): Promise<CommandResult> =>
      runCommand(kubectlPath, ['--kubeconfig', path, '--namespace', namespace, ...words], {
        environment,
        timeoutMilliseconds: 60_000,
        ...(input === undefined ? {} : { input }),
      })
    const made = async (): Promise<readonly number[]> => {
      const { json } = await expectStatus(
        service.send('GET', `/api/v1/users/${member.login}/tokens`, { basic: [member.login, peoplesPassword] }),
        200,
      )
      return (json as { id: number; cluster?: string }[])
        .filter((token) => token.cluster === `${org}/${clusterName}`)
        .map(({ id }) => id)
    }
    const applied = await kubectlAs(['apply', '-f', '-'], configMap({ depth: '3' }))
    t.is(applied.stdout, 'configmap/chart created\n', applied.stderr)
    t.is((await kubectlAs(['get', 'configmap', 'chart', '-o', 'jsonpath={.data.depth}'])).stdout, '3')
    const [first, ...others] = await made()
    t.deepEqual(others, [])
    await expectStatus(
      service.send('DELETE', `/api/v1/users/${member.login}/tokens/${first}`, {
        basic: [member.login, peoplesPassword],
      }),
      204,
    )
    const again = await kubectlAs(['get', 'configmap', 'chart', '-o', 'jsonpath={.data.depth}'])
    t.is(again.stdout, '3', again.stderr)
    t.is((await made()).length, 1)
    for (const name of readdirSync(join(folder, 'cache'), { recursive: true, withFileTypes: true })) {
      if (!name.isFile()) continue
      const file = join(name.parentPath, name.name)
      t.is(statSync(file).mode & 0o777, 0o600)
      t.false(readFileSync(file, 'utf8').includes(member.token))
    }
    const refused = await runCommand(kubectlPath, ['--kubeconfig', path, 'get', 'namespaces'], {
      environment: { ...environment, MOORAGE_TOKEN: '' },
      timeoutMilliseconds: 60_000,
    })
    t.is(refused.status, 1)
    t.regex(refused.stderr, /set MOORAGE_TOKEN/)
  },
)

withKubernetesAndKubeletAndKubectl('get --watch sees changes as they come', async (t) => {
  const namespace = await cluster.createNamespace()
  const child = spawn(
    kubectlPath,
    args(namespace, 'get', 'configmaps', '--watch', '-o', 'jsonpath={.metadata.name}={.data.tide}{"\\n"}'),
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  t.teardown(() => void child.kill())
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: 'watched' },
    data: { tide: 'low' },
  })
  t.is((await lines.next()).value, 'watched=low')
  await cluster.request(
    'PATCH',
    `/api/v1/namespaces/${namespace}/configmaps/watched`,
    { data: { tide: 'high' } },
    { contentType: 'application/merge-patch+json' },
  )
  t.is((await lines.next()).value, 'watched=high')
})

withKubernetesAndKubeletAndKubectl.serial(
  'logs and logs --follow leave no open connection at the kubelet',
  async (t) => {
    const namespace = await cluster.createNamespace()
    await kubelet.runPod(namespace, 'web')
    t.regex(
      (await run(namespace, ['logs', 'web', '--tail=2'])).stdout,
      /^\S+\/web\/main line 4\n\S+\/web\/main line 5\n$/,
    )
    const child = spawn(kubectlPath, args(namespace, 'logs', 'web', '--follow'), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout })) if (line.endsWith('line 8')) break
    child.kill()
    t.is(await untilNoStreams(), 0)
  },
)

for (const [protocol, environment] of [
  ['WebSocket', {}],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
] as const) {
  withKubernetesAndKubeletAndKubectl.serial(
    `exec carries stdin, stdout, stderr and the exit status over ${protocol}`,
    async (t) => {
      const namespace = await cluster.createNamespace()
      await kubelet.runPod(namespace, 'web')
      const exec = (words: readonly string[], input = ''): Promise<CommandResult> =>
        runCommand(kubectlPath, args(namespace, 'exec', '-i', 'web', '--', ...words), {
          input,
          environment: { ...process.env, ...environment },
          timeoutMilliseconds: 60_000,
        })
      const much = 'tide '.repeat(200_000)
      t.like(await exec(['cat'], much), { status: 0, stdout: much, stderr: '' })
      // Over SPDY, kubectl and a kube-apiserver without a proxy lose stderr and the status of one call in about 600:
      // kubectl then returns 0.
      const isRight = (results: readonly boolean[]): boolean =>
        protocol === 'SPDY' ? results.includes(true) : !results.includes(false)
      const complaints = [await exec(['complain', 'no', 'wind']), await exec(['complain', 'no', 'wind'])]
      t.true(
        isRight(complaints.map(({ stdout, stderr }) => stdout === '' && stderr === 'no wind\n')),
        JSON.stringify(complaints),
      )
      const statuses = [await exec(['exit', '3']), await exec(['exit', '3'])].map(({ status }) => status)
      t.true(isRight(statuses.map((status) => status === 3)), statuses.join())
      // kubectl falls back to SPDY by itself, so what was really used is looked at.
      const traced = await runCommand(kubectlPath, args(namespace, '-v=8', 'exec', 'web', '--', 'echo', 'hi'), {
        environment: { ...process.env, ...environment },
        timeoutMilliseconds: 60_000,
      })
      t.is(traced.stdout, 'hi\n')
      t.is(/^\s*Upgrade: websocket/im.test(traced.stderr), protocol === 'WebSocket', traced.stderr)
      t.is(/^\s*Upgrade: SPDY/im.test(traced.stderr), protocol === 'SPDY', traced.stderr)
      t.is(await untilNoStreams(), 0)
    },
  )

  withKubernetesAndKubeletAndKubectl.serial(`port-forward carries bytes both ways over ${protocol}`, async (t) => {
    const namespace = await cluster.createNamespace()
    await kubelet.runPod(namespace, 'web')
    const child = spawn(kubectlPath, args(namespace, 'port-forward', 'pod/web', `:${echoPort}`), {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...environment },
    })
    let port = 0
    for await (const line of createInterface({ input: child.stdout })) {
      port = Number(/127\.0\.0\.1:(\d+) ->/.exec(line)?.[1] ?? 0)
      if (port > 0) break
    }
    child.stdout.resume()
    const sent = Buffer.alloc(300_000, 'wave ')
    const echoed = await new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const socket = connect(port, '127.0.0.1', () => socket.write(sent))
      socket.on('data', (chunk) => {
        chunks.push(chunk)
        bytes += chunk.byteLength
        if (bytes >= sent.byteLength) {
          socket.destroy()
          resolve(Buffer.concat(chunks))
        }
      })
      socket.on('error', reject)
    })
    child.kill()
    t.true(echoed.equals(sent))
    t.is(await untilNoStreams(), 0)
  })
}

withKubernetesAndKubeletAndKubectl('take the role away: the next request is 403', async (t) => {
  const member = await people.person('member')
  await people.teamWithRole(owner, org, [member], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
  const { teamId } = await people.teamWithRole(owner, org, [member], connectPermissions)
  const file = await clientKubeconfig(service, member, org, clusterName)
  t.teardown(file.remove)
  const get = (): Promise<CommandResult> =>
    runCommand(kubectlPath, ['--kubeconfig', file.path, 'get', 'namespaces', '-o', 'name'], {
      timeoutMilliseconds: 60_000,
    })
  const allowed = await get()
  t.is(allowed.status, 0, allowed.stderr)
  t.regex(allowed.stdout, /^namespace\/kube-system$/m)
  await expectStatus(
    service.send('PATCH', `/api/v1/teams/${teamId}`, { token: owner.token, body: { assignedRoleIDs: [] } }),
    200,
  )
  const direct = await service.send('GET', `/api/v1/clusters/${org}/${clusterName}/proxy/api/v1/namespaces`, {
    token: member.token,
  })
  t.is(direct.status, 403, direct.text)
  const refused = await get()
  t.is(refused.status, 1)
  t.regex(refused.stderr, /Forbidden|forbidden/)
})

withKubernetesAndKubeletAndKubectl('a member who may view but not connect gets 403, an outsider 404', async (t) => {
  const viewer = await people.person('viewer')
  await people.teamWithRole(owner, org, [viewer], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
  const stranger = await people.person('stranger')
  const path = `/api/v1/clusters/${org}/${clusterName}/proxy/version`
  t.is((await service.send('GET', path, { token: viewer.token })).status, 403)
  t.is((await service.send('GET', path, { token: stranger.token })).status, 404)
  t.is((await service.send('GET', path)).status, 401)
})

withKubernetesAndKubeletAndKubectl('kubectl --as does nothing, and says so', async (t) => {
  const namespace = await cluster.createNamespace()
  await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'kept' } })
  for (const words of [
    ['auth', 'can-i', 'delete', 'nodes', '--as=nobody'],
    ['get', 'configmaps', '--as=nobody', '--as-group=viewers'],
    ['delete', 'configmap', 'kept', '--as=nobody', '--as-uid=7'],
    ['get', 'configmaps', '--watch', '--as=nobody'],
    ['exec', 'web', '--as=nobody', '--', 'id'],
  ]) {
    const refused = await run(namespace, words)
    t.is(refused.status, 1, words.join(' '))
    t.regex(refused.stderr, /as another user .* are not carried out/, words.join(' '))
    t.is(refused.stdout, '')
  }
  t.is((await run(namespace, ['get', 'configmap', 'kept', '-o', 'name'])).stdout, 'configmap/kept\n')
})

withKubernetesAndKubeletAndKubectl(
  'websockets are answered as they are directly: watch, exec, attach, port-forward and logs',
  async (t) => {
    const namespace = await cluster.createNamespace()
    await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'watched' } })
    await kubelet.runPod(namespace, 'web')
    const below = `/api/v1/clusters/${org}/${clusterName}/proxy`
    const pod = `/api/v1/namespaces/${namespace}/pods/web`
    const [watch, origin] = [
      `/api/v1/namespaces/${namespace}/configmaps?watch=true&fieldSelector=metadata.name%3Dwatched`,
      'Origin: https://app.example',
    ]
    const hasData = ({ data }: Handshake): boolean => data.length > 0
    const hasPong = ({ frames }: Handshake): boolean => frames.some((frame) => frame.startsWith('pong'))
    const isClosed = ({ frames }: Handshake): boolean => frames.some((frame) => frame.startsWith('close'))
    const ping = clientFrame(9, 'tide')
    const cases: readonly (readonly [
      what: string,
      path: string,
      headers: readonly string[],
      isDone: (seen: Handshake) => boolean,
      sent?: readonly Buffer[],
    ])[] = [
      ['a watch', watch, [origin], hasData],
      ['a watch without Origin', watch, [], hasData],
      [
        'a watch that offers compression and a protocol',
        watch,
        [origin, 'Sec-WebSocket-Extensions: permessage-deflate', 'Sec-WebSocket-Protocol: base64.binary.k8s.io'],
        hasData,
      ],
      ['a ping in a watch', watch, [origin], hasPong, [ping]],
      [
        'exec',
        `${pod}/exec?command=echo&command=hi&stdout=true`,
        ['Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io'],
        isClosed,
      ],
      [
        'exec of an older client',
        `${pod}/exec?command=echo&command=hi&stdout=true`,
        ['Sec-WebSocket-Protocol: v4.channel.k8s.io', 'Sec-WebSocket-Protocol: channel.k8s.io', origin],
        isClosed,
      ],
      [
        'exec of an unknown protocol',
        `${pod}/exec?command=echo&command=hi&stdout=true`,
        ['Sec-WebSocket-Protocol: v9.channel.k8s.io'],
        isClosed,
      ],
      [
        'exec in a container that is missing',
        `${pod}/exec?command=echo&container=none&stdout=true`,
        ['Sec-WebSocket-Protocol: v5.channel.k8s.io'],
        isClosed,
      ],
      [
        'attach',
        `${pod}/attach?stdout=true&stdin=true`,
        ['Sec-WebSocket-Protocol: v5.channel.k8s.io'],
        hasPong,
        [ping],
      ],
      [
        'port-forward',
        `${pod}/portforward?ports=${echoPort}`,
        ['Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io'],
        hasPong,
        [ping],
      ],
      ['logs', `${pod}/log?follow=false`, ['Sec-WebSocket-Protocol: binary.k8s.io', origin], isClosed],
    ]
    for (const [what, path, headers, isDone, sent] of cases) {
      const seen = (asked: Omit<Asked, 'headers'>, token: string): Promise<Handshake> =>
        openWebsocket({ ...asked, headers: [`Authorization: Bearer ${token}`, ...headers] }, sent, isDone)
      const directly = await seen({ url: cluster.url, path }, cluster.tokenFor('admin'))
      const proxied = await seen({ url: service.baseUrl, path: `${below}${path}` }, owner.token)
      t.deepEqual({ ...proxied, data: proxied.data.length > 0 }, { ...directly, data: directly.data.length > 0 }, what)
      if (what === 'a watch' || what === 'exec') t.regex(proxied.status, / 101 /, what)
    }
    const byProtocol = async (...protocols: readonly string[]): Promise<readonly string[]> => {
      const { status, headers } = await openWebsocket(
        {
          url: service.baseUrl,
          path: `${below}${pod}/exec?command=echo&stdout=true`,
          headers: [`Sec-WebSocket-Protocol: ${protocols.join(', ')}`],
        },
        [],
        isClosed,
      )
      return [status.slice(9, 12), headers['sec-websocket-protocol'] ?? '']
    }
    t.deepEqual(await byProtocol(encodedToken(owner.token), 'v5.channel.k8s.io'), ['101', 'v5.channel.k8s.io'])
    for (const refused of [
      [encodedToken('moor_wrong'), 'v5.channel.k8s.io'],
      [encodedToken(owner.token)],
      [encodedToken(owner.token), encodedToken(owner.token), 'v5.channel.k8s.io'],
      [`${encodedToken(owner.token)}=`, 'v5.channel.k8s.io'],
    ]) {
      t.is((await byProtocol(...refused))[0], '401', refused.length.toString())
    }
  },
)
