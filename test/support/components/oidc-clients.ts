import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from './cache-folder.ts'
import { goBuild } from './go-build.ts'
import { sayOnStderr, type Say } from './progress.ts'

const assets = fileURLToPath(new URL('../client-assets/', import.meta.url))
const modules = { kubelogin: 'github.com/int128/kubelogin', 'oauth2-proxy': 'github.com/oauth2-proxy/oauth2-proxy/v7' }
const neededDiskBytes = 2e9

/**
 * Returns the path of a program that signs people in with OpenID Connect. It is built with Go on first use (a minute)
 * and kept in the cache. The folders of test/support/client-assets pin the versions.
 */
export async function findOidcClient(name: keyof typeof modules, say: Say = sayOnStderr): Promise<string> {
  const [sources, module] = [join(assets, name), modules[name]]
  const pins = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(sources, file), 'utf8')))
  const version = new RegExp(`${module} v(\\S+)`).exec(pins[0] ?? '')?.[1] ?? 'of an unknown version'
  const digest = createHash('sha256').update(pins.join('')).digest('hex').slice(0, 12)
  const folder = await cached(`${name}-${digest}`, (making) =>
    goBuild(
      {
        name,
        version,
        neededGo: '1.26.4',
        neededDiskBytes,
        sources,
        target: module,
        linkerFlags: ['-s', '-w'],
        output: join(making, name),
      },
      say,
    ),
  )
  return join(folder, name)
}
