import { componentNames, components, type ComponentName } from './names.ts'

/** What can be left out of a run by name: the static checks, and each real component. */
const switchNames = ['static', ...componentNames] as const
type SwitchName = 'static' | ComponentName

const parts = ['static', 'components', 'tests'] as const
type RunPart = (typeof parts)[number]

/** What `--mysql` takes: the release of MySQL. */
const mysqlReleases = ['8', '9'] as const

export interface RunArguments {
  readonly without: readonly SwitchName[]
  readonly only: RunPart | undefined
  /** `slow`: the slow test files alone. `changed`: those that the difference to a commit can touch. */
  readonly selection:
    | { readonly kind: 'all' }
    | { readonly kind: 'slow' }
    | { readonly kind: 'changed'; readonly since: string }
  /** The tests that use MariaDB use this release of MySQL instead. */
  readonly mysql: (typeof mysqlReleases)[number] | undefined
  /** Passed to ava as they are; empty means every test file of the selection. */
  readonly patterns: readonly string[]
}

export type ParsedArguments =
  | { readonly kind: 'run'; readonly run: RunArguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly reason: string }

/** Reads the command line of the test runner. */
export function parseRunArguments(args: readonly string[]): ParsedArguments {
  const without: SwitchName[] = []
  const patterns: string[] = []
  let only: RunPart | undefined
  let mysql: RunArguments['mysql']
  let selection: RunArguments['selection'] = { kind: 'all' }
  const left = args.flatMap((each) =>
    /^--[a-z]+=/.test(each) ? [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)] : [each],
  )
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    if (next === '--help' || next === '-h') return { kind: 'help' }
    if (next === '--without') {
      const name = left.shift() ?? ''
      if (!isOneOf(switchNames, name))
        return refused(`--without takes one of: ${switchNames.join(', ')}; "${name}" is none of them`)
      without.push(name)
    } else if (next === '--only') {
      const part = left.shift() ?? ''
      if (!isOneOf(parts, part)) return refused(`--only takes one of: ${parts.join(', ')}; "${part}" is none of them`)
      only = part
    } else if (next === '--mysql') {
      const release = left.shift() ?? ''
      if (!isOneOf(mysqlReleases, release)) return refused(`--mysql takes ${mysqlReleases.join(' or ')}`)
      mysql = release
    } else if (next === '--slow') {
      selection = { kind: 'slow' }
    } else if (next === '--changed') {
      selection = { kind: 'changed', since: 'HEAD' }
    } else if (next === '--since') {
      const since = left.shift() ?? ''
      if (!/^[\w.~^/@-]+$/.test(since) || since.startsWith('-')) return refused('--since must be followed by a commit')
      selection = { kind: 'changed', since }
    } else if (next.startsWith('-')) {
      return refused(`unknown option ${next}; --help tells what there is`)
    } else {
      patterns.push(next)
    }
  }
  if (selection.kind !== 'all' && patterns.length > 0)
    return refused('name test files, or a selection (--slow, --changed), not both')
  return { kind: 'run', run: { without, only, selection, mysql, patterns } }
}

/** What `--help` prints. */
export function helpText(): string {
  const width = Math.max(...switchNames.map((name) => name.length)) + 2
  const lines = componentNames.map((name) => `  ${name.padEnd(width)}${components[name].what}`)
  return `Runs the checks and tests of this repository against real components.

  npm test                                  everything: type check, lint, components, tests
  npm test -- test/authz/*.test.ts          these test files only, without the static checks;
                                            a component starts when a file first asks for it
  npm test -- --changed                     the test files that your uncommitted changes can touch, by their imports
  npm test -- --since main                  the same for all changes since that commit
  npm test -- --slow                        life cycles, faults, races, the fresh clone and generated clients alone
  npm test -- --without kubernetes          everything else; the tests that need it are skipped and counted
  npm test -- --only components             fetch or build the components and start each once

Options
  --without NAME    leave something out; may be given several times
  --only PART       static (types, lint, layout, unused code), components, or tests
  --slow            the slow test files only
  --mysql RELEASE   the tests that use MariaDB use MySQL instead: 8 or 9
  --changed         the test files that import something that differs from the last commit
  --since COMMIT    the test files that import something that differs from COMMIT
  --help            this text

Names for --without
  ${'static'.padEnd(width)}types, lint, layout and unused code
${lines.join('\n')}

Components are taken from this machine where it has them, else fetched or built once and kept in
MOORAGE_TEST_CACHE (by default the folder moorage-test of the user's cache folder). The usual envtest
variables (KUBEBUILDER_ASSETS, TEST_ASSET_KUBE_APISERVER, TEST_ASSET_ETCD, TEST_ASSET_KUBECTL) are honoured.

The times of the test files are kept in node_modules/.cache/test-times.jsonl; the ten longest are printed.
What else is kept there is in docs/testing.md. It may be removed at any time.
One file alone also runs with: npx ava test/authz/role-rules.test.ts
Exit status: 0 all passed, 1 something failed or nothing ran, 2 the arguments were not understood.
`
}

function refused(reason: string): ParsedArguments {
  return { kind: 'refused', reason }
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name)
}
