import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from './cache-folder.ts'
import { goBuild } from './go-build.ts'
import { sayOnStderr, type Say } from './progress.ts'

const sources = fileURLToPath(new URL('../vitess-assets/', import.meta.url))
const module = 'vitess.io/vitess'
const neededDiskBytes = 3e9

/**
 * The path of the program of test/support/vitess-assets, which plans statements with vtexplain of Vitess. It is built
 * with Go on first use (minutes) and kept in the cache.
 */
export async function findStatementPlanner(say: Say = sayOnStderr): Promise<string> {
  const files = await Promise.all(
    ['go.mod', 'go.sum', 'plan-statements/main.go'].map((name) => readFile(join(sources, name), 'utf8')),
  )
  const version = new RegExp(`${module} v(\\S+)`).exec(files[0] ?? '')?.[1] ?? 'of an unknown version'
  const digest = createHash('sha256').update(files.join('')).digest('hex').slice(0, 12)
  const folder = await cached(`vitess-plan-statements-${digest}`, (making) =>
    goBuild(
      {
        name: 'vtexplain',
        version,
        neededGo: '1.26.8',
        neededDiskBytes,
        sources,
        target: './plan-statements',
        linkerFlags: ['-s', '-w'],
        output: join(making, 'plan-statements'),
      },
      say,
    ),
  )
  return join(folder, 'plan-statements')
}
