import type { Either } from 'fp-ts/lib/Either.js'
import { left, map, right } from 'fp-ts/lib/Either.js'
import {
  defineMappingTag,
  defineScalarTag,
  dump,
  loadAll,
  mergeTag,
  NOT_RESOLVED,
  Schema,
  seqTag,
  strTag,
  YAMLException,
} from 'js-yaml'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import type { YamlText } from '../../core/packages/ports.ts'
import { TextUnreadable } from '../../core/packages/ports.ts'

/**
 * Plain scalars are read as by the YAML library of Kubernetes and Helm (sigs.k8s.io/yaml): YAML 1.1 booleans, octals
 * with a leading zero or `0o`, underscores in numbers, no sexagesimals, timestamps as text, every key as text.
 */
const name = (word: string): string => `tag:yaml.org,2002:${word}`
const digits = [...'0123456789']

const truths: ReadonlySet<string> = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'])
const untruths: ReadonlySet<string> = new Set([
  'n',
  'N',
  'no',
  'No',
  'NO',
  'false',
  'False',
  'FALSE',
  'off',
  'Off',
  'OFF',
])
const nothings: ReadonlySet<string> = new Set(['', '~', 'null', 'Null', 'NULL'])

const nullTag = defineScalarTag<null>(name('null'), {
  implicit: true,
  implicitFirstChars: ['', '~', 'n', 'N'],
  resolve: (source) => (nothings.has(source) ? null : NOT_RESOLVED),
  identify: (value) => value === null,
  represent: () => 'null',
})

const boolTag = defineScalarTag<boolean>(name('bool'), {
  implicit: true,
  implicitFirstChars: [...'yYnNtTfFoO'],
  resolve: (source) => (truths.has(source) ? true : untruths.has(source) ? false : NOT_RESOLVED),
  identify: (value) => typeof value === 'boolean',
  represent: String,
})

const integer = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/
const [leastInteger, greatestInteger] = [-(2n ** 63n), 2n ** 64n - 1n]

/** Reads an integer between -2^63 and 2^64 - 1; beyond 2^53 it is a bigint. */
const readInteger = (source: string): number | bigint | typeof NOT_RESOLVED => {
  const [, sign, literal] = integer.exec(source.replaceAll('_', '')) ?? []
  if (literal === undefined) return NOT_RESOLVED
  const size = BigInt(/^0[0-7]/.test(literal) ? `0o${literal}` : literal.toLowerCase())
  const value = sign === '-' ? -size : size
  if (value < leastInteger || value > greatestInteger) return NOT_RESOLVED
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** Reports whether a reader takes the number for an integer. Larger numbers become floats. */
const isWhole = (value: unknown): boolean => {
  const isInteger =
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isInteger(value) && !Object.is(value, -0) && !String(value).includes('e'))
  return isInteger && value >= leastInteger && value <= greatestInteger
}

const intTag = defineScalarTag<number | bigint>(name('int'), {
  implicit: true,
  implicitFirstChars: ['-', '+', ...digits],
  resolve: readInteger,
  identify: isWhole,
  represent: String,
})

const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const noNumber = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

const numbers = (notFinite: () => number) =>
  defineScalarTag<number>(name('float'), {
    implicit: true,
    implicitFirstChars: ['-', '+', '.', ...digits],
    resolve: (source) => {
      if (noNumber.test(source)) return notFinite()
      const plain = source.startsWith('.') ? source : source.replaceAll('_', '')
      const value = float.test(plain) ? Number(plain) : Number.NaN
      return Number.isFinite(value) ? value : NOT_RESOLVED
    },
    identify: (value) =>
      (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) && !isWhole(value),
    represent: (value: number | bigint) => (Object.is(value, -0) ? '-0.0' : String(Number(value))),
  })

/** JSON has no such number. */
const floatTag = numbers(() => {
  throw new Error('a number that is not finite')
})

const binaryTag = defineScalarTag<string>(name('binary'), {
  resolve: (source) => Buffer.from(source, 'base64').toString('utf8'),
  identify: () => false,
})

/** Scalars under an unknown tag remain text. */
const foreignTags = ['!', 'tag:'].map((prefix) =>
  defineScalarTag<string>(prefix, { matchByTagPrefix: true, resolve: (source) => source, identify: () => false }),
)
const foreignSequences = ['!', 'tag:'].map((prefix) => ({
  ...seqTag,
  tagName: prefix,
  matchByTagPrefix: true,
  identify: () => false,
}))

interface Carrier {
  readonly pairs: Map<string, unknown>
  /** Keys added by `<<`: the first of several sources has precedence. */
  readonly merged: Set<string>
  asked: string | undefined
}

const keyText = (key: unknown): string | undefined =>
  typeof key === 'string' || typeof key === 'boolean' || typeof key === 'number' || typeof key === 'bigint'
    ? String(key)
    : undefined

/** Keys become text. A `<<` overwrites the keys before it, as in the library of Kubernetes. */
const mapping = (tagName: string, matchByTagPrefix: boolean) =>
  defineMappingTag<Carrier, Record<string, unknown>>(tagName, {
    matchByTagPrefix,
    create: () => ({ pairs: new Map(), merged: new Set(), asked: undefined }),
    addPair: (carrier, key, value) => {
      const text = keyText(key)
      if (text === undefined) return 'a key is neither text nor a number nor a boolean'
      if (text === '__proto__') return 'a key is named __proto__'
      if (carrier.asked === text) carrier.merged.add(text)
      carrier.asked = undefined
      carrier.pairs.set(text, value)
      return ''
    },
    // Called only before a merged key is added.
    has: (carrier, key) => {
      carrier.asked = keyText(key)
      return carrier.asked !== undefined && carrier.merged.has(carrier.asked)
    },
    finalize: ({ pairs }) => Object.fromEntries(pairs),
    keys: (result) => Object.keys(result),
    get: (result, key) => result[String(key)],
    identify: (value) => !matchByTagPrefix && typeof value === 'object' && value !== null && !Array.isArray(value),
    represent: (value: Record<string, unknown>) => new Map(Object.entries(value)),
  })

export const kubernetesSchema = new Schema([
  strTag,
  nullTag,
  boolTag,
  intTag,
  floatTag,
  binaryTag,
  mergeTag,
  seqTag,
  ...foreignTags,
  ...foreignSequences,
  mapping(name('map'), false),
  ...['!', 'tag:'].map((prefix) => mapping(prefix, true)),
])

/** Texts that other readers do not take for text: timestamps, sexagesimals, octals of YAML 1.2, `=`. */
const elsewhere =
  /^(?:\d{4}-\d\d?-\d\d?(?:[Tt \t].*)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[-+]?0[oO][0-7]+|=|[-+]?\.(?:inf|nan)|[-+]?[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9]+)?)$/i

const misreadTag = defineScalarTag<string>(name('misread'), {
  implicit: true,
  implicitFirstChars: ['-', '+', '.', '=', '_', ...digits],
  resolve: (source) => (elsewhere.test(source) ? source : NOT_RESOLVED),
  identify: () => false,
})

/** The schema for printing: text that any reader could misread is quoted. */
const printingSchema = kubernetesSchema.withTags(
  numbers(() => Number.NaN),
  misreadTag,
)

/** UTF-16 units of one text. Larger than the largest manifest that fits a release record. */
const maxLength = 8 * 1024 * 1024
/** Deeper than any resource definition. */
const maxDepth = 200
const maxAliases = 10_000
const maxMergedKeys = 50_000

/**
 * Copies values that aliases share, so that each occurrence is a separate value. Stops when the copies exceed the
 * budget.
 */
const unshared = (value: Json, budget: { left: number }): Json => {
  budget.left -= typeof value === 'string' ? 1 + value.length : 1
  if (budget.left < 0) throw new Error('its aliases make too much of it')
  if (Array.isArray(value)) return value.map((item) => unshared(item as Json, budget))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as FreeObject).map(([key, item]) => {
      budget.left -= key.length
      return [key, unshared(item ?? null, budget)]
    }),
  )
}

/**
 * Returns the position and the library's reason, which repeats nothing of the text except names of anchors and tags.
 */
const reasonOf = (error: unknown): string => {
  if (error instanceof YAMLException)
    return error.mark === undefined ? error.reason : `${error.reason} (line ${error.mark.line + 1})`
  return (error as Error).message
}

const read = (text: string): Either<Failure<'TextUnreadable'>, readonly (Json | undefined)[]> => {
  if (text.length > maxLength) return left(TextUnreadable(`The text is longer than ${maxLength} characters.`))
  try {
    const source = text.startsWith('\uFEFF') ? text.slice(1) : text
    const documents = loadAll(source, {
      schema: kubernetesSchema,
      json: true,
      maxDepth,
      maxAliases,
      maxTotalMergeKeys: maxMergedKeys,
    }) as (Json | undefined)[]
    if (!source.includes('*')) return right(documents)
    const budget = { left: 100_000 + 8 * source.length }
    return right(documents.map((document) => (document === undefined ? undefined : unshared(document, budget))))
  } catch (error) {
    return left(TextUnreadable(`The text is no YAML that can be read: ${reasonOf(error)}.`))
  }
}

const isFilled = (document: Json | undefined): document is Json => document !== undefined && document !== null

/**
 * YamlText with the rules of sigs.k8s.io/yaml, over js-yaml, which reads large files many times faster than other
 * libraries.
 */
export const kubernetesYamlText: YamlText = {
  parse: (text) => {
    const documents = read(text)
    if (documents._tag === 'Left') return documents
    const filled = documents.right.filter(isFilled)
    if (filled.length > 1) return left(TextUnreadable('The text holds several documents; one is wanted.'))
    return right(filled[0] ?? documents.right.find((document) => document !== undefined))
  },
  parseAll: (text) => map((documents: readonly (Json | undefined)[]) => documents.filter(isFilled))(read(text)),
  print: (value) =>
    dump(value, {
      schema: printingSchema,
      noRefs: true,
      lineWidth: -1,
      seqNoIndent: true,
      quoteStyle: 'double',
      skipInvalid: true,
    }),
}
