import { toWireJson } from '../../kernel/json.ts'

/** A part of a text: from `start` up to `end`, exclusive. */
interface Span {
  readonly start: number
  readonly end: number
}

/** A key of an object and the place of its value. */
interface Member {
  readonly key: string
  /** From the quote of the key to the end of the value. */
  readonly whole: Span
  readonly value: Span
}

const space = /\s/
const pastSpace = (text: string, from: number): number => {
  let at = from
  while (space.test(text.charAt(at))) at += 1
  return at
}

const quote = 34
const backslash = 92

/** Returns the place after the string whose opening quote is at `from`. */
const pastString = (text: string, from: number): number => {
  for (let at = from + 1; ; at += 1) {
    at = text.indexOf('"', at)
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return at + 1
  }
}

const numberOrWord = /[\w.+-]+/y

/** Returns the place after the value that begins at `from`. */
const pastValue = (text: string, from: number): number => {
  const first = text.charAt(from)
  if (first === '"') return pastString(text, from)
  if (first !== '{' && first !== '[') {
    numberOrWord.lastIndex = from
    numberOrWord.test(text)
    return numberOrWord.lastIndex
  }
  let [at, depth] = [from, 0]
  do {
    const sign = text.charCodeAt(at)
    if (sign === quote) at = pastString(text, at)
    else {
      // Brackets and braces have the codes 91, 93, 123 and 125.
      if (sign === 91 || sign === 123) depth += 1
      else if (sign === 93 || sign === 125) depth -= 1
      at += 1
    }
  } while (depth > 0)
  return at
}

const membersOf = (text: string, from: number): readonly Member[] => {
  const found: Member[] = []
  let at = pastSpace(text, from + 1)
  while (text[at] === '"') {
    const keyEnd = pastString(text, at)
    const start = pastSpace(text, pastSpace(text, keyEnd) + 1)
    const end = pastValue(text, start)
    found.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, whole: { start: at, end }, value: { start, end } })
    const next = pastSpace(text, end)
    at = text[next] === ',' ? pastSpace(text, next + 1) : next
  }
  return found
}

const topLevel = (text: string): readonly Member[] => membersOf(text, pastSpace(text, 0))
const cut = (text: string, { start, end }: Span): string => text.slice(start, end)
const within = (text: string, { start, end }: Span): string => text.slice(start + 1, end - 1).trim()

/** The keys of a list's metadata that say where the page is in the list. */
const placeKeys = ['continue', 'remainingItemCount']

const withoutPlace = (text: string, { start }: Span): string =>
  `{${membersOf(text, start)
    .filter(({ key }) => !placeKeys.includes(key))
    .map(({ whole }) => cut(text, whole))
    .join(',')}}`

/** A page of a list of the Kubernetes API, with the places of its keys. */
export interface ListPage {
  readonly text: string
  readonly members: readonly Member[]
}

/** Reads a page, which must be the text of a JSON object whose `items` is an array. */
export const readListPage = (text: string): ListPage => ({ text, members: topLevel(text) })

/**
 * Joins the pages of a list to one list. Every item, and every other key of the first page, keeps its text: unknown
 * fields, the order of keys, and integers of any size.
 */
export const joinListPages = ([first, ...others]: readonly ListPage[]): string => {
  if (first === undefined) return '{}'
  if (others.length === 0) return first.text
  const items = [first, ...others].map(({ text, members }) =>
    members
      .filter(({ key, value }) => key === 'items' && text[value.start] === '[')
      .map(({ value }) => within(text, value))
      .join(','),
  )
  const valueOf = ({ key, value }: Member): string => {
    if (key === 'items') return `[${items.filter((each) => each !== '').join(',')}]`
    return key === 'metadata' ? withoutPlace(first.text, value) : cut(first.text, value)
  }
  return `{${first.members.map((member) => `${toWireJson(member.key)}:${valueOf(member)}`).join(',')}}`
}
