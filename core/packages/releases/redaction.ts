import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable, entriesOf, textsOf } from '../charts/value-tables.ts'

/** Takes what a caller gave out of a text that others wrote. */
export type Redact = (text: string) => string

/** Shorter texts stand everywhere: taking them out would leave nothing to read. */
const shortest = 6
const mark = '***'
const secretWords = /pass|secret|token|key|cred|auth|private|cert|dsn|conn|salt|hash/i

/** Characters of all sought texts; with more nothing at all is shown. */
const mostSought = 8 * 1024 * 1024
/** Comparisons that one text may cost; what they do not reach is not shown. A record of a cluster can hold whatever its owner likes. */
const mostSteps = 500_000
/** Sought texts are found by so many first characters; none is shorter. */
const headLength = 4

interface Sought {
  readonly byHead: ReadonlyMap<string, readonly string[]>
  readonly isTooMuch: boolean
}

/** Finds the parts of a text that hold any of the sought ones, wherever they overlap. Ends where the steps do. */
const covered = ({ byHead }: Sought, text: string): { readonly parts: readonly (readonly [number, number])[]; readonly seen: number } => {
  const parts: [number, number][] = []
  let steps = mostSteps
  for (let at = 0; at < text.length; at += 1) {
    // Longest first, so that one that holds another goes whole.
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

/** Gathers the texts that count, with their forms, until there are too many. */
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

/** Every text that stands among values, whatever it is called: for words of helm's, which may quote a template's result. */
export const redactAll = (...values: readonly (FreeObject | undefined)[]): Redact => replacer(soughtIn(values, shortest, true))

/** Texts at keys that sound secret: for what a person must be able to read. */
export const redactSecrets = (...values: readonly (FreeObject | undefined)[]): Redact => replacer(soughtIn(values, headLength, false))
