import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached, cacheFolder } from './cache-folder.ts'
import { goBuilt, isGoBuilt } from './go-build.ts'
import { withProgress, type Say } from './progress.ts'
import { isExecutable, mustRun } from './run-command.ts'

/** The official test binaries; a download with another digest is not used. */
const official = {
  version: '1.34.1',
  sha256: 'c8500090806ed5ce4064eeeb2a5666476a5168c1f4ff0eadd54fe59b22c4baa7',
  site: 'https://github.com/kubernetes-sigs/controller-tools/releases/download',
}
const answerTimeoutMilliseconds = 10_000
const downloadTimeoutMilliseconds = 300_000

export type KubernetesBinary = 'etcd' | 'kube-apiserver' | 'kubectl'

/** What envtest users have set: a binary by its own variable, then a folder of them. */
export function envtestBinary(name: KubernetesBinary): string | undefined {
  const own = process.env[`TEST_ASSET_${name.toUpperCase().replaceAll('-', '_')}`]
  const folders = [process.env['KUBEBUILDER_ASSETS'], '/usr/local/kubebuilder/bin', officialFolder()]
  const candidates = [own, ...folders.map((folder) => (folder ? join(folder, name) : undefined))]
  return candidates.find((path) => path !== undefined && path !== '' && isExecutable(path))
}

/** etcd and kube-apiserver: as envtest finds them, else the official download, else built with Go. */
export async function findControlPlaneBinaries(say: Say): Promise<{ etcd: string; apiServer: string }> {
  const found = here()
  if (found !== undefined) return found
  const areBuilt = (await isGoBuilt('etcd')) && (await isGoBuilt('kube-apiserver'))
  if (!areBuilt && (await download(say))) {
    const downloaded = here()
    if (downloaded !== undefined) return downloaded
  }
  return { etcd: await goBuilt('etcd', say), apiServer: await goBuilt('kube-apiserver', say) }
}

function here(): { etcd: string; apiServer: string } | undefined {
  const etcd = envtestBinary('etcd')
  const apiServer = envtestBinary('kube-apiserver')
  return etcd === undefined || apiServer === undefined ? undefined : { etcd, apiServer }
}

function officialFolder(): string {
  return join(cacheFolder(), `envtest-${official.version}`)
}

async function download(say: Say): Promise<boolean> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false
  const name = `envtest-v${official.version}`
  try {
    await cached(`envtest-${official.version}`, async (making) => {
      await withProgress(say, `downloading the official ${name}`, async () => {
        const archive = join(making, 'archive.tar.gz')
        const content = await fetchBytes(`${official.site}/${name}/${name}-linux-amd64.tar.gz`)
        const digest = createHash('sha256').update(content).digest('hex')
        if (digest !== official.sha256) throw new Error(`its SHA-256 is ${digest}, expected ${official.sha256}`)
        await writeFile(archive, content)
        await mustRun('tar', ['-xzf', archive, '-C', making, '--strip-components=2'])
        await mustRun('rm', [archive])
      })
    })
    return true
  } catch (cause) {
    say(`no official binaries (${cause instanceof Error ? cause.message : String(cause)}); building them instead`)
    return false
  }
}

async function fetchBytes(url: string): Promise<Uint8Array> {
  const abort = new AbortController()
  const unanswered = setTimeout(() => abort.abort(new Error('no answer')), answerTimeoutMilliseconds)
  const unfinished = setTimeout(() => abort.abort(new Error('too slow')), downloadTimeoutMilliseconds)
  try {
    const response = await fetch(url, { signal: abort.signal })
    clearTimeout(unanswered)
    if (!response.ok) throw new Error(`status ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  } finally {
    clearTimeout(unanswered)
    clearTimeout(unfinished)
  }
}
