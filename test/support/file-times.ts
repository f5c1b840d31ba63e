import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kindOf } from './test-files.ts'

/** Where a run leaves the times of its test files; the next run starts the longest of them first. */
const timesFile = join(fileURLToPath(new URL('../..', import.meta.url)), 'node_modules', '.cache', 'test-times.jsonl')

/** One test file of a run; seconds. */
export interface FileTime {
  readonly file: string
  readonly wallSeconds: number
  /** User and system time of the process of the file, and of the processes that it waited for. */
  readonly own: number
  readonly children: number
  /** What was still open when the tests had ended, such as `Timeout`. */
  readonly leftOpen: readonly string[]
}

/** A line of a run: a file has begun, or has ended. */
export type FileLine = { readonly begun: string } | FileTime

const readLines = (path: string): readonly FileLine[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as FileLine)
    : []

export const readFileTimes = (path: string = timesFile): readonly FileTime[] =>
  readLines(path).filter((line) => 'file' in line)

/** Returns the files of a run that have begun and not ended, from the lines at `path`. */
export const filesUnderWay = (path: string): readonly string[] => {
  const lines = readLines(path)
  const ended = new Set(lines.map((line) => ('file' in line ? line.file : '')))
  return lines.flatMap((line) => ('begun' in line && !ended.has(line.begun) ? [line.begun] : []))
}

/** Returns the seconds that each file took when it last ran. */
export const lastSeconds = (): ReadonlyMap<string, number> =>
  new Map(readFileTimes().map(({ file, wallSeconds }) => [file, wallSeconds]))

/**
 * Runs `work`, whose test files append their times to the path that it gets. Returns these; the last times of other
 * files are kept.
 */
export const withFileTimes = async <A>(
  work: (path: string) => Promise<A>,
): Promise<{ readonly result: A; readonly times: readonly FileTime[] }> => {
  const path = `${timesFile}.${process.pid}`
  mkdirSync(dirname(timesFile), { recursive: true })
  try {
    const result = await work(path)
    const times = readFileTimes(path)
    const measured = new Set(times.map(({ file }) => file))
    const all = [...times, ...readFileTimes().filter(({ file }) => !measured.has(file))]
    writeFileSync(`${path}.all`, all.map((each) => `${JSON.stringify(each)}\n`).join(''))
    renameSync(`${path}.all`, timesFile)
    return { result, times }
  } finally {
    rmSync(path, { force: true })
  }
}

/** The ten longest files, the sum of each kind, and the files that left something open. */
export const describeFileTimes = (times: readonly FileTime[]): string => {
  const cpu = ({ own, children }: FileTime): number => own + children
  const byWall = times.toSorted((one, other) => other.wallSeconds - one.wallSeconds).slice(0, 10)
  const kinds = [...Map.groupBy(times, ({ file }) => kindOf(file))]
    .map(([kind, of]) => ({
      kind,
      files: of.length,
      wall: sum(of.map(({ wallSeconds }) => wallSeconds)),
      cpu: sum(of.map(cpu)),
    }))
    .toSorted((one, other) => other.cpu - one.cpu)
  const open = times.filter(({ leftOpen }) => leftOpen.length > 0)
  return [
    '',
    'The ten longest test files (seconds, and seconds of CPU):',
    ...byWall.map((each) => `${seconds(each.wallSeconds)} ${seconds(cpu(each))}  ${each.file}`),
    '',
    'By kind (seconds, seconds of CPU, files):',
    ...kinds.map(
      (each) => `${seconds(each.wall)} ${seconds(each.cpu)} ${String(each.files).padStart(5)}  ${each.kind}`,
    ),
    `${seconds(sum(kinds.map(({ wall }) => wall)))} ${seconds(sum(kinds.map((each) => each.cpu)))} ${String(times.length).padStart(5)}  all`,
    ...(open.length === 0
      ? []
      : [
          '',
          'Files that left something open after their last test:',
          ...open.map(({ file, leftOpen }) => `  ${file}: ${leftOpen.join(', ')}`),
        ]),
    '',
    `All of them: ${timesFile.slice(timesFile.indexOf('node_modules'))}`,
    '',
  ].join('\n')
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

const seconds = (value: number): string => value.toFixed(1).padStart(8)
