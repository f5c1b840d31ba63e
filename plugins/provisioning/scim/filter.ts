import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'

/*
 * Filters of SCIM (RFC 7644 §3.4.2.2): `userName eq "ann" and not (active eq false)`, `emails[type eq "work"]`.
 */

const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]
export type FilterValue = string | number | boolean | null

/** A parsed filter. Paths are as they were sent. */
export type Filter =
  | { readonly kind: 'both' | 'either'; readonly of: readonly [Filter, Filter] }
  | { readonly kind: 'not'; readonly of: Filter }
  | { readonly kind: 'present'; readonly path: string }
  | { readonly kind: 'compare'; readonly path: string; readonly by: Comparison; readonly value: FilterValue }
  /** An element of a list fulfils the filter, whose paths are parts of the element. */
  | { readonly kind: 'element'; readonly path: string; readonly of: Filter }

/** A longer filter is refused. */
const maxLength = 2000
/** Deeper parentheses are refused. */
const maxDepth = 20

const tokenPattern = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y

const tokensOf = (text: string): readonly string[] | undefined => {
  const tokens: string[] = []
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < text.trimEnd().length) {
    const match = tokenPattern.exec(text)
    if (match === null) return undefined
    tokens.push(match[1] ?? match[2] ?? match[3] ?? '')
  }
  return tokens
}

const pathPattern = /^(?:urn:[\w.:+-]+:)?[A-Za-z$][\w$-]*(?:\.[A-Za-z$][\w$-]*)?$/

const valueOf = (token: string | undefined): Either<string, FilterValue> => {
  if (token === undefined) return left('the filter ends before a value')
  if (/^(?:true|false|null)$/i.test(token)) return right(JSON.parse(token.toLowerCase()) as FilterValue)
  if (!/^(?:"|-?\d)/.test(token)) return left(`${token} is not a value: write texts in double quotes`)
  try {
    return right(JSON.parse(token) as FilterValue)
  } catch {
    return left(`${token} is not a value`)
  }
}

type Parsed = Either<string, Filter>

const elementOf =
  (path: string) =>
  (of: Filter): Filter => ({ kind: 'element', path, of })

/** Reads tokens by the precedence of the standard: `not` before `and` before `or`. */
const makeReader = (tokens: readonly string[]) => {
  let at = 0
  const isNext = (word: string): boolean => tokens[at]?.toLowerCase() === word
  const take = (word: string): boolean => {
    const isThere = isNext(word)
    if (isThere) at += 1
    return isThere
  }
  const joined = (kind: 'both' | 'either', word: string, depth: number, next: (depth: number) => Parsed): Parsed => {
    let result = next(depth)
    while (!isLeft(result) && take(word)) {
      const second = next(depth)
      if (isLeft(second)) return second
      result = right({ kind, of: [result.right, second.right] })
    }
    return result
  }
  const either = (depth: number): Parsed =>
    depth > maxDepth ? left(`more than ${maxDepth} levels`) : joined('either', 'or', depth, both)
  const both = (depth: number): Parsed => joined('both', 'and', depth, one)
  const enclosed = (close: string, depth: number): Parsed => {
    const inner = either(depth + 1)
    if (isLeft(inner)) return inner
    return take(close) ? inner : left(`${close} is missing`)
  }
  const one = (depth: number): Parsed => {
    if (isNext('not') && tokens[at + 1] === '(') {
      at += 2
      return map((of: Filter): Filter => ({ kind: 'not', of }))(enclosed(')', depth))
    }
    if (take('(')) return enclosed(')', depth)
    const path = tokens[at] ?? ''
    if (!pathPattern.test(path)) return left(path === '' ? 'the filter ends too early' : `${path} is not an attribute`)
    at += 1
    if (take('[')) {
      const of = enclosed(']', depth)
      if (isLeft(of) || tokens[at]?.startsWith('.') !== true) return map(elementOf(path))(of)
      // Entra writes `emails[type eq "work"].value eq "…"`, which the grammar of the standard lacks.
      const part = tokens[at]?.slice(1) ?? ''
      at += 1
      if (!pathPattern.test(part)) return left(`${part} is not an attribute`)
      return map((last: Filter): Filter => elementOf(path)({ kind: 'both', of: [of.right, last] }))(compared(part))
    }
    return compared(path)
  }
  const compared = (path: string): Parsed => {
    if (take('pr')) return right({ kind: 'present', path })
    const by = comparisons.find((each) => isNext(each))
    if (by === undefined) return left(`after ${path} one of ${comparisons.join(', ')} or pr is expected`)
    const value = valueOf(tokens[at + 1])
    at += 2
    return map((given: FilterValue): Filter => ({ kind: 'compare', path, by, value: given }))(value)
  }
  return { either, isAtEnd: () => at >= tokens.length, rest: () => tokens.slice(at).join(' ') }
}

/** Parses a filter. The Left says what is wrong, as the end of a sentence. */
export const parseFilter = (text: string): Parsed => {
  if (text.length > maxLength) return left(`it is longer than ${maxLength} characters`)
  const tokens = tokensOf(text)
  if (tokens === undefined) return left('a double quote is missing')
  const reader = makeReader(tokens)
  const filter = reader.either(0)
  if (isLeft(filter) || reader.isAtEnd()) return filter
  return left(`${reader.rest().slice(0, 50)} is not expected`)
}

/** A path of a PATCH: an attribute, elements of a list, or a part of those elements. */
export interface PatchPath {
  readonly path: string
  readonly elements: Filter | undefined
  /** The part of the elements, for `emails[type eq "work"].value`. */
  readonly part: string | undefined
}

/** Parses the path of an operation of PATCH (RFC 7644 §3.5.2). */
export const parsePatchPath = (text: string): Either<string, PatchPath> => {
  if (text.length > maxLength) return left(`it is longer than ${maxLength} characters`)
  const open = text.indexOf('[')
  if (open === -1)
    return pathPattern.test(text) ? right({ path: text, elements: undefined, part: undefined }) : left('not a path')
  const close = text.lastIndexOf(']')
  const [path, inner, tail] = [text.slice(0, open), text.slice(open + 1, close), text.slice(close + 1)]
  if (close < open || !pathPattern.test(path) || !/^(?:\.[A-Za-z$][\w$-]*)?$/.test(tail)) return left('not a path')
  return map((elements: Filter): PatchPath => ({ path, elements, part: tail === '' ? undefined : tail.slice(1) }))(
    parseFilter(inner),
  )
}
