import * as t from 'io-ts'
import { either } from 'fp-ts/lib/Either.js'
import { parseInstant } from '../../core/kernel/clock.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { responseIdForm } from '../../core/tasks/ports.ts'

/** Extra facts about a codec for the OpenAPI walker, kept separately from io-ts's own tags. */
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
  readonly items?: SchemaNote
  readonly description?: string
}
const notes = new WeakMap<object, SchemaNote>()

/** What the values of a parameter name: an object of a type, by its id, its name or another key of it. */
export interface ObjectName {
  readonly object: string
  readonly by: string
}

/** The inner codec of each wrapping codec, by kind of wrapping. */
const repeatables = new WeakMap<object, t.Any>()
const optionals = new WeakMap<object, t.Any>()
const arrays = new WeakMap<object, t.Any>()
const objectNames = new WeakMap<object, ObjectName | 'none'>()

/**
 * Returns a copy of a codec with schema facts attached. The codec itself is not changed, since it may serve many keys
 * and the note would apply to all of them.
 */
export const noted = <C extends t.Any>(codec: C, note: SchemaNote): C => {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(codec) as object) as C, codec)
  notes.set(copy, { ...notes.get(codec), ...note })
  for (const inner of [repeatables, optionals, arrays]) {
    const codecWithin = inner.get(codec)
    if (codecWithin !== undefined) inner.set(copy, codecWithin)
  }
  const named = objectNames.get(codec)
  if (named !== undefined) objectNames.set(copy, named)
  return copy
}

/**
 * Returns a copy of the codec of a parameter whose values name an object: `naming(Serial, 'license', 'serial')`. Each
 * parameter in a path, and each text and id in a query string, says so or is a `plainValue`.
 */
export const naming = <C extends t.Any>(codec: C, object: string, by: string): C => marked(codec, { object, by })

/** Returns a copy of the codec of a parameter whose values name no object: a filter, a cursor, a free text. */
export const plainValue = <C extends t.Any>(codec: C): C => marked(codec, 'none')

const marked = <C extends t.Any>(codec: C, mark: ObjectName | 'none'): C => {
  const copy = noted(codec, {})
  objectNames.set(copy, mark)
  return copy
}

/** Returns what the values of a parameter name, `none` for a plain value, or undefined if its codec does not say it. */
export const objectNameOf = (codec: t.Any): ObjectName | 'none' | undefined => {
  const inner = optionals.get(codec) ?? repeatables.get(codec)
  return objectNames.get(codec) ?? (inner === undefined ? undefined : objectNameOf(inner))
}

/**
 * Returns a copy of a codec with the meaning of the field, one sentence with its unit and its default. A component
 * keeps its own description: the meaning is that of the reference to it.
 */
export const described = <C extends t.Any>(codec: C, description: string): C => noted(codec, { description })
export const noteOf = (codec: t.Any): SchemaNote | undefined => notes.get(codec)

const scalar = <A>(name: string, is: (u: unknown) => u is A, note: SchemaNote): t.Type<A, A, unknown> =>
  noted(new t.Type<A, A, unknown>(name, is, (u, c) => (is(u) ? t.success(u) : t.failure(u, c)), t.identity), note)

const hasLoneSurrogate = (text: string): boolean => !text.isWellFormed()

/** A line has no control character, whatever its length. */
export const linePattern = /^[^\x00-\x1f\x7f-\x9f]*$/
/** A text may have tabs and line breaks. */
export const linesPattern = /^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$/
export const anyPattern = /^[^\x00]*$/

const text = (name: string, form: RegExp, max: number, min: number): t.Type<string, string, unknown> =>
  scalar(
    name,
    (u): u is string =>
      typeof u === 'string' && u.length >= min && u.length <= max && form.test(u) && !hasLoneSurrogate(u),
    { type: 'string', maxLength: max, ...(min > 0 ? { minLength: min } : {}), pattern: form.source },
  )

/**
 * Returns a codec of a line: a name, a word, an address, a token, a new password. It is any well-formed Unicode of up
 * to `max` UTF-16 units (4,000 by default) without control characters: lists, mails, logs and terminals show it as it
 * is.
 */
export const freeText = (max = 4000, min = 0): t.Type<string, string, unknown> =>
  text(`one line of ${min} to ${max} characters, without control characters`, linePattern, max, min)

/**
 * Returns a codec of a text of several lines: a description, a document in YAML or PEM. It has no control characters
 * but tabs and line breaks.
 */
export const textLines = (max: number, min = 0): t.Type<string, string, unknown> =>
  text(
    `text of ${min} to ${max} characters, without control characters but line breaks and tabs`,
    linesPattern,
    max,
    min,
  )

/**
 * Returns a codec of text that is compared or judged afterwards, and is neither stored nor shown as it is: a password
 * that proves something, which may have been set when control characters were allowed, and a field whose refusal is
 * part of a result. It has no NUL.
 */
export const givenText = (max = 4000): t.Type<string, string, unknown> =>
  text(`text of 0 to ${max} characters`, anyPattern, max, 0)

/** Returns a codec of text that matches a pattern. The pattern must run in time linear in its input. */
export const patternText = (pattern: RegExp, max: number, name: string): t.Type<string, string, unknown> =>
  scalar(name, (u): u is string => typeof u === 'string' && u.length <= max && pattern.test(u), {
    type: 'string',
    maxLength: max,
    pattern: pattern.source,
  })

/** A DNS-1123 label: the name of a namespace, a spoke or a cluster set in a body. */
export const DnsLabel = patternText(
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  63,
  "a DNS label: 1 to 63 lower-case letters, digits and '-', a letter or digit first and last",
)

/** A JSON integer literal in -(2^53-1)..2^53-1. */
export const SafeInteger = scalar('an integer', (u): u is number => typeof u === 'number' && Number.isSafeInteger(u), {
  type: 'integer',
  format: 'int64',
})

/** An id in a body: an integer literal in 1..2^53-1. */
export const Id = scalar(
  'an id (an integer from 1)',
  (u): u is number => typeof u === 'number' && Number.isSafeInteger(u) && u >= 1,
  {
    type: 'integer',
    format: 'int64',
    minimum: 1,
  },
)

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n

/** A 64-bit JSON integer literal. Beyond 2^53 it decodes to a bigint and is encoded exactly. */
export const Int64 = scalar(
  'int64',
  (u): u is number | bigint =>
    (typeof u === 'number' && Number.isSafeInteger(u)) || (typeof u === 'bigint' && u >= int64Min && u <= int64Max),
  { type: 'integer', format: 'int64' },
)

/** Returns a codec of a 32-bit JSON integer literal from `min`. */
export const int32 = (min = -(2 ** 31), max = 2 ** 31 - 1): t.Type<number, number, unknown> =>
  scalar(
    `integer from ${min} to ${max}`,
    (u): u is number => typeof u === 'number' && Number.isInteger(u) && u >= min && u <= max,
    {
      type: 'integer',
      format: 'int32',
      minimum: min,
      maximum: max,
    },
  )

/** A finite number in any notation. The body reader distinguishes `1.0` from the integer literal `1`. */
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
 * An id in a path: `[1-9][0-9]{0,18}`. Above 2^53-1 it is well formed but cannot exist. It then decodes to -1, which no
 * row has, so the route returns its ordinary not-found.
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

/** Returns `PathId` for ids of objects of one type: `pathId<RoleId>('role')`. */
export const pathId = <A extends number>(object: string): t.Type<A, string, unknown> =>
  naming(PathId, object, 'id') as unknown as t.Type<A, string, unknown>

/** Returns `Id` for ids of one type: `bodyId<TeamId>()`. */
export const bodyId = <A extends number>(): t.Type<A, A, unknown> => Id as unknown as t.Type<A, A, unknown>

/** An account, team or cluster name in a path or a query. The codec does not check that it exists. */
export const PathName = scalar(
  'a name',
  (u): u is string => typeof u === 'string' && u.length >= 1 && u.length <= 253 && /^[\w.-]+$/.test(u),
  { type: 'string', maxLength: 253, pattern: '^[\\w.-]+$' },
)

/** Returns `PathName` for names of objects of one type: `pathName('cluster')`. */
export const pathName = (object: string): typeof PathName => naming(PathName, object, 'name')

/** The name of an organization in a path. */
export const OrgPathName = described(pathName('organization'), 'The name of the organization, without regard to case.')

/**
 * The client's name for the task that its request starts. It is the last token of the bus subject that carries the
 * progress.
 */
export const ResponseId = plainValue(patternText(responseIdForm, 64, '1 to 64 of the characters A-Z a-z 0-9 _ and -'))

/** The remainder of a path, with its slashes: what the `/*` of a route's path matches. */
export const PathTail = scalar(
  'the rest of a path',
  (u): u is string =>
    typeof u === 'string' && u.length >= 1 && u.length <= 1024 && !/[\0-\x1f\x7f]/.test(u) && u.isWellFormed(),
  { type: 'string', maxLength: 1024 },
)

/** An integer in a query string. */
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

/** Returns a codec of an integer within a range in a query string. */
export const queryIntFrom = (min: number, max: number): t.Type<number, string, unknown> => {
  const isWithin = (u: unknown): u is number => typeof u === 'number' && Number.isSafeInteger(u) && u >= min && u <= max
  const codec = new t.Type<number, string, unknown>(
    `integer from ${min} to ${max}`,
    isWithin,
    (u, c) =>
      typeof u === 'string' && /^[0-9]{1,16}$/.test(u) && isWithin(Number(u)) ? t.success(Number(u)) : t.failure(u, c),
    String,
  )
  return noted(codec, { type: 'integer', format: 'int64', minimum: min, maximum: max })
}

/** An id in a query string. As with `PathId`, above 2^53-1 it is well formed but does not exist, and decodes to -1. */
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

/** Returns `QueryId` for ids of objects of one type: `queryId<UserId>('user')`. */
export const queryId = <A extends number>(object: string): t.Type<A, string, unknown> =>
  naming(QueryId, object, 'id') as unknown as t.Type<A, string, unknown>

/** `true` or `false` in a query string. `1` and `0` are accepted. */
export const QueryBoolean = noted(
  new t.Type<boolean, string, unknown>(
    'true or false',
    t.boolean.is,
    (u, c) =>
      u === 'true' || u === '1' ? t.success(true) : u === 'false' || u === '0' ? t.success(false) : t.failure(u, c),
    String,
  ),
  { type: 'boolean' },
)

/** Returns a codec of a repeatable query parameter. It decodes to a list, empty when the parameter is absent. */
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
/** Returns the item codec of a repeatable parameter. */
export const repeatedItem = (codec: t.Any): t.Any | undefined => repeatables.get(codec)

/** Returns a codec of a key that may be absent. `null` counts as absent, since clients of this interface send it. */
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
/** Returns the codec inside an optional one, or undefined when the key is required. */
export const optionalInner = (codec: t.Any): t.Any | undefined => optionals.get(codec)

/** Returns a codec of an array with `min` to `max` items. */
export const listOf = <A, O>(
  codec: t.Type<A, O, unknown>,
  max: number,
  min = 0,
): t.Type<readonly A[], readonly O[], unknown> => {
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
/** Returns the item codec of a bounded array. */
export const listedItem = (codec: t.Any): t.Any | undefined => arrays.get(codec)

/** Returns a codec of one word of a closed list. */
export const oneOf = <S extends string>(...words: readonly [S, ...S[]]): t.KeyofC<Record<S, null>> =>
  t.keyof(Object.fromEntries(words.map((w) => [w, null])) as Record<S, null>)

const isJson = (u: unknown): u is Json =>
  u === null || ['string', 'number', 'bigint', 'boolean', 'object'].includes(typeof u)

/** Any JSON value. */
export const AnyJson = scalar('any JSON value', isJson, {})

/** A free-form JSON object. */
export const FreeObjectCodec = scalar(
  'an object',
  (u): u is FreeObject => typeof u === 'object' && u !== null && !Array.isArray(u),
  { type: 'object' },
)

const base64Text = /^[A-Za-z0-9+/]*={0,2}$/

/** Returns the bytes of a binary string; by a loop, because an iterator takes seconds for a large one. */
const bytesOf = (binary: string): Uint8Array => {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/**
 * Bytes as base64, bare or as a `data:` URL. Line breaks and spaces, as MIME and `base64` of shells write them, do not
 * count.
 */
export const Base64Bytes = noted(
  new t.Type<Uint8Array, string, unknown>(
    'bytes in base64',
    (u): u is Uint8Array => u instanceof Uint8Array,
    (u, c) => {
      const text =
        typeof u === 'string' ? u.replace(/^data:[\w.+/-]{1,100};base64,/, '').replace(/[\r\n\t ]+/g, '') : ''
      if (text === '' || text.length % 4 !== 0 || !base64Text.test(text)) return t.failure(u, c)
      return t.success(bytesOf(atob(text)))
    },
    (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')),
  ),
  { type: 'string', format: 'byte' },
)

/** The text of an RFC 3339 instant. The codec does not check the text. */
export const InstantText = noted(
  new t.Type<string, string, unknown>('date-time', t.string.is, (u, c) => t.string.validate(u, c), t.identity),
  { type: 'string', format: 'date-time' },
)

/** An RFC 3339 instant. It decodes to a `Date`, and is encoded in UTC with milliseconds. */
export const Instant = noted(
  new t.Type<Date, string, unknown>(
    'an RFC 3339 date-time',
    (u): u is Date => u instanceof Date,
    (u, c) => {
      const at = typeof u === 'string' ? parseInstant(u) : undefined
      return at === undefined ? t.failure(u, c) : t.success(at)
    },
    (at) => at.toISOString(),
  ),
  { type: 'string', format: 'date-time' },
)

/** Returns the codec of a request object. Unknown keys are dropped. */
export const request = <P extends t.Props>(props: P, name: string): t.ExactC<t.TypeC<P>> =>
  t.exact(t.type(props, name), name)

/** Returns the codec of an answer object. It has no other keys. */
export const answer = <P extends t.Props>(props: P, name: string): t.TypeC<P> => t.type(props, name)

/** The query of a route that submits a task. */
export const ResponseIdQuery = request(
  {
    'response-id': described(
      optional(ResponseId),
      'The name that the client gives to the task, which ends the bus subject of its progress; chosen by the ' +
        'service if absent.',
    ),
  },
  'ResponseIdQuery',
)

/** The answer for an accepted task. */
export const TaskResponse = answer(
  {
    id: described(t.string, 'The id of the task.'),
    subject: described(t.string, 'The subject of the message bus that carries the progress of the task.'),
  },
  'TaskResponse',
)
export const taskExample = {
  id: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44',
  subject: 'moorage.resp.7.5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1',
}
