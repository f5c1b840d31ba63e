import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/*
 * ava gives each test file a process. For most files its start, the load of the modules and the first pass of each
 * function cost more than the tests. In a whole run these files are therefore imported by a few others, which are
 * written to `sharedFolder`.
 */

/** Is not part of the repository. */
const sharedFolder = 'test/shared-processes'

/** What a test file needs: a process of its own, one with others that wait for components, or one with any others. */
export type ProcessNeed = 'own' | 'waiting' | 'computing'

const directive = /^\/\/ process: (own|waiting) - \S/

/**
 * Returns what a test file needs, by its first line: `// process: own - kills the service`, or `waiting` in the place
 * of `own` for a file that uses components or runs programs. A file without such a line computes. Throws for another
 * form or place of the line. The lint rule `moorage/process` finds a file that must have the line and has it not.
 */
export const processNeedOf = (file: string, text: string): ProcessNeed => {
  const [first = '', ...others] = text.split('\n')
  const need = directive.exec(first)?.[1] as ProcessNeed | undefined
  const isWrong = (line: string): boolean => /^\s*\/\/ *process *:/i.test(line)
  if ((need === undefined && isWrong(first)) || others.some(isWrong))
    throw new Error(`${file}: the first line is "// process: own - REASON" or "// process: waiting - REASON"`)
  return need ?? 'computing'
}

/** So many files that a shared process takes about 10 to 20 seconds of CPU. Files that wait take longer. */
const filesInOne = { computing: 18, waiting: 5 }

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
  const needs = testFiles.map((file) => [file, processNeedOf(file, read(file))] as const)
  const thatAre = (wanted: ProcessNeed): readonly string[] =>
    needs.flatMap(([file, need]) => (need === wanted ? [file] : [])).sort()
  const [computes, waits] = [thatAre('computing'), thatAre('waiting')]
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
