import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable } from './value-tables.ts'

/** One step of a path: a map key or a list index. */
export type PathStep = { readonly key: string } | { readonly index: number }
export interface Assignment {
  readonly path: readonly PathStep[]
  readonly value: Json
}

/** Largest list index, as in Helm. */
const maxIndex = 65_536
/** Maximum nesting of names, as in Helm. */
const maxLevels = 30

/**
 * `texts`: every value is a string (`--set-string`). `typed`: true, false, null and integers are recognised (`--set`).
 */
export type SetMode = 'typed' | 'texts'

interface Word {
  readonly text: string
  /** The character that ended the word; undefined at the end of the line. */
  readonly stop: string | undefined
  readonly next: number
}

/** Reads up to one of the stop characters; a backslash escapes the next character. */
const wordFrom = (line: string, from: number, stops: string): Word => {
  let text = ''
  let at = from
  while (at < line.length) {
    const sign = String.fromCodePoint(line.codePointAt(at) ?? 0)
    if (sign === '\\') {
      const escaped = at + 1 < line.length ? String.fromCodePoint(line.codePointAt(at + 1) ?? 0) : ''
      text += escaped
      at += 1 + escaped.length
      continue
    }
    at += sign.length
    if (stops.includes(sign)) return { text, stop: sign, next: at }
    text += sign
  }
  return { text, stop: undefined, next: at }
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }

const valueOf = (text: string, mode: SetMode): Json => {
  if (mode === 'texts') return text
  const word = text.toLowerCase()
  if (word === 'true' || word === 'false') return word === 'true'
  if (word === 'null') return null
  if (text !== '0' && !/^[+-]?[0-9]+$/.test(text)) return text
  if (text !== '0' && text.startsWith('0')) return text
  const whole = BigInt(text.replace(/^\+/, ''))
  if (whole < int64.min || whole > int64.max) return text
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole
}

interface Read<A> {
  readonly value: A
  readonly next: number
}

const listFrom = (line: string, from: number, mode: SetMode): Either<string, Read<readonly Json[]>> => {
  const items: Json[] = []
  let at = from
  for (;;) {
    const word = wordFrom(line, at, ',}')
    if (word.stop === undefined) return left('a list must end with }')
    at = word.next
    items.push(valueOf(word.text, mode))
    if (word.stop === '}') return right({ value: items, next: line[at] === ',' ? at + 1 : at })
  }
}

const valueFrom = (line: string, from: number, mode: SetMode): Either<string, Read<Json>> => {
  if (line[from] === '{') return listFrom(line, from + 1, mode)
  const word = wordFrom(line, from, ',')
  return right({ value: valueOf(word.text, mode), next: word.next })
}

const indexFrom = (line: string, from: number): Either<string, Read<number>> => {
  const word = wordFrom(line, from, ']')
  if (word.stop === undefined || !/^[0-9]{1,6}$/.test(word.text)) return left('an index is a number in [ ]')
  const index = Number(word.text)
  return index > maxIndex ? left(`an index is at most ${maxIndex}`) : right({ value: index, next: word.next })
}

/** Reads a path up to its `=`. */
const pathFrom = (line: string, from: number): Either<string, Read<readonly PathStep[]>> => {
  const path: PathStep[] = []
  let at = from
  let isAfterIndex = false
  for (;;) {
    const word = wordFrom(line, at, isAfterIndex ? '=[.' : '=[,.')
    if (isAfterIndex && word.text !== '') return left('something stands between ] and the next part of a name')
    if (!isAfterIndex) {
      if (word.text === '') return left('a name is missing')
      path.push({ key: word.text })
    }
    if (word.stop === undefined || word.stop === ',') return left('a name has no value')
    at = word.next
    isAfterIndex = false
    if (word.stop === '=') return right({ value: path, next: at })
    if (word.stop === '[') {
      const index = indexFrom(line, at)
      if (isLeft(index)) return index
      path.push({ index: index.right.value })
      at = index.right.next
      isAfterIndex = true
    }
    if (path.length > maxLevels) return left(`a name has more than ${maxLevels} parts`)
  }
}

/**
 * Parses one `--set` line into its assignments, in order: `a.b=c`, `list[0].x=1`, `args={one,two}`, several separated
 * by commas; a backslash escapes the next character. Left describes the error and does not contain the value.
 */
export const parseSet = (line: string, mode: SetMode): Either<string, readonly Assignment[]> => {
  const assignments: Assignment[] = []
  let at = 0
  while (at < line.length) {
    const path = pathFrom(line, at)
    if (isLeft(path)) return path
    const value = valueFrom(line, path.right.next, mode)
    if (isLeft(value)) return value
    assignments.push({ path: path.right.value, value: value.right.value })
    at = value.right.next
  }
  return right(assignments)
}

/** Maps and lists that were already copied. Each is copied on first write, so that the input is not modified. */
type Touched = WeakSet<object>

const writableTable = (touched: Touched, base: Json | undefined): Record<string, Json | undefined> => {
  const table = asTable(base) ?? {}
  if (touched.has(table)) return table as Record<string, Json | undefined>
  const copy = { ...table }
  touched.add(copy)
  return copy
}

const writableList = (touched: Touched, base: Json | undefined): Json[] => {
  const list: readonly Json[] = Array.isArray(base) ? (base as readonly Json[]) : []
  if (touched.has(list)) return list as Json[]
  const copy = [...list]
  touched.add(copy)
  return copy
}

const assigned = (
  touched: Touched,
  base: Json | undefined,
  path: readonly PathStep[],
  at: number,
  value: Json,
): Json => {
  const step = path[at]
  if (step === undefined) return value
  if ('key' in step) {
    const { key } = step
    const table = writableTable(touched, base)
    const below = assigned(touched, Object.hasOwn(table, key) ? table[key] : undefined, path, at + 1, value)
    // `__proto__` is treated as an ordinary key.
    Object.defineProperty(table, key, { value: below, writable: true, enumerable: true, configurable: true })
    return table as FreeObject
  }
  const list = writableList(touched, base)
  while (list.length <= step.index) list.push(null)
  list[step.index] = assigned(touched, list[step.index], path, at + 1, value)
  return list
}

/** Applies the assignments to the values in order. Anything on a path that is not a map or list is replaced by one. */
export const assignAll = (base: FreeObject, assignments: readonly Assignment[]): FreeObject => {
  const touched: Touched = new WeakSet()
  return assignments.reduce<FreeObject>(
    (values, { path, value }) => asTable(assigned(touched, values, path, 0, value)) ?? {},
    base,
  )
}

/** Returns the number of list elements that the assignments may create. */
export const listPlaces = (assignments: readonly Assignment[]): number => {
  let places = 0
  for (const { path } of assignments) for (const step of path) if ('index' in step) places += step.index + 1
  return places
}
