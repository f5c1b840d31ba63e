import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `npm run part NAME` lists every file of a part, in all layers. */
const root = fileURLToPath(new URL('../../..', import.meta.url))
const layers = ['core', 'adapters', 'plugins', 'composition', 'test']
const files = globSync(`{${layers.join()}}/**/*.*`, { cwd: root })
  .filter((path) => !path.includes('/fixtures/'))
  .sort()

/**
 * The names of the folders that make a file one of a part: the first two below the layer, since a part may be in the
 * folder of a larger one; in adapters, which are named by technology, any.
 */
const foldersOf = (path: string): readonly string[] => {
  const [layer, ...folders] = path.split('/').slice(0, -1)
  if (layer === 'composition') return folders[0] === 'parts' ? folders.slice(1) : []
  return layer === 'adapters' ? folders : folders.slice(0, 2)
}

/** Reports whether a file belongs to a part: a folder of its name, or its value. */
const isOf = (part: string, path: string): boolean =>
  foldersOf(path).includes(part) || (path.startsWith('composition/parts/') && path.endsWith(`/${part}.ts`))

const part = process.argv[2]
const found = part === undefined ? [] : files.filter((path) => isOf(part, path))
if (found.length > 0) process.stdout.write(`${found.join('\n')}\n`)
else {
  const parts = [
    ...new Set(files.filter((path) => /^(core|plugins)\/[\w-]+\//.test(path)).map((path) => path.split('/')[1])),
  ].sort()
  process.stderr.write(
    `${part === undefined ? 'Usage: npm run part NAME' : `There is no part ${part}`}. Parts: ${parts.join(', ')}\n`,
  )
  process.exitCode = part === undefined ? 2 : 1
}
