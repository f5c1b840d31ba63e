import type { FreeObject } from '../../core/kernel/json.ts'

/** Removes from a text of helm's what must not be shown: values, and the way into the cluster. */
export type Redact = (text: string) => string

const secretKey = /pass|secret|token|credential|private|(?:^|[a-z_.-])key$|^key|apikey|auth|dsn|cert|licen[cs]e/i
const shortestSecret = 4
const mostSecrets = 2_000

/** Texts and numbers under a key that sounds like a secret, those nested below it included. */
const secretsIn = (value: unknown, isSecret: boolean, found: Set<string>): void => {
  if (found.size >= mostSecrets) return
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value)
    if (isSecret && text.length >= shortestSecret) for (const line of text.split('\n')) if (line.trim().length >= shortestSecret) found.add(line.trim())
    return
  }
  if (Array.isArray(value)) return value.forEach((each) => secretsIn(each, isSecret, found))
  if (typeof value !== 'object' || value === null) return
  for (const [key, each] of Object.entries(value)) secretsIn(each, isSecret || secretKey.test(key), found)
}

/** Helm prints what it overrides when the shapes of two value sets differ. */
const shownTable = /\((?:map\[|\[).*$|: map\[.*$/

/** @param doorUrl what the kubeconfig points at */
export const makeRedact = (values: FreeObject | undefined, doorUrl: string): Redact => {
  const found = new Set<string>()
  secretsIn(values, false, found)
  const encoded = (text: string): readonly string[] => [Buffer.from(text).toString('base64')].filter(({ length }) => length >= 8)
  const sought = [...found].sort((a, b) => b.length - a.length).flatMap((each) => [each, ...encoded(each)])
  return (text) => sought.reduce((clean, each) => clean.replaceAll(each, '***'), text.replaceAll(doorUrl, 'https://member-cluster')).replace(shownTable, '(…)')
}

/** Helm 3 marks its debug lines by the place in its source and the time. */
const debugMark = /^[a-z_]+\.go:\d+: (?:\S+ \S+ \S+ \S+ m=\S+ )?(?:\[debug\] ?)?/

/** Helm 4 writes key and value. */
const structuredMark = /^level=([A-Z]+) msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))/

const noNews = /^(?:Original chart version|Chart path|number of dependencies in the chart)/i

/** A line as people read it; undefined for what is no news. */
export const asProgress = (line: string): string | undefined => {
  const text = line
    .replace(debugMark, '')
    .replace(structuredMark, (_whole, level: string, quoted: string | undefined, bare: string | undefined) => `${level === 'WARN' || level === 'ERROR' ? `${level.toLowerCase()}: ` : ''}${quoted?.replace(/\\(.)/g, '$1') ?? bare ?? ''}`)
    .trim()
  return text === '' || noNews.test(text) ? undefined : text
}

const longestError = 2_000

const opening = /^(?:Error: )(?:(?:INSTALLATION|UPGRADE) FAILED: )?/

/** What helm advises whoever typed its command. */
const advice = / ?(?:Use --debug flag to render out invalid YAML|An error occurred while checking for chart dependencies\. You may need to run `helm dependency build` to fetch missing dependencies:) ?/g

/** What helm says after the error with `--debug`: where in its source it arose. */
export const isTrace = (line: string): boolean => /^helm\.go:\d+: /.test(line)

/** Helm's own `Error:` text, on one line; undefined when it says none. It is redacted whole: what is cut first is not found again. */
export const errorOf = (stderr: string, redact: Redact = (text) => text): string | undefined => {
  const lines = stderr.split('\n')
  const start = lines.findLastIndex((line) => line.startsWith('Error: '))
  if (start < 0) return undefined
  const trace = lines.findIndex((line, index) => index > start && isTrace(line))
  const text = lines.slice(start, trace < 0 ? undefined : trace).map((line) => line.trim()).filter((line) => line !== '').join(' ')
  // Bounded repetitions: a chart may say anything here, at any length.
  const words = redact(text.replace(opening, '').replace(/\d{1,6} errors? occurred: \* /g, '').replace(/(?<=\s|^)execution error at \(([^)]{0,500})\): /, 'the template $1 says: ').replace(advice, ' ').trim())
  return words.length > longestError ? `${words.slice(0, longestError)}…` : words
}
