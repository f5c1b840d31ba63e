import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** Which test files a run consists of. Paths are relative to the root of the repository, with slashes. */

/**
 * Minutes of compilers, tools that load much, processes that are killed again and again, and the walk through every
 * part: a run of everything, or of what has changed, leaves them out.
 */
const onlySlow = [
  'test/authorization-server/kubernetes',
  'test/authorization-server/mod-auth-openidc',
  'test/authorization-server/processes',
  'test/authorization-server/real-clients',
  'test/backup/drill',
  'test/backup/faults/',
  'test/client-orgs/killed',
  'test/composition/installed-part.',
  'test/console/packages-in-chromium',
  'test/console/stories',
  'test/deployment/',
  'test/faults/killed-mail',
  'test/faults/killed-worker',
  'test/faults/log-backlog',
  'test/faults/stop-under-load',
  'test/fresh-clone/',
  'test/identity-providers/keycloak',
  'test/identity-providers/samba',
  'test/metering/running',
  'test/openapi/generated-clients',
  'test/openapi/returned-failures',
  'test/openapi/spectral',
  'test/packages/faults/killed-service',
  'test/packages/faults/stopped-service',
  'test/packages/faults/two-instances',
  'test/packages/life-cycle-helm3',
  'test/provisioning/testers',
  'test/races/access-memory',
  'test/rating/focus-validator',
  'test/rating/killed',
  'test/rating/oracle',
  'test/rating/ubl',
  'test/sql/mysql-releases',
  'test/tasks/crash',
  'test/usage/events/disk-full',
  'test/usage/months/disk-full',
  'test/usage/months/months-process',
  'test/vitess/planned',
  'test/walk/',
]

/** Life cycles, faults and races, which start processes, kill them and wait for them; and what a thorough run repeats. */
const slow = [
  ...onlySlow,
  'test/authz/access-memory',
  'test/authz/differential',
  'test/authz/metamorphic',
  'test/charts/as-helm',
  'test/charts/check-values',
  'test/charts/schema-references',
  'test/composition/command-process.',
  'test/composition/jobs.',
  'test/faults/',
  'test/inputs/',
  'test/matrix/',
  'test/packages/faults/',
  'test/packages/life-cycle',
  'test/quick-start/',
  'test/races/',
  'test/sql/mysql-crash',
  'test/sql/mysql-faults',
]

export const isSlow = (file: string): boolean => slow.some((start) => file.startsWith(start))

/** Whether a file runs only among the slow files, or when it is named. */
export const isOnlySlow = (file: string): boolean => onlySlow.some((start) => file.startsWith(start))

/** The part that a test file belongs to, for sums: the folder below `test`. */
export const kindOf = (file: string): string => file.split('/')[1] ?? file

/** Every tracked or new file of the repository. */
export const repositoryFiles = (root: string): readonly string[] =>
  lines(git(root, 'ls-files', '--cached', '--others', '--exclude-standard')).filter((file) =>
    existsSync(join(root, file)),
  )

export const testFilesOf = (files: readonly string[]): readonly string[] =>
  files.filter((file) => /^test\/.*\.test\.ts$/.test(file) && !/^test\/support\/|\/fixtures\//.test(file))

/** Files that differ from `base`, a commit; new files included. */
export const filesChangedSince = (root: string, base: string): readonly string[] => [
  ...new Set([
    ...lines(git(root, 'diff', '--name-only', base)),
    ...lines(git(root, 'ls-files', '--others', '--exclude-standard')),
  ]),
]

/**
 * The test files that a change can touch: those that import a changed file, directly or through others, and those that
 * name a changed file that is no module. A change of the packages or of the test runner touches all of them.
 */
export const testsTouchedBy = (
  root: string,
  changed: readonly string[],
  files: readonly string[] = repositoryFiles(root),
): readonly string[] => {
  const tests = testFilesOf(files)
  if (changed.some((file) => /^(?:package(?:-lock)?\.json|ava\.config\.js|tsconfig\.json|test\/run\.ts)$/.test(file)))
    return tests
  const importers = importersIn(root, files)
  const touched = new Set<string>(changed)
  // A set that grows while it is walked is walked to its new end.
  for (const file of touched) for (const importer of importers.get(file) ?? []) touched.add(importer)
  return tests.filter((file) => touched.has(file))
}

/**
 * Returns the test files that import a module by the fewest steps, at most four: those of its part, or of any part if
 * its own has none. Files that are slow are left out.
 */
export const nearestTests = (
  root: string,
  module: string,
  files: readonly string[] = repositoryFiles(root),
): readonly string[] => {
  const importers = importersIn(root, files)
  const nearest = (isNear: (test: string) => boolean): readonly string[] => {
    const seen = new Set([module])
    for (let level = [module]; level.length > 0;) {
      level = [...new Set(level.flatMap((file) => importers.get(file) ?? []))].filter((file) => !seen.has(file))
      for (const file of level) seen.add(file)
      const near = testFilesOf(level).filter((file) => !isSlow(file) && isNear(file))
      if (near.length > 0) return near.sort().slice(0, 4)
    }
    return []
  }
  const own = nearest((test) => kindOf(test) === kindOf(module))
  return own.length > 0 ? own : nearest(() => true)
}

/** Import, re-export, dynamic import, and a file named relative to its module. */
const reference = /(?:from\s+|import\s*\(?\s*|new URL\(\s*)'(\.{1,2}\/[^']+)'/g

/** For each file the modules that name it; a folder that a module names counts as each file in it. */
const importersIn = (root: string, files: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const importers = new Map<string, string[]>()
  const known = new Set(files)
  const add = (file: string, importer: string): void =>
    void (importers.get(file)?.push(importer) ?? importers.set(file, [importer]))
  for (const module of files.filter((file) => /\.(?:ts|mjs|js|cjs)$/.test(file))) {
    for (const [, named = ''] of readFileSync(join(root, module), 'utf8').matchAll(reference)) {
      const target = relative(root, resolve(root, dirname(module), named)).replaceAll('\\', '/')
      if (known.has(target)) add(target, module)
      // A whole layer that a module lists is no import: the tests of the tree run with everything anyway.
      else
        for (const file of files.filter((each) => target.split('/').length > 2 && each.startsWith(`${target}/`)))
          add(file, module)
    }
  }
  return importers
}

const git = (root: string, ...words: readonly string[]): string =>
  execFileSync('git', [...words], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })

/** Whether a word names a commit of the repository. */
export const isCommit = (root: string, word: string): boolean =>
  spawnSync('git', ['rev-parse', '--verify', '--quiet', `${word}^{commit}`], { cwd: root }).status === 0

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')
