import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The last step of `npm run build`: files that modules read beside themselves go where the compiled modules are. */
const root = fileURLToPath(new URL('..', import.meta.url))

for (const layer of ['core', 'adapters', 'plugins', 'composition']) {
  for (const name of readdirSync(join(root, layer), { recursive: true, encoding: 'utf8' })) {
    if (/\.(txt|css|html|svg|json|yaml)$/.test(name)) cpSync(join(root, layer, name), join(root, 'dist', layer, name))
  }
}
