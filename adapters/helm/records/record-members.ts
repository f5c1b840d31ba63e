import type { ReleaseHeader, ReleaseKey } from '../../../core/packages/types.ts'
import { headerOf, parseRecord, PayloadUnreadable, unpackBegin } from './record-payload.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

/** The position of an object's member in JSON text. */
interface Member {
  readonly key: string
  /** Index of the key's opening quote. */
  readonly keyStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

const blank = /\s/
const skipBlanks = (text: string, at: number): number => {
  while (at < text.length && blank.test(text.charAt(at))) at += 1
  return at
}

/** Returns the index after the string that starts at `at`. */
const skipString = (text: string, at: number): number => {
  for (let i = at + 1; i < text.length; i += 1) {
    const sign = text.charAt(i)
    if (sign === '\\') i += 1
    else if (sign === '"') return i + 1
  }
  throw new PayloadUnreadable('cut short')
}

/** Returns the index after the value that starts at `at`. The text is JSON or a prefix of it. */
const skipValue = (text: string, at: number): number => {
  let depth = 0
  let i = at
  do {
    const sign = text.charAt(i)
    if (sign === '"') {
      i = skipString(text, i)
      continue
    }
    if (sign === '{' || sign === '[') depth += 1
    else if (sign === '}' || sign === ']') depth -= 1
    i += 1
    if (depth === 0 && (sign === '}' || sign === ']')) return i
  } while (i < text.length && (depth > 0 || !/[,}\]\s]/.test(text.charAt(i))))
  if (depth > 0) throw new PayloadUnreadable('cut short')
  return i
}

function* membersOf(text: string, objectStart: number): Generator<Member> {
  let at = skipBlanks(text, objectStart + 1)
  while (text.charAt(at) === '"') {
    const keyEnd = skipString(text, at)
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const valueEnd = skipValue(text, valueStart)
    yield { key: JSON.parse(text.slice(at, keyEnd)) as string, keyStart: at, valueStart, valueEnd }
    at = skipBlanks(text, skipBlanks(text, valueEnd) + 1)
  }
}

/**
 * Returns the first member with that key in the object that starts at `objectStart`. Throws PayloadUnreadable if the
 * text ends before it.
 */
const memberOf = (text: string, objectStart: number, key: string): Member | undefined => {
  for (const member of membersOf(text, objectStart)) if (member.key === key) return member
  return undefined
}

/** The text between the info and the chart's members. */
const beforeChart = ',"chart":{'

const objectAt = (
  text: string,
  at: number,
  key: string,
): { readonly start: number; readonly end: number } | undefined => {
  const member = memberOf(text, at, key)
  return member === undefined || text.charAt(member.valueStart) !== '{'
    ? undefined
    : { start: member.valueStart, end: member.valueEnd }
}

/**
 * Reads a header from the start of a record. Helm writes name, info and the chart's metadata first, so the rest, which
 * is nearly all of the record, need not be unpacked. Returns undefined for a record with another layout, which must be
 * read in full.
 */
export const headerOfBegin = (
  bytes: Buffer,
  expected: ReleaseKey & { readonly version: number },
): ReleaseHeader | undefined => {
  const text = unpackBegin(bytes)
  if (text === undefined || !text.startsWith('{')) return undefined
  try {
    const name = memberOf(text, 0, 'name')
    const info = objectAt(text, 0, 'info')
    if (name === undefined || info === undefined || !text.startsWith(beforeChart, info.end)) return undefined
    const metadata = objectAt(text, info.end + beforeChart.length - 1, 'metadata')
    if (metadata === undefined) return undefined
    const { namespace, version } = expected
    return headerOf(
      {
        name: parseRecord(text.slice(name.valueStart, name.valueEnd)),
        namespace,
        version,
        info: parseRecord(text.slice(info.start, info.end)),
        chart: { metadata: parseRecord(text.slice(metadata.start, metadata.end)) },
      },
      expected,
    )
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error
    return undefined
  }
}

const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** Encodes a string as Go's JSON encoder does: safe in HTML and JavaScript. @internal */
export const goString = (text: string): string =>
  toWireJson(text.toWellFormed()).replace(/[<>&\u2028\u2029]/g, (sign) => escapes[sign] ?? sign)

/**
 * Returns a record's JSON with another status or description in its `info`. Every other byte is unchanged, including
 * members that this service does not know or could not encode exactly. Throws PayloadUnreadable.
 */
export const amendInfo = (
  text: string,
  change: { readonly status?: string | undefined; readonly description?: string | undefined },
): string => {
  const info = memberOf(text, skipBlanks(text, 0), 'info')
  if (info === undefined || text.charAt(info.valueStart) !== '{') throw new PayloadUnreadable('no release record')
  const set = (json: string, key: 'status' | 'description', value: string | undefined): string => {
    if (value === undefined) return json
    const known = memberOf(json, info.valueStart, key)
    if (known !== undefined) return json.slice(0, known.valueStart) + goString(value) + json.slice(known.valueEnd)
    // Helm omits an empty description. If there is one, it comes before the status.
    const status = memberOf(json, info.valueStart, 'status')
    if (status === undefined) throw new PayloadUnreadable('no status')
    return `${json.slice(0, status.keyStart)}${goString(key)}:${goString(value)},${json.slice(status.keyStart)}`
  }
  return set(set(text, 'description', change.description), 'status', change.status)
}
