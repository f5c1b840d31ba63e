/** A JSON Schema of OpenAPI 3.1, as far as this document uses it. */
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
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** The named schemas that a document's operations refer to, gathered as they are met. */
export interface SchemaRegistry {
  /** Answers a reference to a named schema, describing it on first sight. Throws when two shapes claim one name. */
  reference(name: string, codec: object, describe: () => Schema): Schema
  /** Every named schema, sorted by name. */
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
      } else if (owner !== codec && JSON.stringify(describe()) !== JSON.stringify(schemas.get(name))) {
        throw new Error(`Two codecs of different shape are both named ${name}: rename one, or use the same codec.`)
      }
      return { $ref: `#/components/schemas/${name}` }
    },
    all: () => Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
