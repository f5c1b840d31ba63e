/** Why a JSON text was refused. */
export type JsonRefusal = 'syntax' | 'depth'

/** How deep arrays and objects may nest: beyond this, recursive decoders and encoders would be at risk. */
export const maxJsonDepth = 64

const quote = 34
const backslash = 92

/** The deepest nesting of a JSON text, found without building it; stops counting above `limit`. */
export const depthExceeds = (text: string, limit: number): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === backslash) i++
      else if (c === quote) inString = false
    } else if (c === quote) inString = true
    else if (c === 91 || c === 123) {
      if (++depth > limit) return true
    } else if (c === 93 || c === 125) depth--
  }
  return false
}

const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g

/** A key that stands twice in one object of a valid JSON text. `JSON.parse` takes the last, other readers the first. */
export const repeatedKey = (text: string): string | undefined => {
  // The keys of each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = []
  let isKeyDue = false
  for (const [token] of text.matchAll(jsonToken)) {
    if (token === '}' || token === ']') open.pop()
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined)
    const keys = open.at(-1)
    if (isKeyDue && token.startsWith('"')) {
      const key = JSON.parse(token) as string
      if (keys?.has(key) === true) return key
      keys?.add(key)
    }
    isKeyDue = keys !== undefined && (token === '{' || token === ',')
  }
  return undefined
}

// A literal of 16 digits may be beyond 2^53; a literal with point or exponent is no integer literal, even `1.0`.
const needsSource = /\d{16}|\d[.eE]/
const integerLiteral = /^-?\d+$/

const reviveNumber = (value: unknown, source: string | undefined): unknown => {
  if (typeof value !== 'number' || source === undefined) return value
  if (!integerLiteral.test(source)) return Number.isInteger(value) ? Object(value) : value
  return Number.isSafeInteger(value) ? value : BigInt(source)
}

/**
 * Parses JSON without losing integers: beyond 2^53 they become bigint. A whole number that was not written as an
 * integer literal (`1.0`, `1e3`) becomes a Number object, which integer codecs refuse and `Float` takes.
 */
export const parseJson = (text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: JsonRefusal } => {
  if (depthExceeds(text, maxJsonDepth)) return { ok: false, why: 'depth' }
  try {
    const value: unknown = needsSource.test(text)
      ? JSON.parse(text, (_key, parsed: unknown, context?: { source?: string }) => reviveNumber(parsed, context?.source))
      : JSON.parse(text)
    return { ok: true, value }
  } catch {
    return { ok: false, why: 'syntax' }
  }
}
