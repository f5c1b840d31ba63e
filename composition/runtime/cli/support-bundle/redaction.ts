import { toWireJson } from '../../../../core/kernel/json.ts'
import type { LoadedConfig } from '../../config/config.ts'

/** What is shown instead of a text that is left out. */
const removed = '[removed]'

/** Texts that have the form of a credential, whatever they belong to. */
const credentialForms: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(?<=:\/\/[^\s/:@]{0,100}:)[^\s/@]+(?=@)/g,
  // A scheme in front of the credential, as in `Authorization: Bearer x`, must not be taken for it.
  /(?<=\b(?:Bearer|Basic|Negotiate)\s+)[^\s"',;]+/gi,
  /(?<=\bauthorization["']?\s*[:=]\s*["']?)(?:[\w-]+\s+)?[^\s"',;&}]+/gi,
  /(?<=\b(?:password|passwd|secret|token|api[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi,
  /\bmoorc?_[0-9A-Za-z]{16,}/g,
  /\b[0-9a-f]{40,}\b/g,
]

/** An address of mail tells who a user is. An address of a server that ends in a number is none. */
const mailAddress = /(?<![\w:/\]@])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b/gi

/** A word of this many characters with a digit is more often a credential than a word. */
const longWord = /[^\s"',;:()[\]{}=<>/]{20,}/g

/** Returns the secret values of the settings, each whole and, of an address, its password. */
export const secretsOf = ({ settings, rows }: Pick<LoadedConfig, 'settings' | 'rows'>): readonly string[] => {
  const values = settings as Readonly<Record<string, unknown>>
  const revealed = Object.entries(rows).flatMap(([name, { type }]) => {
    const value = values[name] as { reveal?(): unknown } | undefined
    const text = type.isSecret && typeof value?.reveal === 'function' ? value.reveal() : undefined
    return typeof text === 'string' ? [text] : []
  })
  const parts = revealed.flatMap((text) =>
    [...text.matchAll(/\/\/([^/@]*)@/g)].flatMap(([, userInfo = '']) => userInfo.split(':').slice(1)),
  )
  // The shown form of an address names its host; only what is no word of it counts.
  return [...new Set([...revealed.filter((text) => !/^[\w+]+:/.test(text)), ...parts, ...parts.map(decoded)])].filter(
    (text) => text.length >= 4,
  )
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Removes the given secrets, and what has the form of a credential. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string => {
  let clean = text
  for (const secret of secrets)
    for (const form of new Set([secret, toWireJson(secret).slice(1, -1), encodeURIComponent(secret)]))
      clean = clean.replaceAll(form, removed)
  for (const form of credentialForms) clean = clean.replaceAll(form, removed)
  return clean
}

const withoutLongWords = (text: string): string =>
  text.replaceAll(longWord, (word) => (/\d/.test(word) ? removed : word))

const idForm = /^[0-9a-f-]{16,36}$/
const codeForm = /^[A-Za-z0-9_.-]{1,60}$/

/** The fields of a line of the log that are shown, with the form that each must have. All others are left out. */
const shownFields: Readonly<Record<string, (value: unknown) => unknown>> = {
  level: (value) => (typeof value === 'number' ? value : undefined),
  time: (value) => (typeof value === 'string' && /^[\d:.TZ-]{10,30}$/.test(value) ? value : undefined),
  pid: (value) => (typeof value === 'number' ? value : undefined),
  requestId: (value) => ofForm(value, idForm),
  traceId: (value) => ofForm(value, idForm),
  spanId: (value) => ofForm(value, idForm),
  task: (value) => ofForm(value, idForm),
  method: (value) => ofForm(value, /^[A-Z]{3,7}$/),
  route: (value) => ofForm(value, /^[\w/{}.*-]{0,200}$/),
  operation: (value) => ofForm(value, codeForm),
  job: (value) => ofForm(value, codeForm),
  kind: (value) => ofForm(value, codeForm),
  step: (value) => ofForm(value, codeForm),
  code: (value) => ofForm(value, codeForm),
  reason: (value) => ofForm(value, /^[A-Z][A-Z0-9_]{1,40}$/),
  version: (value) => ofForm(value, codeForm),
  status: (value) => (typeof value === 'number' ? value : undefined),
  ms: (value) => (typeof value === 'number' ? value : undefined),
  bytesIn: (value) => (typeof value === 'number' ? value : undefined),
  bytesOut: (value) => (typeof value === 'number' ? value : undefined),
  isUpstream: (value) => (typeof value === 'boolean' ? value : undefined),
  isTakenOver: (value) => (typeof value === 'boolean' ? value : undefined),
  error: (value) => errorOf(value, 0),
  err: (value) => errorOf(value, 0),
}

const ofForm = (value: unknown, form: RegExp): string | undefined => {
  if (typeof value !== 'string' || !form.test(value)) return undefined
  return form === idForm ? value : withoutLongWords(value) === value ? value : removed
}

/** The message of an error may quote what a user sent, so its places are shown instead. */
const errorOf = (value: unknown, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || depth > 3) return undefined
  const { name, code, at, cause } = value as Readonly<Record<string, unknown>>
  const places = Array.isArray(at) ? at.filter((place) => typeof place === 'string').map(placeOf) : []
  return { name: ofForm(name, codeForm), code: ofForm(code, codeForm), at: places, cause: errorOf(cause, depth + 1) }
}

/** Returns the function and the file of a place, without the folder of the installation. */
const placeOf = (place: string): string => {
  const [, called = '', file = '', line = ''] =
    /^at (?:(?:async )?([\w.<>#$ ]{1,80}) \()?.*?([\w.@-]+):(\d+):\d+\)?$/.exec(place) ?? []
  return withoutLongWords(`${called} ${file}:${line}`.trim())
}

/** Returns a line of the log with its known fields only, or undefined if it is none of this service. */
export const shownLine = (line: string, secrets: readonly string[]): string | undefined => {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined
  const record = parsed as Readonly<Record<string, unknown>>
  const { msg } = record
  if (typeof msg !== 'string') return undefined
  const fields = Object.entries(shownFields).flatMap(([name, show]) => {
    const shown = show(record[name])
    return shown === undefined ? [] : [[name, shown] as const]
  })
  const message = withoutLongWords(withoutSecrets(msg.slice(0, 300), secrets)).replaceAll(mailAddress, removed)
  return withoutSecrets(toWireJson({ ...Object.fromEntries(fields), msg: message }), secrets)
}

/** Replaces names of accounts and clusters in labels of metrics by numbers: they tell who the customers are. */
export const withoutNames = (metrics: string): string => {
  const numbers = new Map<string, string>()
  return metrics.replaceAll(/(?<=[{,]cluster=")((?:[^"\\]|\\.)*)(?=")/g, (name: string) => {
    if (name === 'other' || name === 'none') return name
    const known = numbers.get(name) ?? `cluster-${numbers.size + 1}`
    numbers.set(name, known)
    return known
  })
}
