import test from 'ava'
import type { OpenApiDocument, Operation } from '../../composition/runtime/http/openapi/document.ts'
import { buildDocument } from '../../composition/runtime/http/openapi/document.ts'
import type { Schema } from '../../composition/runtime/http/openapi/schema.ts'
import { declaredRoutes, documentTags } from '../support/declared-routes.ts'
import { sampleRoutes } from '../support/sample-routes.ts'

const facts = {
  baseUrl: 'https://moorage.test',
  sessionCookie: 'moorage_session',
  deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
  tags: documentTags,
} as const

/**
 * Returns the properties below a schema that say nothing. One that refers to a component says what the component says.
 */
const silentProperties = (document: OpenApiDocument, where: string, schema: Schema): readonly string[] => {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const named =
      property.$ref === undefined ? undefined : document.components.schemas[property.$ref.split('/').at(-1) ?? '']
    const isSaid = property.description !== undefined || named?.description !== undefined
    return [...(isSaid ? [] : [`${where}.${name}`]), ...silentProperties(document, `${where}.${name}`, property)]
  })
  const inner = [
    schema.items,
    typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined,
  ]
  const parts = [...inner, ...(schema.allOf ?? []), ...(schema.anyOf ?? [])]
  return [...own, ...parts.flatMap((part) => (part === undefined ? [] : silentProperties(document, where, part)))]
}

const operationsOf = (document: OpenApiDocument): readonly Operation[] =>
  Object.values(document.paths).flatMap((item) =>
    Object.values(item).filter((each): each is Operation => 'operationId' in each),
  )

/** Returns what a document does not describe: properties, parameters and failures. */
const silent = (document: OpenApiDocument): readonly string[] => [
  ...Object.entries(document.components.schemas).flatMap(([name, schema]) => silentProperties(document, name, schema)),
  ...operationsOf(document).flatMap(({ operationId, parameters }) =>
    (parameters ?? []).flatMap((parameter) =>
      '$ref' in parameter || parameter.description !== undefined || parameter.schema.description !== undefined
        ? []
        : [`${operationId} ${parameter.in} ${parameter.name}`],
    ),
  ),
]

test('each property and each parameter has a description', (t) => {
  t.deepEqual(
    silent(buildDocument(declaredRoutes(), facts)),
    [],
    'use described(codec, sentence) of plugins/kit/codecs.ts',
  )
})

test('each operation has a summary, and each failure a meaning of its own', (t) => {
  const routes = declaredRoutes().map(({ bound }) => bound.route)
  t.deepEqual(
    routes.filter(({ summary }) => summary.trim() === '').map(({ id }) => id),
    [],
  )
  const meanings = new Map(
    routes.flatMap(({ failures }) => failures.map(({ tag, meaning }) => [tag, meaning] as const)),
  )
  t.true(meanings.size > 100)
  t.deepEqual(
    [...meanings].filter(([, meaning]) => !/^[A-Z`].{10,}\.$/.test(meaning)).map(([tag]) => tag),
    [],
  )
})

test('a missing description is found', (t) => {
  t.true(silent(buildDocument(sampleRoutes, facts)).includes('BoatOption.name'))
})
