import { createHash } from 'node:crypto'
import { readdir, readFile, statfs } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached, cacheFolder } from './cache-folder.ts'
import { withProgress, type Say } from './progress.ts'
import { findExecutable, isExecutable, runCommand } from './run-command.ts'

const sources = fileURLToPath(new URL('../kubernetes-assets/', import.meta.url))
/** Must be the version of k8s.io/kubernetes in kubernetes-assets/go.mod: a library build knows no version itself. */
const kubernetesVersion = '1.34.2'
const neededDiskBytes = 4e9
const goFolders = ['/usr/local/go/bin', '/usr/lib/go/bin']

/** A command of test/support/kubernetes-assets. */
export type GoAsset = 'kube-apiserver' | 'etcd' | 'kubectl' | 'stub-kubelet'

/** The path of the command `go`. */
export function findGo(): string {
  const go = findExecutable('go', goFolders)
  if (go === undefined) throw new Error('the command "go" was not found')
  return go
}

/** The path of the command, built with Go on first use (minutes) and kept in the cache. */
export async function goBuilt(asset: GoAsset, say: Say): Promise<string> {
  const folder = await cached(`${asset}-${await digestOf(asset)}`, (making) => build(asset, making, say))
  const path = join(folder, asset)
  if (!isExecutable(path)) throw new Error(`${path} is not an executable; delete ${folder} and run again`)
  return path
}

/** True when `goBuilt` would answer at once. */
export async function isGoBuilt(asset: GoAsset): Promise<boolean> {
  return isExecutable(join(cacheFolder(), `${asset}-${await digestOf(asset)}`, asset))
}

async function build(asset: GoAsset, into: string, say: Say): Promise<void> {
  const [major, minor] = kubernetesVersion.split('.')
  const version = 'k8s.io/component-base/version'
  const flags = [
    '-s',
    '-w',
    `-X ${version}.gitVersion=v${kubernetesVersion}`,
    `-X ${version}.gitMajor=${major}`,
    `-X ${version}.gitMinor=${minor}`,
  ]
  await goBuild(
    {
      name: asset,
      version: kubernetesVersion,
      neededGo: '1.24',
      neededDiskBytes,
      sources,
      target: `./${asset}`,
      linkerFlags: flags,
      output: join(into, asset),
    },
    say,
  )
}

export interface GoBuild {
  readonly name: string
  readonly version: string
  /** The least version of Go, for messages. */
  readonly neededGo: string
  /** What Go's caches may take. */
  readonly neededDiskBytes: number
  /** The folder with go.mod and go.sum, which pin everything that is fetched. */
  readonly sources: string
  /** The package to build. */
  readonly target: string
  readonly linkerFlags: readonly string[]
  readonly output: string
}

/** Builds one command, without C and without anything of this machine in it. */
export async function goBuild(wanted: GoBuild, say: Say): Promise<void> {
  const { name, neededGo } = wanted
  const go = findExecutable('go', goFolders)
  if (go === undefined) {
    throw new Error(
      `${name} is not on this machine and cannot be built: the command "go" (Go ${neededGo} or newer) was not found`,
    )
  }
  const disk = await statfs(cacheFolder())
  const freeBytes = disk.bavail * disk.bsize
  if (freeBytes < wanted.neededDiskBytes) {
    throw new Error(
      `building ${name} needs about ${wanted.neededDiskBytes / 1e9} GB of disk for Go's caches; ${cacheFolder()} has ${(freeBytes / 1e9).toFixed(1)} GB`,
    )
  }
  const command = [
    'build',
    '-trimpath',
    '-buildvcs=false',
    '-mod=readonly',
    '-p',
    String(availableParallelism()),
    '-ldflags',
    wanted.linkerFlags.join(' '),
    '-o',
    wanted.output,
    wanted.target,
  ]
  const nice = findExecutable('nice')
  await withProgress(
    say,
    `building ${name} ${wanted.version} with Go (once; minutes when Go's cache is empty)`,
    async () => {
      const [file, args] = nice === undefined ? [go, command] : [nice, ['-n', '10', go, ...command]]
      const environment = { ...process.env, GOFLAGS: '', GOWORK: 'off', CGO_ENABLED: '0' }
      const result = await runCommand(file, args, { cwd: wanted.sources, environment })
      if (result.status !== 0) {
        throw new Error(
          `building ${name} with ${go} failed; it needs Go ${neededGo} or newer and a Go module proxy that answers:\n${result.stderr}`,
        )
      }
    },
  )
}

async function digestOf(asset: GoAsset): Promise<string> {
  const own = (await readdir(join(sources, asset))).filter((name) => name.endsWith('.go')).sort()
  const hash = createHash('sha256').update(kubernetesVersion)
  for (const name of ['go.mod', 'go.sum', ...own.map((each) => join(asset, each))]) {
    hash.update(name).update(await readFile(join(sources, name)))
  }
  return hash.digest('hex').slice(0, 12)
}
