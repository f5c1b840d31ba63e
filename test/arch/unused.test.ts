// process: own - changes its process, or keeps it busy
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test from 'ava'

// `npm test` runs knip over the tree as two steps of its own; here only what keeps those steps honest.
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

interface Named {
  readonly name: string
}

interface FileIssues {
  readonly file: string
  readonly files: readonly Named[]
  readonly dependencies: readonly Named[]
  readonly exports: readonly Named[]
  readonly types: readonly Named[]
}

/** Returns what knip finds in the fixture, as `kind name`. */
const found = async (...mode: readonly string[]): Promise<readonly string[]> => {
  const knip = at('../../node_modules/knip/bin/knip.js')
  const args = [knip, '--config', at('knip.config.js'), '--no-config-hints', '--reporter', 'json', ...mode]
  const output = await new Promise<string>((resolve) =>
    // Ends with status 1 when it finds something.
    execFile(process.execPath, args, { cwd: at('fixtures/unused') }, (_, stdout) => resolve(stdout)),
  )
  const { issues } = JSON.parse(output) as { readonly issues: readonly FileIssues[] }
  return issues
    .flatMap(({ files, dependencies, exports, types }) =>
      Object.entries({ files, dependencies, exports, types }).flatMap(([kind, all]) =>
        all.map(({ name }) => `${kind} ${name}`),
      ),
    )
    .sort()
}

test('files, dependencies and exports that nothing uses are found', async (t) => {
  t.deepEqual(await found(), ['dependencies semver', 'exports onlyHere', 'files core/tide/orphan.ts'])
})

test('exports for tests need a tag, and types of core need a signature', async (t) => {
  t.deepEqual(await found('--production'), [
    'dependencies semver',
    'exports onlyHere',
    'exports onlyTested',
    'files core/tide/orphan.ts',
    'types NotInASignature',
  ])
})
