// process: own - starts and ends services and proxies as processes
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { Agent, request } from 'undici'
import { kubectl, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { findNginx } from '../support/components/nginx.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { runCommand } from '../support/components/run-command.ts'
import { startStubKubelet } from '../support/components/stub-kubelet.ts'
import { migratedMysqlUrl } from '../support/databases.ts'
import { makeServerCertificate } from '../support/server-certificate.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { until } from '../support/until.ts'
import { adapted, example, haproxyFile, type Instance, type ProxyFiles } from './example-files.ts'
import { programOf } from './programs.ts'

interface PairFiles extends ProxyFiles {
  readonly instances: readonly [Instance, Instance]
}

interface Proxy {
  readonly name: 'nginx' | 'haproxy'
  /** Writes the configuration, and returns the words that start the program in the foreground. */
  readonly prepare: (files: PairFiles) => readonly string[]
}

const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    prepare: ({ folder, port, instances: [a, b] }) => {
      const text = adapted(example('nginx/moorage.conf'), [
        ['10.0.0.11:3000', `127.0.0.1:${a.api}`],
        ['10.0.0.12:3000', `127.0.0.1:${b.api}`],
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        ['moorage.example.com', '127.0.0.1'],
        ['/etc/nginx/', `${folder}/`],
      ])
      writeFileSync(join(folder, 'moorage.conf'), text)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `  ${name}_temp_path ${folder}/${name};`,
      )
      writeFileSync(
        join(folder, 'nginx.conf'),
        [
          `pid ${folder}/nginx.pid;`,
          'error_log stderr warn;',
          'daemon off;',
          'worker_processes 1;',
          process.getuid?.() === 0 ? 'user root;' : '',
          'events { worker_connections 512; }',
          'http {',
          ...temporary,
          '  access_log off;',
          `  include ${folder}/moorage.conf;`,
          '}',
        ].join('\n'),
      )
      return ['-p', folder, '-c', join(folder, 'nginx.conf')]
    },
  },
  {
    name: 'haproxy',
    prepare: (files) => {
      const { folder } = files
      writeFileSync(join(folder, 'haproxy.cfg'), haproxyFile(files))
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  },
]

/** Two instances on one database behind the proxy. */
const startFixture = async (t: ExecutionContext, { name, prepare }: Proxy) => {
  const program = name === 'nginx' ? await findNginx() : await programOf(name)
  const folder = mkdtempSync(join(tmpdir(), `moorage-${name}-`))
  const port = await reservedPort()
  const instances = [
    { api: await reservedPort(), ops: await reservedPort() },
    { api: await reservedPort(), ops: await reservedPort() },
  ] as const
  const { certificatePem, keyPem } = await makeServerCertificate(name)
  writeFileSync(join(folder, 'moorage.crt'), certificatePem)
  writeFileSync(join(folder, 'moorage.key'), keyPem, { mode: 0o600 })
  writeFileSync(join(folder, 'moorage.pem'), certificatePem + keyPem, { mode: 0o600 })
  mkdirSync(join(folder, 'keys'), { mode: 0o700 })
  const databaseUrl = await migratedMysqlUrl()
  const start = ({ api, ops }: Instance): Promise<ServiceProcess> =>
    startServiceProcess({
      isBehindProxy: true,
      settings: {
        MOORAGE_DATABASE_URL: databaseUrl,
        MOORAGE_KEYRING: join(folder, 'keys', 'keyring.json'),
        MOORAGE_LISTEN: `127.0.0.1:${api}`,
        MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`,
        MOORAGE_BASE_URL: `https://127.0.0.1:${port}`,
        MOORAGE_TRUSTED_PROXIES: '127.0.0.1/32',
        MOORAGE_TLS: 'false',
        MOORAGE_DRAIN_SECONDS: '5',
        MOORAGE_LOG_FORMAT: 'json',
      },
    })
  const services = [await start(instances[0]), await start(instances[1])]
  const words = prepare({ folder, port, instances })
  const proxy = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [proxy.stdout, proxy.stderr]) stream.on('data', (text) => void (said += String(text)))
  const ended = once(proxy, 'exit')
  const dispatcher = new Agent({ connect: { ca: certificatePem }, localAddress: '127.0.0.9', bodyTimeout: 0 })
  t.teardown(async () => {
    await dispatcher.destroy()
    proxy.kill('SIGTERM')
    await ended
    for (const service of services) await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const base = `https://127.0.0.1:${port}`
  const basic = `Basic ${btoa(`${adminLogin}:${adminPassword}`)}`
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    authorization: string,
    body?: unknown,
    more: Readonly<Record<string, string>> = {},
  ) => {
    const reply = await request(`${base}${path}`, {
      method,
      dispatcher,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.body.text()
    return { status: reply.statusCode, text }
  }
  await until('the proxy', async () => {
    if (proxy.exitCode !== null) throw new Error(said)
    return send('GET', '/api/v1/version', basic).then(
      ({ status }) => (status === 200 ? true : undefined),
      () => undefined,
    )
  })
  const made = await send('POST', `/api/v1/users/${adminLogin}/tokens`, basic, { name: 'proxy', scopes: ['all'] })
  const token = (JSON.parse(made.text) as { readonly sha1: string }).sha1
  return { folder, base, instances, services, start, send, dispatcher, certificatePem, bearer: `Bearer ${token}` }
}

for (const proxy of proxies) {
  const test = needing(proxy.name, 'mariadb', 'kubernetes', 'kubelet', 'kubectl')

  test.serial(`${proxy.name}: watches, websockets and SPDY pass with the caller's address`, async (t) => {
    t.timeout(300_000)
    const fixture = await startFixture(t, proxy)
    const { send, bearer, base } = fixture
    const cluster = (await kubernetes())!
    const kubelet = await startStubKubelet(cluster)
    t.teardown(() => kubelet.stop())
    t.is((await send('POST', '/api/v1/orgs', bearer, { username: 'home' })).status, 201)
    const imported = await send('POST', '/api/v1/clustersv2/home/import', bearer, {
      basicInfo: { name: 'pier' },
      provider: { accessConfig: cluster.kubeconfig() },
    })
    t.is(imported.status, 200, imported.text)
    const config = await send('GET', '/api/v1/clusters/home/pier/client-config', bearer)
    const kubeconfig = join(fixture.folder, 'kubeconfig')
    const text = config.text.startsWith('"') ? (JSON.parse(config.text) as string) : config.text
    writeFileSync(
      kubeconfig,
      text.includes('certificate-authority-data')
        ? text
        : text.replace(
            /^( +)server: .*$/m,
            (line, indent: string) => `${line}\n${indent}certificate-authority-data: ${btoa(fixture.certificatePem)}`,
          ),
      { mode: 0o600 },
    )
    const namespace = await cluster.createNamespace()
    await kubelet.runPod(namespace, 'web')
    const kubectlPath = (await kubectl())!
    const protocols = [
      ['websocket', 'true'],
      ['SPDY', 'false'],
    ] as const
    for (const [protocol, isWebsocket] of protocols) {
      const exec = await runCommand(
        kubectlPath,
        ['--kubeconfig', kubeconfig, '-n', namespace, '-v=8', 'exec', '-i', 'web', '--', 'cat'],
        {
          input: 'ahoy\n'.repeat(10_000),
          timeoutMilliseconds: 60_000,
          environment: { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: isWebsocket },
        },
      )
      t.is(exec.stdout, 'ahoy\n'.repeat(10_000), exec.stderr.slice(-2_000))
      t.is(/^\s*Upgrade: SPDY/im.test(exec.stderr), protocol === 'SPDY')
    }

    const path = `/api/v1/clusters/home/pier/proxy/api/v1/namespaces/${namespace}/configmaps`
    const watch = await request(`${base}${path}?watch=true`, {
      dispatcher: fixture.dispatcher,
      headers: { authorization: bearer },
    })
    let seen = ''
    watch.body.on('error', () => undefined).on('data', (bytes) => void (seen += String(bytes)))
    await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'tide' } })
    t.true(await until('the event, while the stream is open', () => seen.includes('"tide"') || undefined))

    const forged = { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.8' }
    t.is((await send('GET', '/api/v1/user', bearer, undefined, forged)).status, 200)
    const lines = () => fixture.services.map((service) => service.stdout() + service.stderr()).join('')
    await until('the line of the log', () => /"ip":"127\.0\.0\.9"/.test(lines()) || undefined)
    t.notRegex(lines(), /"ip":"192\.0\.2\./)
  })

  test.serial(`${proxy.name}: instances restart in sequence without a failed request`, async (t) => {
    t.timeout(300_000)
    const { send, bearer, services, instances, start } = await startFixture(t, proxy)
    const failures: string[] = []
    const counts = { GET: 0, POST: 0 }
    let isOver = false
    const load = async (worker: number): Promise<void> => {
      for (let round = 0; !isOver; round += 1) {
        const method = round % 4 === 0 ? 'POST' : 'GET'
        const wanted = method === 'POST' ? 201 : 200
        try {
          const { status, text } =
            method === 'POST'
              ? await send('POST', '/api/v1/orgs', bearer, { username: `org-${worker}-${round}` })
              : await send('GET', '/api/v1/user', bearer)
          counts[method] += 1
          if (status !== wanted) failures.push(`${method}: ${status} ${text.slice(0, 200)}`)
        } catch (error) {
          failures.push(`${method}: ${String(error)}`)
        }
      }
    }
    const workers = Array.from({ length: 4 }, (_, worker) => load(worker))
    for (const [index, instance] of instances.entries()) {
      const before = counts.GET
      services[index]!.signal('SIGTERM')
      t.is(await services[index]!.exited, 0)
      t.true(counts.GET > before)
      services[index] = await start(instance)
      const { ops } = instance
      await until('readiness', async () =>
        (await request(`http://127.0.0.1:${ops}/readyz`)).statusCode === 200 ? true : undefined,
      )
      // The proxy asks once a second, or tries again after two.
      const answered = () => /"operation":"[^"]*"/.test(services[index]!.stdout() + services[index]!.stderr())
      await until('its first request', () => answered() || undefined)
    }
    isOver = true
    await Promise.all(workers)
    t.deepEqual(failures, [])
    t.log(counts)
    t.true(counts.GET > 100 && counts.POST > 25, JSON.stringify(counts))
    const orgs = await send('GET', '/api/v1/user/orgs?limit=50&page=1', bearer)
    t.is(orgs.status, 200)
  })
}
