import * as t from 'io-ts'
import { either } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { responseIdForm } from '../../core/tasks/ports.ts'

/** Extra facts of a codec for the OpenAPI walker, kept beside io-ts's own tags. */
export interface SchemaNote {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly minItems?: number
  readonly description?: string
}
const notes = new WeakMap<object, SchemaNote>()
/** What a codec of ours wraps, by the way of wrapping. */
const repeatables = new WeakMap<object, t.Any>()
const optionals = new WeakMap<object, t.Any>()
const arrays = new WeakMap<object, t.Any>()

/**
 * Attaches schema facts to a copy of a codec, and answers the copy. One codec serves many keys: a note on it would stand
 * at all of them.
 */
export const noted = <C extends t.Any>(codec: C, note: SchemaNote): C => {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(codec) as object) as C, codec)
  notes.set(copy, { ...notes.get(codec), ...note })
  for (const inner of [repeatables, optionals, arrays]) {
    const codecWithin = inner.get(codec)
    if (codecWithin !== undefined) inner.set(copy, codecWithin)
  }
  return copy
}
export const noteOf = (codec: t.Any): SchemaNote | undefined => notes.get(codec)

const scalar = <A>(name: string, is: (u: unknown) => u is A, note: SchemaNote): t.Type<A, A, unknown> =>
  noted(
    new t.Type<A, A, unknown>(name, is, (u, c) => (is(u) ? t.success(u) : t.failure(u, c)), t.identity),
    note,
  )

const hasLoneSurrogate = (text: string): boolean => !text.isWellFormed()

/** Free text: any well-formed Unicode without NUL, up to `max` UTF-16 units (4,000 unless told). */
export const freeText = (max = 4000, min = 0): t.Type<string, string, unknown> =>
  scalar(
    `text of ${min} to ${max} characters`,
    (u): u is string =>
      typeof u === 'string' && u.length >= min && u.length <= max && !u.includes('\0') && !hasLoneSurrogate(u),
    { type: 'string', maxLength: max, ...(min > 0 ? { minLength: min } : {}) },
  )

/** Text that matches a pattern which must be linear in its input. */
export const patternText = (pattern: RegExp, max: number, name: string): t.Type<string, string, unknown> =>
  scalar(name, (u): u is string => typeof u === 'string' && u.length <= max && pattern.test(u), {
    type: 'string',
    maxLength: max,
    pattern: pattern.source,
  })

/** A JSON integer literal in -(2^53-1)..2^53-1. */
export const SafeInteger = scalar('an integer', (u): u is number => typeof u === 'number' && Number.isSafeInteger(u), {
  type: 'integer',
  format: 'int64',
})

/** An id in a body: an integer literal in 1..2^53-1. */
export const Id = scalar('an id (an integer from 1)', (u): u is number => typeof u === 'number' && Number.isSafeInteger(u) && u >= 1, {
  type: 'integer',
  format: 'int64',
  minimum: 1,
})

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n

/** A JSON integer literal of 64 bits; beyond 2^53 it arrives as bigint and leaves exactly. */
export const Int64 = scalar(
  'int64',
  (u): u is number | bigint =>
    (typeof u === 'number' && Number.isSafeInteger(u)) || (typeof u === 'bigint' && u >= int64Min && u <= int64Max),
  { type: 'integer', format: 'int64' },
)

/** A JSON integer literal of 32 bits, from `min`. */
export const int32 = (min = -(2 ** 31), max = 2 ** 31 - 1): t.Type<number, number, unknown> =>
  scalar(`integer from ${min} to ${max}`, (u): u is number => typeof u === 'number' && Number.isInteger(u) && u >= min && u <= max, {
    type: 'integer',
    format: 'int32',
    minimum: min,
    maximum: max,
  })

/** A finite number, however it was written (the body reader keeps `1.0` apart from the integer literal `1`). */
export const Float = noted(
  new t.Type<number, number, unknown>(
    'a number',
    (u): u is number => typeof u === 'number' && Number.isFinite(u),
    (u, c) => {
      const n = u instanceof Number ? u.valueOf() : u
      return typeof n === 'number' && Number.isFinite(n) ? t.success(n) : t.failure(u, c)
    },
    t.identity,
  ),
  { type: 'number', format: 'double' },
)

/**
 * An id in a path: `[1-9][0-9]{0,18}`. Beyond 2^53-1 it is well formed but cannot exist: it decodes to `undefined`'s
 * stand-in -1, which no row has, so the route answers its ordinary not-found.
 */
export const PathId = noted(
  new t.Type<number, string, unknown>(
    'an id (an integer from 1)',
    (u): u is number => typeof u === 'number' && Number.isSafeInteger(u),
    (u, c) => {
      if (typeof u !== 'string' || !/^[1-9][0-9]{0,18}$/.test(u)) return t.failure(u, c)
      const n = Number(u)
      if (Number.isSafeInteger(n)) return t.success(n)
      return BigInt(u) <= int64Max ? t.success(-1) : t.failure(u, c)
    },
    String,
  ),
  { type: 'integer', format: 'int64', minimum: 1 },
)

/** An account, team or cluster name as it stands in a path or query; whether it exists is another question. */
export const PathName = scalar(
  'a name',
  (u): u is string => typeof u === 'string' && u.length >= 1 && u.length <= 253 && /^[\w.-]+$/.test(u),
  { type: 'string', maxLength: 253, pattern: '^[\\w.-]+$' },
)

/** What a client calls the task that its request starts: the last word of the bus subject that carries the progress. */
export const ResponseId = patternText(responseIdForm, 64, '1 to 64 of the characters A-Z a-z 0-9 _ and -')

/** The rest of a path, with its slashes: what the `/*` of a route's path stands for. */
export const PathTail = scalar(
  'the rest of a path',
  (u): u is string => typeof u === 'string' && u.length >= 1 && u.length <= 1024 && !/[\0-\x1f\x7f]/.test(u) && u.isWellFormed(),
  { type: 'string', maxLength: 1024 },
)

/** A whole number in a query string. */
export const QueryInt = noted(
  new t.Type<number, string, unknown>(
    'an integer',
    (u): u is number => typeof u === 'number' && Number.isSafeInteger(u),
    (u, c) => {
      if (typeof u !== 'string' || !/^-?[0-9]{1,16}$/.test(u)) return t.failure(u, c)
      const n = Number(u)
      return Number.isSafeInteger(n) ? t.success(n) : t.failure(u, c)
    },
    String,
  ),
  { type: 'integer', format: 'int64' },
)

/** A whole number of a range in a query string. */
export const queryIntFrom = (min: number, max: number): t.Type<number, string, unknown> => {
  const isWithin = (u: unknown): u is number => typeof u === 'number' && Number.isSafeInteger(u) && u >= min && u <= max
  const codec = new t.Type<number, string, unknown>(
    `integer from ${min} to ${max}`,
    isWithin,
    (u, c) => (typeof u === 'string' && /^[0-9]{1,16}$/.test(u) && isWithin(Number(u)) ? t.success(Number(u)) : t.failure(u, c)),
    String,
  )
  return noted(codec, { type: 'integer', format: 'int64', minimum: min, maximum: max })
}

/** An id in a query string. As with `PathId`, beyond 2^53-1 it is well formed but names nothing: it decodes to -1. */
export const QueryId = noted(
  new t.Type<number, string, unknown>(
    'an integer',
    (u): u is number => typeof u === 'number' && Number.isSafeInteger(u),
    (u, c) => {
      if (typeof u !== 'string' || !/^-?[0-9]{1,19}$/.test(u)) return t.failure(u, c)
      const n = Number(u)
      if (Number.isSafeInteger(n)) return t.success(n)
      return BigInt(u) >= int64Min && BigInt(u) <= int64Max ? t.success(-1) : t.failure(u, c)
    },
    String,
  ),
  { type: 'integer', format: 'int64' },
)

/** `true` or `false` in a query string (`1` and `0` are understood). */
export const QueryBoolean = noted(
  new t.Type<boolean, string, unknown>(
    'true or false',
    t.boolean.is,
    (u, c) => (u === 'true' || u === '1' ? t.success(true) : u === 'false' || u === '0' ? t.success(false) : t.failure(u, c)),
    String,
  ),
  { type: 'boolean' },
)

/** A query parameter that may stand several times. Decodes to a list, empty when absent. */
export const repeatable = <A>(item: t.Type<A, string, unknown>): t.Type<readonly A[], readonly string[], unknown> => {
  const array = t.array(item)
  const codec = new t.Type<readonly A[], readonly string[], unknown>(
    `list of ${item.name}`,
    (u): u is readonly A[] => array.is(u),
    (u, c) => array.validate(u === undefined ? [] : Array.isArray(u) ? u : [u], c),
    (a) => a.map(item.encode),
  )
  repeatables.set(codec, item)
  return codec
}
/** The item codec of a repeatable parameter. */
export const repeatedItem = (codec: t.Any): t.Any | undefined => repeatables.get(codec)

/** A key that may be absent. `null` counts as absent, as the clients of this interface send it. */
export const optional = <A, O>(codec: t.Type<A, O, unknown>): t.Type<A | undefined, O | undefined, unknown> => {
  const made = new t.Type<A | undefined, O | undefined, unknown>(
    codec.name,
    (u): u is A | undefined => u === undefined || codec.is(u),
    (u, c) => (u === undefined || u === null ? t.success(undefined) : codec.validate(u, c)),
    (a) => (a === undefined ? undefined : codec.encode(a)),
  )
  optionals.set(made, codec)
  return made
}
/** The codec inside an optional one, or undefined when the key is required. */
export const optionalInner = (codec: t.Any): t.Any | undefined => optionals.get(codec)

/** An array of at most `max` items (and at least `min`). */
export const listOf = <A, O>(codec: t.Type<A, O, unknown>, max: number, min = 0): t.Type<readonly A[], readonly O[], unknown> => {
  const array = t.array(codec)
  const made = new t.Type<readonly A[], readonly O[], unknown>(
    `${min} to ${max} items`,
    (u): u is readonly A[] => array.is(u),
    (u, c) =>
      Array.isArray(u) && (u.length > max || u.length < min)
        ? t.failure(u, c)
        : (either.map(array.validate(u, c), (xs) => xs as readonly A[]) as t.Validation<readonly A[]>),
    (a) => a.map(codec.encode),
  )
  arrays.set(made, codec)
  return noted(made, { type: 'array', maxItems: max, ...(min > 0 ? { minItems: min } : {}) })
}
/** The item codec of a bounded array. */
export const listedItem = (codec: t.Any): t.Any | undefined => arrays.get(codec)

/** One word of a closed list. */
export const oneOf = <S extends string>(...words: readonly [S, ...S[]]): t.KeyofC<Record<S, null>> =>
  t.keyof(Object.fromEntries(words.map((w) => [w, null])) as Record<S, null>)

const isJson = (u: unknown): u is Json => u === null || ['string', 'number', 'bigint', 'boolean', 'object'].includes(typeof u)

/** Any JSON value. */
export const AnyJson = scalar('any JSON value', isJson, {})

/** A free-form JSON object. */
export const FreeObjectCodec = scalar(
  'an object',
  (u): u is FreeObject => typeof u === 'object' && u !== null && !Array.isArray(u),
  { type: 'object' },
)

const base64Text = /^[A-Za-z0-9+/]*={0,2}$/

/** Bytes as base64, bare or as a `data:` URL. */
export const Base64Bytes = noted(
  new t.Type<Uint8Array, string, unknown>(
    'bytes in base64',
    (u): u is Uint8Array => u instanceof Uint8Array,
    (u, c) => {
      const text = typeof u === 'string' ? u.replace(/^data:[\w.+/-]{1,100};base64,/, '') : ''
      if (text === '' || text.length % 4 !== 0 || !base64Text.test(text)) return t.failure(u, c)
      return t.success(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)))
    },
    (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')),
  ),
  { type: 'string', format: 'byte' },
)

/** An RFC 3339 instant in answers. */
export const DateTime = noted(
  new t.Type<string, string, unknown>('date-time', t.string.is, (u, c) => t.string.validate(u, c), t.identity),
  { type: 'string', format: 'date-time' },
)

/** A request object: unknown keys are dropped. */
export const request = <P extends t.Props>(props: P, name: string): t.ExactC<t.TypeC<P>> => t.exact(t.type(props, name), name)

/** An answer object: its keys are all there are. */
export const answer = <P extends t.Props>(props: P, name: string): t.TypeC<P> => t.type(props, name)
