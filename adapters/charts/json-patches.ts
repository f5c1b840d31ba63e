import { left, right, type Either } from 'fp-ts/lib/Either.js'
import fastJsonPatch, { type Operation } from 'fast-json-patch'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isObject, definedFields } from '../../core/kernel/json.ts'
import { PatchRefused, type JsonPatches } from '../../core/packages/ports.ts'

const maxOperations = 10_000
/** The number of values that `copy` and `add` may add in total: repeated copies double the document each time. */
const maxValues = 1_000_000
const maxDepth = 200

const ops: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/** The library copies through JSON text, which has no bigint. */
const mark = '\u0000bigint:'
type Plain = string | number | boolean | null | Plain[] | { [key: string]: Plain }

class Refused extends Error {}

const plainOf = (value: unknown, depth = 0): Plain => {
  if (depth > maxDepth) throw new Refused('something nests too deep')
  if (typeof value === 'bigint') return `${mark}${value}`
  if (Array.isArray(value)) return value.map((item) => plainOf(item, depth + 1))
  if (value instanceof Number) return value.valueOf()
  if (!isObject(value)) return value === undefined ? null : (value as Plain)
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(pairs.map(([key, item]) => [key, plainOf(item, depth + 1)]))
}

const jsonOf = (value: Plain, depth = 0): Json => {
  if (depth > maxDepth) throw new Refused('the result nests too deep')
  if (typeof value === 'string') return value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value
  if (Array.isArray(value)) return value.map((item) => jsonOf(item, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonOf(item, depth + 1)]))
}

/** A long text counts as several values: a few copies of it would use as much memory as a million numbers. */
const sizeOf = (value: Plain): number => {
  if (typeof value === 'string') return 1 + Math.floor(value.length / 32)
  return typeof value !== 'object' || value === null
    ? 1
    : Object.values(value).reduce<number>((sum, item) => sum + sizeOf(item), 1)
}

const tokensOf = (pointer: unknown): readonly string[] => {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/')))
    throw new Refused('a path must be empty or begin with a slash')
  if (/~(?![01])/.test(pointer)) throw new Refused('a path has a tilde that is neither ~0 nor ~1')
  const tokens =
    pointer === ''
      ? []
      : pointer
          .slice(1)
          .split('/')
          .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (tokens.includes('__proto__')) throw new Refused('a path names __proto__')
  return tokens
}

class Missing extends Refused {}

/** Returns the value at a pointer. Only own keys are found, so not `toString` and other inherited ones. */
const valueAt = (document: Plain, tokens: readonly string[]): Plain => {
  let at: Plain = document
  for (const token of tokens) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, token) || (Array.isArray(at) && token === 'length'))
      throw new Missing('its path is not there')
    at = (at as Record<string, Plain>)[token] as Plain
  }
  return at
}

const checkTarget = (document: Plain, tokens: readonly string[]): void => {
  const last = tokens.at(-1)
  if (last === undefined) return
  const parent = valueAt(document, tokens.slice(0, -1))
  if (typeof parent !== 'object' || parent === null) throw new Missing('its path is not there')
  if (Array.isArray(parent) && last !== '-' && !(/^(0|[1-9]\d*)$/.test(last) && Number(last) <= parent.length))
    throw new Refused('its path names no place of the list')
}

interface Step {
  readonly document: Plain
  /** The number of values added. */
  readonly added: number
}

const applyOne = (document: Plain, operation: unknown): Step => {
  if (!isObject(operation)) throw new Refused('it is no object')
  const { op, path, from, value } = operation
  if (typeof op !== 'string' || !ops.has(op))
    throw new Refused('its op is none of add, remove, replace, move, copy, test')
  const needsValue = op === 'add' || op === 'replace' || op === 'test'
  if (needsValue && value === undefined) throw new Refused('it has no value')
  const target = tokensOf(path)
  const source = op === 'move' || op === 'copy' ? valueAt(document, tokensOf(from)) : undefined
  if (op === 'add' || op === 'copy') checkTarget(document, target)
  else if (op !== 'move') valueAt(document, target)
  if (op === 'move') {
    const fromTokens = tokensOf(from)
    if (target.length > fromTokens.length && fromTokens.every((token, i) => target[i] === token))
      throw new Refused('it moves a value into itself')
  }
  if (op === 'remove' && target.length === 0) throw new Refused('it removes the whole document')
  // The library's own copy and move clone the whole document on each operation to check it.
  if (op === 'copy')
    return { document: applied(document, { op: 'add', path, value: plainOf(source) }), added: sizeOf(source as Plain) }
  if (op === 'move') {
    const rest = applied(document, { op: 'remove', path: from })
    checkTarget(rest, target)
    return { document: applied(rest, { op: 'add', path, value: source }), added: 0 }
  }
  const given = needsValue ? plainOf(value) : undefined
  const step = { op, path, ...definedFields({ value: given }) }
  return { document: applied(document, step), added: given === undefined ? 0 : sizeOf(given) }
}

const applied = (document: Plain, operation: object): Plain =>
  fastJsonPatch.applyOperation(document, operation as Operation, true, true, true).newDocument

const reasonOf = (error: unknown): string =>
  error instanceof Refused
    ? error.message
    : error instanceof fastJsonPatch.JsonPatchError
      ? error.name.toLowerCase().replaceAll('_', ' ')
      : 'it does not fit the document'

const apply = (
  document: Json,
  patch: Json,
  options: { readonly tolerateMissing?: boolean } = {},
): Either<Failure<'PatchRefused'>, Json> => {
  if (!Array.isArray(patch)) return left(PatchRefused('A patch must be a list of operations.'))
  if (patch.length > maxOperations) return left(PatchRefused(`A patch may have ${maxOperations} operations.`))
  let at = 0
  try {
    let current = plainOf(document)
    let added = 0
    for (const operation of patch) {
      try {
        const step = applyOne(current, operation)
        current = step.document
        added += step.added
      } catch (error) {
        const isTolerated =
          options.tolerateMissing === true && error instanceof Missing && (operation as FreeObject)['op'] === 'remove'
        if (!isTolerated) throw error
      }
      if (added > maxValues) throw new Refused('it and those before it copy too much')
      at += 1
    }
    return right(jsonOf(current))
  } catch (error) {
    return left(
      PatchRefused(
        at < patch.length
          ? `Operation ${at} of the patch is refused: ${reasonOf(error)}.`
          : `The patch is refused: ${reasonOf(error)}.`,
      ),
    )
  }
}

/** JsonPatches over fast-json-patch. Paths are checked first, because the library follows inherited properties. */
export const fastJsonPatches: JsonPatches = {
  apply,
  between: (from, to) => {
    const [a, b] = [plainOf(from), plainOf(to)]
    // The library compares the members of two containers of the same kind.
    const isComparable =
      typeof a === 'object' &&
      a !== null &&
      typeof b === 'object' &&
      b !== null &&
      Array.isArray(a) === Array.isArray(b)
    if (!isComparable) return a === b ? [] : [{ op: 'replace', path: '', value: to }]
    return fastJsonPatch.compare(a, b).map((operation) => jsonOf(operation as unknown as Plain))
  },
}
