// process: own - starts the service as the first process of a container
import { execFile, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { request } from 'undici'
import { releaseVersion } from '../../core/platform/version.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import { programOf } from './programs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)
const test = needing('containers')

interface ImageConfiguration {
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly User: string
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly Labels: Readonly<Record<string, string>>
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly StopSignal: string
}

const mostBytes = 250_000_000

/** Mounts the image read-only with its data folder, and starts a command in it as the first process of its own tree. */
const enter = `set -e
mount --bind "$IMAGE" "$IMAGE"
mount --bind "$DATA" "$IMAGE/data"
mount -t proc proc "$IMAGE/proc"
mount --bind /dev "$IMAGE/dev"
mount -o remount,bind,ro "$IMAGE"
chroot=$(command -v chroot)
image=$IMAGE
unset IMAGE DATA
exec "$chroot" --userspec="$OWNER" "$image" "$@"
`

test('the image has no shell, no root and a read-only file system', async (t) => {
  t.timeout(1_800_000)
  if (process.getuid?.() !== 0)
    return t.fail('Images are built as root here. Switch the test off with --without containers.')
  const buildah = await programOf('buildah', 'buildah', 'mmdebstrap')
  await programOf('mmdebstrap')
  // Not in memory: each layer is a copy of the whole image.
  const folder = mkdtempSync('/var/tmp/moorage-image-')
  const storage = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--storage-driver=vfs']
  t.teardown(async () => {
    await execute(buildah, [...storage, 'rm', '--all']).catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  const environment = { ...process.env, BUILDAH_OPTIONS: storage.join(' '), TMPDIR: folder, NODE_OPTIONS: '' }
  const run = (file: string, ...words: readonly string[]) =>
    execute(file, words, { cwd: root, env: environment, maxBuffer: 64_000_000 })
  await run('sh', 'deploy/container/base-images.sh')
  const build = [
    'build',
    '--isolation=chroot',
    '--format=docker',
    '--layers=false',
    '-f',
    'deploy/container/Containerfile',
  ]
  const bases = [
    'BUILD_IMAGE=localhost/moorage-build',
    'BASE_IMAGE=localhost/moorage-base',
    `VERSION=${releaseVersion}`,
  ]
  const cache = (await run('npm', 'config', 'get', 'cache')).stdout.trim()
  await run(
    buildah,
    ...storage,
    ...build,
    ...bases.flatMap((one) => ['--build-arg', one]),
    ...['-v', `${cache}:/root/.npm`, '-t', 'moorage', '.'],
  )
  const inspected = await run(buildah, ...storage, 'inspect', '--type=image', 'moorage')
  const { config } = (JSON.parse(inspected.stdout) as { readonly Docker: { readonly config: ImageConfiguration } })
    .Docker
  t.like(config, { User: '65532:65532', Cmd: ['serve'], StopSignal: 'SIGTERM', Volumes: { '/data': {} } })
  t.is(config.Labels['org.opencontainers.image.version'], releaseVersion)

  const archive = join(folder, 'archive')
  await run(buildah, ...storage, 'push', '--compression-format=gzip', 'moorage', `dir:${archive}`)
  const { stdout: size } = await run('du', '-sb', archive)
  t.true(Number.parseInt(size) < mostBytes, `${size.trim()} bytes compressed`)
  t.log(`${Math.round(Number.parseInt(size) / 1e6)} MB compressed`)

  const container = (await run(buildah, ...storage, 'from', '--pull-never', 'localhost/moorage')).stdout.trim()
  const image = (await run(buildah, ...storage, 'mount', container)).stdout.trim()
  const programs = readdirSync(image, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /^(sh|bash|dash|busybox|apt|apt-get|dpkg|npm|perl|env)$/.test(entry.name),
  )
  t.deepEqual(
    programs.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !path.includes('/node_modules/')),
    [],
  )
  for (const name of ['proc', 'dev']) mkdirSync(join(image, name), { recursive: true })
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, 65_532, 65_532)

  const [api, ops] = [await reservedPort(), await reservedPort()]
  const inside = {
    ...Object.fromEntries(config.Env.map((one) => [one.split('=')[0], one.slice(one.indexOf('=') + 1)])),
    MOORAGE_LISTEN: `127.0.0.1:${api}`,
    MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`,
    MOORAGE_DRAIN_SECONDS: '0',
  }
  const into = (...command: readonly string[]) =>
    spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'enter', ...command], {
      env: {
        ...inside,
        IMAGE: image,
        DATA: data,
        OWNER: config.User,
        PATH: `${inside['PATH']}:/usr/sbin:/usr/bin:/sbin:/bin`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const exitOf = (child: ReturnType<typeof into>) =>
    new Promise<number | string>((resolve) =>
      child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
    )
  const health = () => exitOf(into(...config.Healthcheck.Test.slice(1)))

  t.not(await health(), 0)
  const service = into(...config.Entrypoint, ...config.Cmd)
  let said = ''
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (text) => void (said += String(text)))
  const exited = exitOf(service)
  t.teardown(() => void service.kill('SIGKILL'))
  await Promise.race([until('the service', () => /Health +\S+/.test(said) || undefined), exited])
  const version = await request(`http://127.0.0.1:${api}/api/v1/version`)
  t.deepEqual(await version.body.json(), { version: releaseVersion }, said)
  t.regex(said, /"pid":1,/)
  await until('the helm of the image', () => /"path":"\/opt\/helm\/current\/helm"/.test(said) || undefined)
  t.is(await health(), 0)
  const first = Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').trim().split(' ')[0])
  process.kill(first, 'SIGTERM')
  t.is(await exited, 0, said)
})
