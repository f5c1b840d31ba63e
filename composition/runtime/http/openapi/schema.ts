import type * as t from 'io-ts'
import { listedItem, noteOf, optionalInner, repeatedItem } from '../../../../plugins/kit/codecs.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'

/** A JSON Schema of OpenAPI 3.1, limited to what this document uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** The named schemas that the operations of a document refer to, collected as they occur. */
export interface SchemaRegistry {
  /**
   * Returns a reference to a named schema, which is described at its first use. Throws when two shapes have the same
   * name.
   */
  reference(name: string, codec: object, describe: () => Schema): Schema
  /** Returns a named schema that occurred before. */
  named(name: string): Schema | undefined
  /** Returns every named schema, sorted by name. */
  all(): Readonly<Record<string, Schema>>
}

export const makeSchemaRegistry = (): SchemaRegistry => {
  const owners = new Map<string, object>()
  const schemas = new Map<string, Schema>()
  return {
    reference: (name, codec, describe) => {
      const owner = owners.get(name)
      if (owner === undefined) {
        owners.set(name, codec)
        schemas.set(name, describe())
      } else if (owner !== codec && toWireJson(describe()) !== toWireJson(schemas.get(name))) {
        throw new Error(`Two codecs of different shape are both named ${name}: rename one, or use the same codec.`)
      }
      return { $ref: `#/components/schemas/${name}` }
    },
    named: (name) => schemas.get(name),
    all: () => Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** The properties of io-ts codecs at run time that the walker reads. */
interface Tagged {
  readonly _tag?: string
  readonly name: string
  readonly props?: Readonly<Record<string, t.Any>>
  readonly type?: t.Any
  readonly types?: readonly t.Any[]
  readonly codomain?: t.Any
  readonly keys?: Readonly<Record<string, unknown>>
  readonly value?: unknown
}

type Describe = (codec: Tagged, walk: (codec: t.Any) => Schema) => Schema

const isUndefined = (codec: t.Any): boolean => ['UndefinedType', 'VoidType'].includes((codec as Tagged)._tag ?? '')

const mayBeAbsent = (codec: t.Any): boolean => {
  if (optionalInner(codec) !== undefined || repeatedItem(codec) !== undefined) return true
  const { _tag, types } = codec as Tagged
  return _tag === 'UnionType' && (types ?? []).some(isUndefined)
}

const objectOf = (codec: Tagged, walk: (codec: t.Any) => Schema, isPartial: boolean): Schema => {
  const entries = Object.entries(codec.props ?? {})
  const required = isPartial ? [] : entries.filter(([, prop]) => !mayBeAbsent(prop)).map(([key]) => key)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, prop]) => [key, walk(prop)])),
    ...(required.length === 0 ? {} : { required }),
  }
}

const inner: Describe = (codec, walk) => walk(codec.type as t.Any)

/** Generators of clients make no type of a union in which everything is allowed. */
const isAnything = ({ description: _, ...rest }: Schema): boolean => Object.keys(rest).length === 0

const anyOf: Describe = (codec, walk) => {
  const parts = (codec.types ?? []).filter((part) => !isUndefined(part)).map(walk)
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  if (parts.some(isAnything))
    throw new Error(`A part of the union "${codec.name}" has no type: note it (plugins/kit/codecs.ts noted).`)
  if (parts.every((part) => part.const !== undefined)) return { enum: parts.map((part) => part.const) }
  return { anyOf: parts }
}

const describers: Readonly<Record<string, Describe>> = {
  StringType: () => ({ type: 'string' }),
  NumberType: () => ({ type: 'number' }),
  BooleanType: () => ({ type: 'boolean' }),
  BigIntType: () => ({ type: 'integer', format: 'int64' }),
  NullType: () => ({ type: 'null' }),
  UnknownType: () => ({}),
  AnyType: () => ({}),
  AnyDictionaryType: () => ({ type: 'object' }),
  AnyArrayType: () => ({ type: 'array', items: {} }),
  InterfaceType: (codec, walk) => objectOf(codec, walk, false),
  StrictType: (codec, walk) => objectOf(codec, walk, false),
  PartialType: (codec, walk) => objectOf(codec, walk, true),
  IntersectionType: (codec, walk) => ({ allOf: (codec.types ?? []).map(walk) }),
  UnionType: anyOf,
  TaggedUnionType: anyOf,
  ArrayType: (codec, walk) => ({ type: 'array', items: walk(codec.type as t.Any) }),
  ReadonlyArrayType: (codec, walk) => ({ type: 'array', items: walk(codec.type as t.Any) }),
  LiteralType: (codec) => ({ const: codec.value }),
  KeyofType: (codec) => ({ type: 'string', enum: Object.keys(codec.keys ?? {}) }),
  DictionaryType: (codec, walk) => ({ type: 'object', additionalProperties: walk(codec.codomain as t.Any) }),
  ExactType: inner,
  ReadonlyType: inner,
  RecursiveType: inner,
  RefinementType: (codec, walk) => (codec.name === 'Int' ? { type: 'integer' } : walk(codec.type as t.Any)),
}

const componentName = /^[A-Z][A-Za-z0-9]*$/
/** Tags of codecs that become components of their own when their names have the form of the specification. */
const nameable = new Set([
  'InterfaceType',
  'StrictType',
  'PartialType',
  'IntersectionType',
  'UnionType',
  'ExactType',
  'ReadonlyType',
  'RecursiveType',
  'KeyofType',
])

const isNamed = ({ _tag, name }: Tagged): boolean =>
  _tag !== undefined && nameable.has(_tag) && componentName.test(name)

/**
 * Returns the codec inside `exact` and `readonly`. They often have the same name as the codec they wrap: one component,
 * not two.
 */
const shapeOf = (codec: Tagged): Tagged => {
  const wrapped = codec.type as Tagged | undefined
  const isWrapper = ['ExactType', 'ReadonlyType', 'RecursiveType'].includes(codec._tag ?? '')
  return isWrapper && wrapped !== undefined && wrapped.name === codec.name ? shapeOf(wrapped) : codec
}

const listSchema = (codec: t.Any, item: t.Any, walk: (codec: t.Any) => Schema): Schema => ({
  type: 'array',
  ...noteOf(codec),
  items: walk(item),
})

/**
 * Returns the JSON Schema of a codec, from the notes of the codecs of this project or else from io-ts's tags. Named
 * objects and unions are added to the registry and referenced. Throws on a codec that has neither.
 */
export const schemaOf = (codec: t.Any, registry: SchemaRegistry): Schema => {
  const walk = (other: t.Any): Schema => schemaOf(other, registry)
  const optional = optionalInner(codec)
  // What is noted on the optional codec is about this key, and what is noted inside is about the value.
  if (optional !== undefined) return { ...walk(optional), ...noteOf(codec) }
  const item = repeatedItem(codec) ?? listedItem(codec)
  if (item !== undefined) return listSchema(codec, item, walk)
  const tagged = codec as Tagged
  const note = noteOf(codec)
  const describe = describers[tagged._tag ?? '']
  if (describe === undefined) {
    if (note === undefined)
      throw new Error(`The codec "${codec.name}" has no schema: note it (plugins/kit/codecs.ts noted).`)
    return note
  }
  if (!isNamed(tagged)) return { ...describe(tagged, walk), ...note }
  const shape = shapeOf(tagged)
  const describeShape = describers[shape._tag ?? ''] ?? describe
  // What is noted is about the place that refers to the component.
  return { ...registry.reference(tagged.name, shape, () => describeShape(shape, walk)), ...note }
}
