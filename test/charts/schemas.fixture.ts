import fc from 'fast-check'
import type { FreeObject, Json } from '../../core/kernel/json.ts'

/** Schemas of both generations: keywords of the old drafts and the new ones, over a few names. */
const scalar = fc.constantFrom<Json>(null, true, 0, 1, 2.5, -3, 9007199254740991, '', 'a', 'abc', 'a@b.c', '2020-01-01')
const keyName = fc.constantFrom('a', 'b', 'c')
const anyValue = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }) as fc.Arbitrary<Json>,
    fc.dictionary(keyName, tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
})).value
const anySchema = fc.letrec<{ schema: Json }>((tie) => {
  const list = fc.array(tie('schema'), { minLength: 1, maxLength: 2 })
  const names = fc.uniqueArray(keyName, { maxLength: 2 })
  return {
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.boolean() as fc.Arbitrary<Json>,
      fc.record(
        {
          type: fc.constantFrom('object', 'array', 'string', 'integer', 'number', 'boolean', 'null', [
            'string',
            'null',
          ]),
          properties: fc.dictionary(keyName, tie('schema'), { maxKeys: 3 }),
          additionalProperties: tie('schema'),
          required: names,
          minProperties: fc.nat(2),
          propertyNames: fc.constant({ maxLength: 1 }),
          patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), tie('schema'), { maxKeys: 1 }),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Json>,
      fc.record(
        {
          items: fc.oneof(tie('schema'), list),
          prefixItems: list,
          contains: tie('schema'),
          minContains: fc.nat(2),
          maxContains: fc.nat(2),
          uniqueItems: fc.boolean(),
          minItems: fc.nat(2),
          additionalItems: tie('schema'),
          minLength: fc.nat(2),
          pattern: fc.constantFrom('^a', '[0-9]'),
          format: fc.constantFrom('email', 'date', 'ipv4', 'uri', 'unheard-of'),
          minimum: fc.constantFrom(0, 2, 2.5),
          exclusiveMaximum: fc.constantFrom(1, 3),
          multipleOf: fc.constantFrom(1, 0.5, 2),
          enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
          const: scalar,
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Json>,
      fc.record(
        {
          allOf: list,
          anyOf: list,
          oneOf: list,
          not: tie('schema'),
          if: tie('schema'),
          then: tie('schema'),
          else: tie('schema'),
          dependentRequired: fc.dictionary(keyName, names, { maxKeys: 1 }),
          dependencies: fc.dictionary(keyName, names, { maxKeys: 1 }),
          dependentSchemas: fc.dictionary(keyName, tie('schema'), { maxKeys: 1 }),
          unevaluatedProperties: tie('schema'),
          unevaluatedItems: tie('schema'),
          properties: fc.dictionary(keyName, tie('schema'), { maxKeys: 2 }),
          $ref: fc.constantFrom('#/$defs/d', '#/definitions/d', '#/properties/a'),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Json>,
    ),
  }
}).schema
const dialects = fc.constantFrom(
  undefined,
  undefined,
  'http://json-schema.org/draft-07/schema#',
  'http://json-schema.org/draft-04/schema#',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
)
export const wholeSchema = fc.tuple(anySchema, dialects).map(([schema, $schema]): Json =>
  typeof schema === 'object'
    ? {
        ...(schema as FreeObject),
        ...($schema === undefined ? {} : { $schema }),
        $defs: { d: { type: 'string' } },
        definitions: { d: { minimum: 1 } },
      }
    : schema,
)
export const someValues = fc.dictionary(keyName, anyValue, { maxKeys: 3 }) as fc.Arbitrary<FreeObject>
