import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand, type CommandResult } from '../components/run-command.ts'

const keptAnswers = join(fileURLToPath(new URL('../../..', import.meta.url)), 'node_modules', '.cache', 'helm-template')

export interface TemplateInput {
  readonly archive: Uint8Array
  /** Values as JSON. */
  readonly values?: string
  /** Further words of the command line. */
  readonly words?: readonly string[]
}

/** The file of an answer: without a cluster, helm's answer depends on nothing but the program and its input. */
const placeOf = (command: string, release: string, { archive, values = '', words = [] }: TemplateInput): string => {
  const { size, mtimeMs } = statSync(command)
  return join(
    keptAnswers,
    hash(
      'sha256',
      JSON.stringify([command, size, mtimeMs, release, words, values, Buffer.from(archive).toString('base64')]),
    ),
  )
}

const keptAt = (place: string): CommandResult | undefined => {
  try {
    return JSON.parse(readFileSync(place, 'utf8')) as CommandResult
  } catch {
    return undefined
  }
}

const keep = (place: string, answer: CommandResult): void => {
  mkdirSync(dirname(place), { recursive: true })
  const written = `${place}.${process.pid}`
  writeFileSync(written, JSON.stringify(answer))
  renameSync(written, place)
}

/** Returns what `helm template` answers: from the last run if the program and the input are the same, else it runs. */
export const templateAnswer = async (
  command: string,
  release: string,
  input: TemplateInput,
): Promise<CommandResult> => {
  const place = placeOf(command, release, input)
  const kept = keptAt(place)
  if (kept !== undefined) return kept
  const { archive, values, words = [] } = input
  const folder = mkdtempSync(join(tmpdir(), 'moorage-template-'))
  try {
    writeFileSync(join(folder, 'chart.tgz'), archive)
    if (values !== undefined) writeFileSync(join(folder, 'values.json'), values)
    const answer = await runCommand(
      command,
      ['template', release, 'chart.tgz', ...(values === undefined ? [] : ['-f', 'values.json']), ...words],
      {
        cwd: folder,
        timeoutMilliseconds: 30_000,
        // A process of fifty milliseconds needs no garbage collector.
        environment: {
          GOGC: 'off',
          HOME: folder,
          HELM_CACHE_HOME: folder,
          HELM_CONFIG_HOME: folder,
          HELM_DATA_HOME: folder,
        },
      },
    )
    // An answer without a status is none: the process was ended.
    if (answer.status !== undefined) keep(place, answer)
    return answer
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Renders an archive with values as JSON; answers what helm printed, or the words of its error. */
export const helmTemplate = async (
  command: string,
  archive: Uint8Array,
  values: string,
): Promise<{ readonly manifest: string } | { readonly error: string }> => {
  const { status, stdout, stderr } = await templateAnswer(command, 'release', {
    archive,
    values,
    words: ['--skip-schema-validation'],
  })
  return status === 0 ? { manifest: stdout } : { error: stderr }
}

/** A template that prints the values of its own chart as JSON, after the chart's name. */
export const tellValues = '---\nvalues: {{ .Values | toJson | b64enc }}\n'

/** What `tellValues` printed, by the path of the template. */
export const toldValues = (manifest: string): ReadonlyMap<string, unknown> =>
  new Map(
    [...manifest.matchAll(/# Source: (\S+)\nvalues: (\S+)/g)].map(([, source = '', encoded = '']) => [
      source,
      JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')) as unknown,
    ]),
  )
