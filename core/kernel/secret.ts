import { getOrMake } from './cache.ts'
import type { FreeObject, Json } from './json.ts'
import { isObject, toWireJson } from './json.ts'
import { portKey } from './port-key.ts'

const inspect = Symbol.for('nodejs.util.inspect.custom')

/**
 * The only carrier of a secret inside the core. Printing, inspecting or serialising it shows `[secret]`. `reveal` is
 * called only where the value is needed.
 */
export class Secret<A = string> {
  readonly #value: A
  constructor(value: A) {
    this.#value = value
  }
  reveal(): A {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect](): string {
    return '[secret]'
  }
}

export const secret = <A>(value: A): Secret<A> => new Secret(value)

/** Returns undefined for a value that is missing. */
export const optionalSecret = <A>(value: A | undefined): Secret<A> | undefined =>
  value === undefined ? undefined : new Secret(value)

/** The context that a sealed value is bound to, so that it cannot be moved to another row. */
export interface SealedPlace {
  readonly table: string
  readonly column: string
  readonly tenantId: number
  /** A stable identifier of the row that exists before it is inserted (a random reference, not the row number). */
  readonly rowRef: string
}

/**
 * Authenticated encryption of secrets at rest. `open` throws if the box was tampered with or moved, or if its key is
 * missing.
 */
export interface SecretBox {
  seal(plain: Secret<string>, place: SealedPlace): Promise<Uint8Array>
  open(box: Uint8Array, place: SealedPlace): Promise<Secret<string>>
  /** Re-encrypts the data key under the current key-encryption key. The value itself is not changed. */
  rewrap(box: Uint8Array): Promise<Uint8Array>
  /** Returns the id of the key-encryption key that wraps a box. */
  keyIdOf(box: Uint8Array): string
}
export const SecretBoxPort = portKey<SecretBox>('kernel.SecretBox')

/** A cryptographically strong source of randomness. */
export interface Entropy {
  /** Returns `length` random bytes. */
  bytes(length: number): Uint8Array
  /** Returns a new version 4 UUID. */
  uuid(): string
}
export const EntropyPort = portKey<Entropy>('kernel.Entropy')

/** The digits of base62, by value. */
export const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns a text of `length` base62 characters, each equally likely. */
export const randomBase62 = (entropy: Entropy, length: number): string => {
  let text = ''
  while (text.length < length) {
    for (const byte of entropy.bytes(length - text.length + 8)) {
      // 248 is the greatest multiple of 62 in a byte. Greater values would favour the first letters.
      if (byte < 248 && text.length < length) text += base62.charAt(byte % 62)
    }
  }
  return text
}

/** Reports whether two values have the same bytes. For values of one length, the running time is the same. */
export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.reduce((different, byte, i) => different | (byte ^ (b[i] ?? 0)), 0) === 0

/** Encodes bytes as lower-case hexadecimal, two digits per byte. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Removes values from a text of another origin, such as the output of a program that quotes its input.
 * @param shown names that stay readable wherever they are a word of the text, also if a value is equal to one or is
 * part of one.
 */
export type Redact = (text: string, shown?: readonly string[]) => string

/** Shorter values occur in most texts; removing them would make the text unreadable. */
const shortest = 6
const mark = '***'
/** The only list of words that mark a key whose value is secret. */
const secretWords = /pass|secret|token|key|cred|auth|private|cert|dsn|conn|salt|hash|licen[cs]e/i

/** Maximum total characters of the values to find; beyond it, no text is shown. */
const mostSought = 8 * 1024 * 1024
/**
 * Maximum comparisons for one text; the part beyond them is not shown. The owner of a cluster can store anything in a
 * record.
 */
const mostSteps = 500_000
/** Values are indexed by this many leading characters; none is shorter. */
const headLength = 4

interface Sought {
  readonly byHead: ReadonlyMap<string, readonly string[]>
  /** Names of the Kubernetes objects among the values. */
  readonly shown: readonly string[]
  readonly isTooMuch: boolean
}

/**
 * Returns the parts of a text that contain any of the values, including overlaps. Stops when the comparisons are used
 * up.
 */
const covered = (
  { byHead }: Sought,
  text: string,
): { readonly parts: readonly (readonly [number, number])[]; readonly seen: number } => {
  const parts: [number, number][] = []
  let steps = mostSteps
  for (let at = 0; at < text.length; at += 1) {
    // Longest first, so that a value that contains another one is removed whole.
    const found = (byHead.get(text.slice(at, at + headLength)) ?? []).find((each) => {
      steps -= 1 + (each.length >> 4)
      return steps >= 0 && text.startsWith(each, at)
    })
    if (steps < 0) return { parts, seen: at }
    if (found === undefined) continue
    const last = parts.at(-1)
    if (last !== undefined && last[1] > at) last[1] = Math.max(last[1], at + found.length)
    else parts.push([at, at + found.length])
  }
  return { parts, seen: text.length }
}

const wordSign = /[\w-]/

/** Returns the parts of a text that are one of the names, as a word. */
const namedParts = (names: readonly string[], text: string): readonly (readonly [number, number])[] => {
  const parts: [number, number][] = []
  for (const name of new Set(names)) {
    if (name.length < headLength) continue
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
      const end = at + name.length
      if (!wordSign.test(text.charAt(at - 1)) && !wordSign.test(text.charAt(end))) parts.push([at, end])
    }
  }
  return parts
}

const replacer = (sought: Sought): Redact => {
  if (sought.isTooMuch) return (text) => (text === '' ? '' : mark)
  return (text, shown = []) => {
    const { parts, seen } = covered(sought, text)
    const named = parts.length === 0 ? [] : namedParts([...sought.shown, ...shown], text)
    let result = ''
    let at = 0
    for (const [from, to] of parts.filter(
      ([start, end]) => !named.some(([first, last]) => first <= start && end <= last),
    )) {
      result += text.slice(at, from) + mark
      at = to
    }
    if (seen === text.length) return result + text.slice(at)
    return `${result}${text.slice(at, Math.max(at, seen))}${mark}`
  }
}

const base64Of = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/**
 * Returns the forms in which a text may be quoted: as a whole and by lines, each as it is, inside JSON and in base64.
 */
const formsOf = (text: string, least: number): readonly string[] => {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= least)
  return [...new Set([text, ...lines])].flatMap((plain) => [plain, toWireJson(plain).slice(1, -1), base64Of(plain)])
}

/** Returns a string or a number as text. A number that was written with a decimal point may be an object. */
const asText = (value: Json | undefined): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'bigint' || value instanceof Number
      ? String(value)
      : undefined

/**
 * Returns the names by which a cluster speaks of an object: its kind, its group and version, its name and namespace.
 */
const objectNames = ({ apiVersion, kind, metadata }: FreeObject): readonly string[] => {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return []
  const { name, namespace } = isObject(metadata) ? metadata : {}
  return [
    apiVersion,
    apiVersion.split('/')[0] ?? '',
    kind,
    ...[name, namespace].filter((text) => typeof text === 'string'),
  ]
}

/** The number of objects among the values whose names are kept. */
const mostObjects = 1_000

/** Collects the values to find, in their various encodings, up to the limit. */
const soughtIn = (values: readonly (FreeObject | undefined)[], least: number, isSoughtAtFirst: boolean): Sought => {
  const found = new Set<string>()
  const objects: FreeObject[] = []
  let room = mostSought
  const add = (text: string): void => {
    if (text.length < least || found.has(text)) return
    for (const form of formsOf(text, least)) {
      if (!found.has(form)) room -= form.length
      found.add(form)
    }
  }
  const gather = (value: Json | undefined, isSought: boolean): void => {
    if (room < 0) return
    if (Array.isArray(value)) return (value as readonly Json[]).forEach((item) => gather(item, isSought))
    const text = asText(value)
    if (text !== undefined) {
      if (isSought) add(text)
    } else if (isObject(value)) {
      if (typeof value['kind'] === 'string' && objects.length < mostObjects) objects.push(value)
      for (const [key, item] of Object.entries(value)) gather(item, isSought || secretWords.test(key))
    }
  }
  for (const each of values) gather(each, isSoughtAtFirst)
  const byHead = new Map<string, string[]>()
  for (const text of [...found].sort((a, b) => b.length - a.length)) {
    getOrMake(byHead, text.slice(0, headLength), () => []).push(text)
  }
  return { byHead, shown: objects.flatMap(objectNames), isTooMuch: room < 0 }
}

/** Removes every text among the values, under any key. For output of helm, which may quote a template's result. */
export const redactAll = (...values: readonly (FreeObject | undefined)[]): Redact =>
  replacer(soughtIn(values, shortest, true))

/** Removes only texts at keys that sound secret, and below them. For text that must stay readable. */
export const redactSecrets = (...values: readonly (FreeObject | undefined)[]): Redact =>
  replacer(soughtIn(values, headLength, false))

/** 43 base62 characters are slightly more than 256 bits. */
const browserKeyLength = 43
const browserKeyForm = /^[0-9A-Za-z]{43}$/

/**
 * Returns the key of a browser that is signing in, which its cookie keeps. A browser that has one keeps it, so that
 * several tabs can wait at once.
 */
export const browserKeyOr = (entropy: Entropy, known: Secret | undefined): Secret =>
  known !== undefined && browserKeyForm.test(known.reveal()) ? known : secret(randomBase62(entropy, browserKeyLength))
