import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Lays out the source files, or with `--check` names those that are laid out otherwise. Exit 1 when there are some. */
const files = ['{core,adapters,plugins,composition,test}/**/*.{ts,mjs,js}', '*.{js,cjs}', '!test/**/fixtures/**']
const mode = process.argv.includes('--check') ? '--list-different' : '--write'
const root = fileURLToPath(new URL('..', import.meta.url))
const oxfmt = `${root}node_modules/oxfmt/bin/oxfmt`
const run = spawnSync(process.execPath, [oxfmt, mode, '-c', 'test/arch/oxfmt.json', ...files], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = run.status ?? 1
