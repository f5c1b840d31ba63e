import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Redact } from '../../../core/kernel/secret.ts'
import { redactSecrets } from '../../../core/kernel/secret.ts'
import type { ChartTexts } from '../../../core/packages/charts/ports.ts'
import type { HelmRendering } from '../../../core/packages/releases/ports.ts'
import { HelmMissing, HelmRefused, HelmStopped } from '../../../core/packages/releases/ports.ts'
import type { HelmOperation } from './arguments.ts'
import type { ChildEnd, EndReason } from './child-process.ts'
import { howToGetHelm } from './helm-finder.ts'

/** Helm prints the value that it overrides when the shapes of two value sets differ. */
const shownTable = /\((?:map\[|\[).*$|: map\[.*$/

/**
 * Removes from helm's text what must not be shown: secret values and the URL of the cluster proxy.
 * @param doorUrl the server of the kubeconfig.
 */
export const makeRedact = (values: FreeObject | undefined, doorUrl: string): Redact => {
  const redact = redactSecrets(values)
  return (text) => redact(text.replaceAll(doorUrl, 'https://member-cluster')).replace(shownTable, '(…)')
}

/** Helm 3 prefixes its debug lines with the source position and the time. */
const debugMark = /^[a-z_]+\.go:\d+: (?:\S+ \S+ \S+ \S+ m=\S+ )?(?:\[debug\] ?)?/

/** Helm 4 logs keys and values. */
const structuredMark = /^level=([A-Z]+) msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))/

const noNews = /^(?:Original chart version|Chart path|number of dependencies in the chart)/i

/** Returns a line in readable form, or undefined if it has no news. */
export const asProgress = (line: string): string | undefined => {
  const text = line
    .replace(debugMark, '')
    .replace(
      structuredMark,
      (_whole, level: string, quoted: string | undefined, bare: string | undefined) =>
        `${level === 'WARN' || level === 'ERROR' ? `${level.toLowerCase()}: ` : ''}${quoted?.replace(/\\(.)/g, '$1') ?? bare ?? ''}`,
    )
    .trim()
  return text === '' || noNews.test(text) ? undefined : text
}

const longestError = 2_000

const opening = /^(?:Error: )(?:(?:INSTALLATION|UPGRADE) FAILED: )?/

/** Advice that helm prints for the user of its command line. */
const advice =
  / ?(?:Use --debug flag to render out invalid YAML|An error occurred while checking for chart dependencies\. You may need to run `helm dependency build` to fetch missing dependencies:) ?/g

/** Reports whether a line is part of the source trace that helm prints after the error with `--debug`. */
export const isTrace = (line: string): boolean => /^helm\.go:\d+: /.test(line)

/**
 * Returns helm's own `Error:` text on one line, or undefined if there is none. The text is redacted before it is cut: a
 * cut value would not be found.
 *
 * @internal
 */
export const errorOf = (stderr: string, redact: Redact = (text) => text): string | undefined => {
  const lines = stderr.split('\n')
  const start = lines.findLastIndex((line) => line.startsWith('Error: '))
  if (start < 0) return undefined
  const trace = lines.findIndex((line, index) => index > start && isTrace(line))
  const text = lines
    .slice(start, trace < 0 ? undefined : trace)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
  // Repetitions are bounded: a chart may print any text of any length here.
  const words = redact(
    text
      .replace(opening, '')
      .replace(/\d{1,6} errors? occurred: \* /g, '')
      .replace(/(?<=\s|^)execution error at \(([^)]{0,500})\): /, 'the template $1 says: ')
      .replace(advice, ' ')
      .trim(),
  )
  return words.length > longestError ? `${words.slice(0, longestError)}…` : words
}

const whyEnded = (reason: EndReason, timeLimit: string): string => {
  switch (reason) {
    case 'cancelled':
      return 'because the operation was cancelled or the service stops'
    case 'time':
      return `because it took longer than ${timeLimit}`
    case 'output':
      return 'because it wrote more than can be taken'
  }
}

const whatIsLeft = (operation: HelmOperation, wasKilled: boolean): string => {
  if (operation === 'template') return ''
  if (wasKilled) return ' It did not stop and was killed: the release may be left pending.'
  return operation === 'rollback' || operation === 'uninstall'
    ? ' The release may be left pending.'
    : ' The release is recorded as failed.'
}

const goneCodes: readonly (string | undefined)[] = ['ENOENT', 'EACCES', 'ENOEXEC']

/**
 * Reports whether the program is gone or no longer executable. The programs that set limits report that by 126 and 127.
 */
export const isGone = ({ exitCode, stderr, error }: ChildEnd): boolean =>
  exitCode === undefined
    ? goneCodes.includes(error?.code)
    : (exitCode === 126 || exitCode === 127) && errorOf(stderr) === undefined

/**
 * Returns the failure that the end of a process means, or undefined if it succeeded.
 * @param timeLimit the limit that ends the process, and what raises it.
 * @param trouble why the cluster could not be reached, if it could not.
 */
export const failureOf = (
  operation: HelmOperation,
  end: ChildEnd,
  redact: Redact,
  timeLimit: string,
  trouble?: string,
): Failure<'HelmMissing'> | Failure<'HelmRefused'> | Failure<'HelmStopped'> | undefined => {
  if (isGone(end))
    return HelmMissing(`Helm could not be started (${end.error?.code ?? 'it is not there any more'}). ${howToGetHelm}.`)
  if (end.exitCode === undefined)
    return HelmStopped(`Helm could not be started (${end.error?.code ?? 'unknown'}). Try again later.`)
  // It may have completed just before it was sent a signal.
  if (end.exitCode === 0 && !(end.isCutShort && operation === 'template')) return undefined
  const said = errorOf(end.stderr, redact)
  if (end.ended !== undefined) {
    const own = said === undefined || end.wasKilled ? '' : ` Helm said: ${said}`
    return HelmStopped(`Helm was ended ${whyEnded(end.ended, timeLimit)}.${whatIsLeft(operation, end.wasKilled)}${own}`)
  }
  if (/^(?:fatal error: |runtime: )out of memory/m.test(end.stderr))
    return HelmStopped('Helm was ended because it needed more memory than it may use.')
  if (end.signal !== null)
    return HelmStopped(`Helm was ended from outside (${end.signal}).${whatIsLeft(operation, end.signal === 'SIGKILL')}`)
  const words = said ?? `Helm failed with code ${String(end.exitCode)} and said nothing.`
  // Kubernetes clients show little of the body of a 502.
  return HelmRefused(trouble === undefined ? words : `${words}: ${trouble}`)
}

const hookMark = 'helm.sh/hook'
const sourceLine = /^# Source: (.+)$/m

/** Characters of one text, and of all texts together, that are searched for hooks. No record can hold more. */
const [mostOfOne, mostOfAll] = [1024 * 1024, 4 * 1024 * 1024]

interface HookDocument {
  readonly kind?: unknown
  readonly metadata?: {
    readonly name?: unknown
    readonly annotations?: Readonly<Record<string, unknown>> | null
  } | null
}

const readDocument = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Promise<HookDocument | undefined> => {
  const read = await texts.parseAll(new TextEncoder().encode(text))
  const [document] = isLeft(read) ? [] : read.right
  return typeof document === 'object' && document !== null && !Array.isArray(document)
    ? (document as FreeObject)
    : undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const wordsOf = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? value
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== '')
    : []

/** Returns a hook in the form that Helm records, or undefined if the document is not a hook. */
const hookOf = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Promise<FreeObject | undefined> => {
  const document = await readDocument(texts, text)
  const annotations = document?.metadata?.annotations ?? undefined
  const events = wordsOf(annotations?.[hookMark]).map((event) => (event === 'test-success' ? 'test' : event))
  if (document === undefined || annotations === undefined || events.length === 0) return undefined
  const weight = Number(textOf(annotations[`${hookMark}-weight`]))
  const policies = wordsOf(annotations[`${hookMark}-delete-policy`])
  return {
    name: textOf(document.metadata?.name),
    kind: textOf(document.kind),
    path: sourceLine.exec(text)?.[1] ?? '',
    manifest: text.replace(/^# Source: .+\n/, ''),
    events,
    weight: Number.isInteger(weight) ? weight : 0,
    ...(policies.length === 0 ? {} : { delete_policies: policies }),
  }
}

/** Parses the output of `helm template`: documents in install order, then the hooks. */
export const readTemplateOutput = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  output: string,
): Promise<HelmRendering> => {
  const hooks: FreeObject[] = []
  const kept: string[] = []
  let unread = mostOfAll
  const mayBeHook = (text: string): boolean => {
    if (!text.includes(hookMark) || text.length > mostOfOne || text.length > unread) return false
    unread -= text.length
    return true
  }
  for (const part of output.split(/^---[ \t]*$/m)) {
    const text = part.replace(/^\n+/, '').trimEnd()
    if (text === '') continue
    const hook = mayBeHook(text) ? await hookOf(texts, text) : undefined
    if (hook === undefined) kept.push(text)
    else hooks.push(hook)
  }
  return { manifest: kept.map((text) => `---\n${text}\n`).join(''), hooks, notes: '', release: undefined }
}

type PrintedRelease = NonNullable<HelmRendering['release']>

const isRelease = (value: FreeObject): value is FreeObject & PrintedRelease =>
  typeof value['name'] === 'string' && typeof value['version'] === 'number'

/** The parts of a record without its chart, which is most of it. */
const releaseKeys = [
  'name',
  'namespace',
  'version',
  'info',
  'config',
  'manifest',
  'hooks',
  'apply_method',
] as const satisfies readonly (keyof PrintedRelease)[]

/** Returns the record that install and upgrade print as JSON, or undefined if there is none. */
export const readReleaseOutput = async (
  texts: Pick<ChartTexts, 'pick'>,
  output: Buffer,
): Promise<HelmRendering | undefined> => {
  const start = output.indexOf('{')
  if (start < 0) return undefined
  const read = await texts.pick(output.subarray(start), releaseKeys)
  if (isLeft(read) || !isRelease(read.right)) return undefined
  const { manifest, hooks, info } = read.right
  return {
    manifest: textOf(manifest),
    hooks: Array.isArray(hooks) ? hooks : [],
    notes: textOf(info?.notes),
    release: read.right,
  }
}
