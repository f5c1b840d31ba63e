import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable, entriesOf, textsOf } from '../charts/value-tables.ts'

/** Removes values that a caller supplied from a text of another origin. */
export type Redact = (text: string) => string

/** Shorter values occur in most texts; removing them would make the text unreadable. */
const shortest = 6
const mark = '***'
const secretWords = /pass|secret|token|key|cred|auth|private|cert|dsn|conn|salt|hash/i

/** Maximum total characters of the values to find; beyond it, no text is shown. */
const mostSought = 8 * 1024 * 1024
/** Maximum comparisons for one text; the part beyond them is not shown. The owner of a cluster can store anything in a record. */
const mostSteps = 500_000
/** Values are indexed by this many leading characters; none is shorter. */
const headLength = 4

interface Sought {
  readonly byHead: ReadonlyMap<string, readonly string[]>
  readonly isTooMuch: boolean
}

/** Returns the parts of a text that contain any of the values, including overlaps. Stops when the comparisons are used up. */
const covered = ({ byHead }: Sought, text: string): { readonly parts: readonly (readonly [number, number])[]; readonly seen: number } => {
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

const replacer = (sought: Sought): Redact => {
  if (sought.isTooMuch) return (text) => (text === '' ? '' : mark)
  return (text) => {
    const { parts, seen } = covered(sought, text)
    let shown = ''
    let at = 0
    for (const [from, to] of parts) {
      shown += text.slice(at, from) + mark
      at = to
    }
    if (seen === text.length) return shown + text.slice(at)
    return `${shown}${text.slice(at, Math.max(at, seen))}${mark}`
  }
}

const forms = (text: string): readonly string[] => {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line.length >= shortest)
  const inJson = JSON.stringify(text).slice(1, -1)
  return [text, inJson, ...lines]
}

/** Collects the values to find, in their various encodings, up to the limit. */
const soughtIn = (values: readonly (FreeObject | undefined)[], least: number, isSoughtAtFirst: boolean): Sought => {
  const found = new Set<string>()
  let room = mostSought
  const add = (text: string): void => {
    if (text.length < least || found.has(text)) return
    for (const form of forms(text)) {
      room -= form.length
      found.add(form)
    }
  }
  const gather = (value: Json | undefined, isSought: boolean): void => {
    if (room < 0) return
    if (Array.isArray(value)) return (value as readonly Json[]).forEach((item) => gather(item, isSought))
    const table = asTable(value)
    if (table !== undefined) entriesOf(table).forEach(([key, item]) => gather(item, isSought || secretWords.test(key)))
    else if (isSought) textsOf(value).forEach(add)
  }
  for (const each of values) gather(each, isSoughtAtFirst)
  const byHead = new Map<string, string[]>()
  for (const text of [...found].sort((a, b) => b.length - a.length)) {
    const head = text.slice(0, headLength)
    const known = byHead.get(head)
    if (known === undefined) byHead.set(head, [text])
    else known.push(text)
  }
  return { byHead, isTooMuch: room < 0 }
}

/** Removes every text among the values, under any key. For output of helm, which may quote a template's result. */
export const redactAll = (...values: readonly (FreeObject | undefined)[]): Redact => replacer(soughtIn(values, shortest, true))

/** Removes only texts at keys that sound secret. For text that must stay readable. */
export const redactSecrets = (...values: readonly (FreeObject | undefined)[]): Redact => replacer(soughtIn(values, headLength, false))
