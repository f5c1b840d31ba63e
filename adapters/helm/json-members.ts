import { PayloadUnreadable } from './record-payload.ts'

/** Where a member of an object stands in JSON text. */
interface Member {
  readonly key: string
  /** Of the key's opening quote. */
  readonly keyStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

const blank = /\s/
export const skipBlanks = (text: string, at: number): number => {
  while (at < text.length && blank.test(text.charAt(at))) at += 1
  return at
}

/** Just behind the string that begins at `at`. */
const skipString = (text: string, at: number): number => {
  for (let i = at + 1; i < text.length; i += 1) {
    const sign = text.charAt(i)
    if (sign === '\\') i += 1
    else if (sign === '"') return i + 1
  }
  throw new PayloadUnreadable('cut short')
}

/** Just behind the value that begins at `at`. The text is JSON, or the begin of some. */
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

/** The first member of that key in the object that begins at `objectStart`. Throws PayloadUnreadable where the text ends before. */
export const memberOf = (text: string, objectStart: number, key: string): Member | undefined => {
  for (const member of membersOf(text, objectStart)) if (member.key === key) return member
  return undefined
}
