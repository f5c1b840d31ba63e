import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Lays out the source files, or with `--check` names those that are laid out otherwise. Exit 1 when there are some. */
const files = ['{core,adapters,plugins,composition,test}/**/*.{ts,mjs,js}', '*.{js,cjs}', '!test/**/fixtures/**']
const mode = process.argv.includes('--check') ? '--check' : '--write'
const root = fileURLToPath(new URL('..', import.meta.url))
const prettier = `${root}node_modules/prettier/bin/prettier.cjs`
const cached = ['--cache', '--cache-location', 'node_modules/.cache/layout', '--log-level', 'warn']
const run = spawnSync(process.execPath, [prettier, mode, ...cached, ...files], { cwd: root, stdio: 'inherit' })
process.exitCode = run.status ?? 1
