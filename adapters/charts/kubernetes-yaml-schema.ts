import { NOT_RESOLVED, Schema, defineMappingTag, defineScalarTag, mergeTag, seqTag, strTag } from 'js-yaml'

/**
 * How the YAML library of Kubernetes and Helm (sigs.k8s.io/yaml) reads plain scalars: YAML 1.1 booleans, octals with a
 * leading zero or `0o`, underscores in numbers, no sexagesimals, instants as text, every key as text.
 */
const name = (word: string): string => `tag:yaml.org,2002:${word}`
const digits = [...'0123456789']

const truths: ReadonlySet<string> = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'])
const untruths: ReadonlySet<string> = new Set(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'])
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

/** Between -2^63 and 2^64 - 1; beyond 2^53 a bigint. */
const readInteger = (source: string): number | bigint | typeof NOT_RESOLVED => {
  const [, sign, literal] = integer.exec(source.replaceAll('_', '')) ?? []
  if (literal === undefined) return NOT_RESOLVED
  const size = BigInt(/^0[0-7]/.test(literal) ? `0o${literal}` : literal.toLowerCase())
  const value = sign === '-' ? -size : size
  if (value < leastInteger || value > greatestInteger) return NOT_RESOLVED
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** Numbers that a reader takes for integers; larger ones become floats. */
const isWhole = (value: unknown): boolean => {
  const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value) && !Object.is(value, -0) && !String(value).includes('e'))
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

const numbers = (notFinite: () => number) => defineScalarTag<number>(name('float'), {
  implicit: true,
  implicitFirstChars: ['-', '+', '.', ...digits],
  resolve: (source) => {
    if (noNumber.test(source)) return notFinite()
    const plain = source.startsWith('.') ? source : source.replaceAll('_', '')
    const value = float.test(plain) ? Number(plain) : Number.NaN
    return Number.isFinite(value) ? value : NOT_RESOLVED
  },
  identify: (value) => (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) && !isWhole(value),
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

/** Scalars under a tag that means nothing here stay text. */
const foreignTags = ['!', 'tag:'].map((prefix) => defineScalarTag<string>(prefix, { matchByTagPrefix: true, resolve: (source) => source, identify: () => false }))
const foreignSequences = ['!', 'tag:'].map((prefix) => ({ ...seqTag, tagName: prefix, matchByTagPrefix: true, identify: () => false }))

interface Carrier {
  readonly pairs: Map<string, unknown>
  /** Keys that a `<<` brought: the first of several sources wins. */
  readonly merged: Set<string>
  asked: string | undefined
}

const keyText = (key: unknown): string | undefined =>
  typeof key === 'string' || typeof key === 'boolean' || typeof key === 'number' || typeof key === 'bigint' ? String(key) : undefined

/** Keys become text. A `<<` overwrites what stands before it, as it does in the library of Kubernetes. */
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
    // Asked only before a merged key is added.
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
  strTag, nullTag, boolTag, intTag, floatTag, binaryTag, mergeTag, seqTag,
  ...foreignTags, ...foreignSequences,
  mapping(name('map'), false), ...['!', 'tag:'].map((prefix) => mapping(prefix, true)),
])

/** What other readers take for something else than text: instants, sexagesimals, octals of YAML 1.2, `=`. */
const elsewhere = /^(?:\d{4}-\d\d?-\d\d?(?:[Tt \t].*)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[-+]?0[oO][0-7]+|=|[-+]?\.(?:inf|nan)|[-+]?[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9]+)?)$/i

const misreadTag = defineScalarTag<string>(name('misread'), {
  implicit: true,
  implicitFirstChars: ['-', '+', '.', '=', '_', ...digits],
  resolve: (source) => (elsewhere.test(source) ? source : NOT_RESOLVED),
  identify: () => false,
})

/** For printing: text that any reader could misread is quoted. */
export const printingSchema = kubernetesSchema.withTags(numbers(() => Number.NaN), misreadTag)
