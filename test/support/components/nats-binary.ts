import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from './cache-folder.ts'
import { goBuild } from './go-build.ts'
import { sayOnStderr, withProgress, type Say } from './progress.ts'
import { findExecutable, mustRun, runCommand } from './run-command.ts'

const sources = fileURLToPath(new URL('../nats-assets/', import.meta.url))
const module = 'github.com/nats-io/nats-server/v2'
const neededDiskBytes = 1e9
/** From here on the websocket takes a pass from its cookie in operator mode. */
const oldestMinor = 10
const help = 'install nats-server 2.10 or newer, or Go, or switch these tests off with --without nats'

/**
 * A nats-server that is new enough: on PATH, else built with Go (minutes, once), else Debian's package, unpacked into
 * the cache.
 */
export async function findNatsServer(say: Say = sayOnStderr): Promise<string> {
  const reasons: string[] = []
  for (const way of [onThisMachine, () => built(say), () => fromDebian(say)]) {
    try {
      const path = await way()
      const objection = path === undefined ? 'nats-server is not on PATH' : await objectionTo(path)
      if (path !== undefined && objection === undefined) return path
      reasons.push(objection ?? '')
    } catch (cause) {
      reasons.push(cause instanceof Error ? cause.message : String(cause))
    }
  }
  throw new Error(`${help}:\n${reasons.join('\n')}`)
}

const onThisMachine = () => Promise.resolve(findExecutable('nats-server', ['/usr/sbin', '/usr/local/sbin']))

async function built(say: Say): Promise<string> {
  const pins = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(sources, name), 'utf8')))
  const version = new RegExp(`${module} v(\\S+)`).exec(pins[0] ?? '')?.[1] ?? 'of an unknown version'
  const digest = createHash('sha256').update(pins.join('')).digest('hex').slice(0, 12)
  const folder = await cached(`nats-server-${digest}`, (making) =>
    goBuild(
      {
        name: 'nats-server',
        version,
        neededGo: '1.25',
        neededDiskBytes,
        sources,
        target: module,
        linkerFlags: ['-s', '-w'],
        output: join(making, 'nats-server'),
      },
      say,
    ),
  )
  return join(folder, 'nats-server')
}

async function fromDebian(say: Say): Promise<string> {
  const apt = findExecutable('apt-get')
  if (apt === undefined) throw new Error('there is no apt-get')
  const folder = await cached('nats-server-debian', (making) =>
    withProgress(say, 'fetching nats-server', async () => {
      const download = () => runCommand(apt, ['download', 'nats-server'], { cwd: making })
      // The lists of a machine that was just made are missing or old; only root can fetch them.
      if ((await download()).status !== 0) {
        await runCommand(apt, ['update'])
        await mustRun(apt, ['download', 'nats-server'], { cwd: making })
      }
      for (const file of (await readdir(making)).filter((name) => name.endsWith('.deb')))
        await mustRun('dpkg', ['-x', join(making, file), making])
    }),
  )
  return join(folder, 'usr/sbin/nats-server')
}

/** Why this nats-server will not do, or `undefined`. */
async function objectionTo(path: string): Promise<string | undefined> {
  const { stdout } = await runCommand(path, ['--version'], { timeoutMilliseconds: 20_000 })
  const [, major, minor] = /v?(\d+)\.(\d+)\.\d+/.exec(stdout) ?? []
  if (major === undefined) return `${path} does not say which version it is`
  return Number(major) === 2 && Number(minor) >= oldestMinor
    ? undefined
    : `${path} is version ${major}.${minor}; 2.${oldestMinor} or newer is needed`
}
