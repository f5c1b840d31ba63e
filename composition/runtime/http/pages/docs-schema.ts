import { toWireJson } from '../../../../core/kernel/json.ts'
import { anyPattern, linePattern, linesPattern } from '../../../../plugins/kit/codecs.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { Schema } from '../openapi/schema.ts'

/** A property of a body as the documentation page shows it. `properties` is empty for a value without parts. */
interface ShownProperty {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
  readonly bounds: string
  readonly properties: readonly ShownProperty[]
  readonly hasProperties: boolean
}

/** A schema as the documentation page shows it: its type in words, and the properties of its objects. */
export type ShownSchema = Pick<ShownProperty, 'type' | 'description' | 'bounds' | 'properties' | 'hasProperties'>

/** The depth below which an object is shown by its name only. */
const deepest = 6

const prefix = '#/components/schemas/'

const formInWords = new Map([
  [linePattern.source, 'one line'],
  [linesPattern.source, 'may have line breaks'],
  [anyPattern.source, 'no NUL'],
])

/** Returns the bounds of a value in words: `1 to 40 characters, at least 1`. */
const boundsOf = (schema: Schema): string => {
  const range = (least: number | undefined, most: number | undefined, unit: string): readonly string[] => {
    if (least === undefined && most === undefined) return []
    if (least === undefined) return [`at most ${most}${unit}`]
    if (most === undefined) return [`at least ${least}${unit}`]
    return [least === most ? `${least}${unit}` : `${least} to ${most}${unit}`]
  }
  return [
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...range(schema.minimum, schema.maximum, ''),
    ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map((value) => toWireJson(value)).join(', ')}`]),
    ...(schema.const === undefined ? [] : [`always ${toWireJson(schema.const)}`]),
    ...(schema.pattern === undefined ? [] : [formInWords.get(schema.pattern) ?? `matches ${schema.pattern}`]),
  ].join('; ')
}

interface Unfolded {
  readonly schema: Schema
  /** The names of the components that led to the schema. */
  readonly seen: readonly string[]
}

/**
 * Returns the function that shows a schema of a document. References are replaced by what they name, except inside of
 * themselves and below the sixth level, where the name alone is shown.
 */
export const makeShowSchema = ({
  components,
}: Pick<OpenApiDocument, 'components'>): ((schema: Schema) => ShownSchema) => {
  const unfold = ({ schema, seen }: Unfolded): Unfolded | undefined => {
    if (schema.$ref === undefined) return { schema, seen }
    const name = schema.$ref.slice(prefix.length)
    const found = components.schemas[name]
    return found === undefined || seen.includes(name) || seen.length >= deepest
      ? undefined
      : unfold({ schema: found, seen: [...seen, name] })
  }

  const typeOf = (at: Unfolded): string => {
    const { schema } = unfold(at) ?? at
    if (
      at.schema.$ref !== undefined &&
      (schema.type === 'object' || schema.allOf !== undefined || schema.$ref !== undefined)
    )
      return at.schema.$ref.slice(prefix.length)
    if (schema.type === 'array')
      return `array of ${schema.items === undefined ? 'any value' : typeOf({ schema: schema.items, seen: at.seen })}`
    if (schema.anyOf !== undefined)
      return [...new Set(schema.anyOf.map((part) => typeOf({ schema: part, seen: at.seen })))].join(' or ')
    if (schema.type !== undefined)
      return `${[schema.type].flat().join(' or ')}${schema.format === undefined ? '' : ` (${schema.format})`}`
    if (schema.allOf !== undefined) return 'object'
    return schema.enum !== undefined || schema.const !== undefined ? 'value' : 'any value'
  }

  const propertiesOf = (at: Unfolded): readonly ShownProperty[] => {
    const found = unfold(at)
    if (found === undefined) return []
    const { schema, seen } = found
    if (schema.allOf !== undefined) return schema.allOf.flatMap((part) => propertiesOf({ schema: part, seen }))
    if (schema.anyOf !== undefined) return schema.anyOf.flatMap((part) => propertiesOf({ schema: part, seen }))
    if (schema.items !== undefined) return propertiesOf({ schema: schema.items, seen })
    const own = Object.entries(schema.properties ?? {}).map(([name, property]) =>
      shownProperty(name, { schema: property, seen }, schema.required?.includes(name) ?? false),
    )
    const { additionalProperties } = schema
    return typeof additionalProperties === 'object'
      ? [...own, shownProperty('(any name)', { schema: additionalProperties, seen }, false)]
      : own
  }

  const shown = (at: Unfolded): ShownSchema => {
    const { schema } = unfold(at) ?? at
    const properties = propertiesOf(at)
    return {
      type: typeOf(at),
      description: at.schema.description ?? schema.description ?? '',
      bounds: boundsOf(schema),
      properties,
      hasProperties: properties.length > 0,
    }
  }

  const shownProperty = (name: string, at: Unfolded, isRequired: boolean): ShownProperty => ({
    name,
    isRequired,
    ...shown(at),
  })

  return (schema) => shown({ schema, seen: [] })
}
