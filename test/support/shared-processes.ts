import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/*
 * ava gives each test file a process. For most files its start, the load of the modules and the first pass of each function cost more than the
 * tests. In a whole run these files are therefore imported by a few others, which are written to `sharedFolder`.
 */

/** Is not part of the repository. */
const sharedFolder = 'test/shared-processes'

/** Parts whose tests are about the machine, processes and load, or long by themselves. */
const ownByFolder =
  /^test\/(?:arch|components|faults|fresh-clone|inputs|matrix|packages\/(?:faults\/|life-cycle-)|quick-start|tenants)/

/**
 * What a file may not do beside others: start a service as a process, end or change its own process, replace the clock,
 * act before each test, or use the context of tests, which is one for the process. Nor may it wait at its top level:
 * ava runs the tests once the files before it are loaded.
 */
const ownByText =
  /service-process|small-disk|from 'sinon'|process\.(?:chdir|exit|kill|on|once|umask)\(|process\.env\[|\.(?:before|after)Each\(|as TestFn<|needing<|^(?:(?:const|let) [^=\n]*= )?await /m

/** What makes the tests of a file wait for components and other processes. */
const waiting = /needing\(|node:child_process/

/**
 * What such a file may not do either: kill or cut off what it uses, or start an API server of its own, which computes
 * until the process ends.
 */
const ownIfWaiting = /\.kill\(|fault-proxy|ownServer: true/

/** So many files that a shared process takes about 10 to 20 seconds of CPU. Files that wait take longer. */
const filesInOne = { computing: 13, waiting: 4 }

export interface SharedProcess {
  /** The file that ava runs. */
  readonly path: string
  /** The test files that it imports. Their titles must differ from each other. */
  readonly members: readonly string[]
}

/** Returns which of the test files share a process; the others have one each. `read` returns the text of a file. */
export const sharedProcesses = (
  testFiles: readonly string[],
  read: (file: string) => string,
): readonly SharedProcess[] => {
  const texts = new Map(testFiles.map((file) => [file, read(file)]))
  const has = (file: string, what: RegExp): boolean => what.test(texts.get(file) ?? '')
  const sharing = testFiles
    .filter(
      (file) => !ownByFolder.test(file) && !has(file, ownByText) && !(has(file, waiting) && has(file, ownIfWaiting)),
    )
    .sort()
  const [computes, waits] = [
    sharing.filter((file) => !has(file, waiting)),
    sharing.filter((file) => has(file, waiting)),
  ]
  return [...inParts(computes, filesInOne.computing), ...inParts(waits, filesInOne.waiting)].map((members, index) => ({
    path: `${sharedFolder}/${String(index + 1).padStart(2, '0')}.test.ts`,
    members,
  }))
}

/** Parts of nearly the same size, `size` at most. Files of a folder stay together: they run the same code. */
const inParts = (files: readonly string[], size: number): readonly (readonly string[])[] => {
  const count = Math.ceil(files.length / size)
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.floor((index * files.length) / count), Math.floor(((index + 1) * files.length) / count)),
  )
}

/**
 * Divides `paths` into `count` rows that take nearly the same time: the longest goes first, always to the shortest row.
 */
export const inRows = (
  paths: readonly string[],
  count: number,
  secondsOf: (path: string) => number,
): readonly (readonly string[])[] => {
  const rows = Array.from({ length: count }, () => ({ paths: [] as string[], seconds: 0 }))
  for (const path of paths.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const shortest = rows.reduce((one, other) => (other.seconds < one.seconds ? other : one))
    shortest.paths.push(path)
    // A path without a time counts as a second, so that the rows get equally many of these.
    shortest.seconds += Math.max(1, secondsOf(path))
  }
  return rows.map((row) => row.paths)
}

/** Writes the files of shared processes. */
export const writeSharedProcesses = (root: string, shared: readonly SharedProcess[]): void => {
  mkdirSync(join(root, sharedFolder), { recursive: true })
  for (const { path, members } of shared) {
    const written = `${join(root, path)}.${process.pid}`
    writeFileSync(written, members.map((file) => `import '${relative(sharedFolder, file)}'\n`).join(''))
    renameSync(written, join(root, path))
  }
}

export const readFrom =
  (root: string) =>
  (file: string): string =>
    readFileSync(join(root, file), 'utf8')
