import test from 'ava'
import type { Operation } from '../../composition/http/openapi/document.ts'
import { buildDocument, resolvedResponses } from '../../composition/http/openapi/document.ts'
import type { Schema } from '../../composition/http/openapi/schema.ts'
import { declaredRoutes } from '../support/declared-routes.ts'

/** The parts whose operations, parameters and properties all have a description. */
const parts = ['contracts', 'usage']
/** Components of other parts that these return too. */
const ofOthers = ['ClusterInfo']

const document = buildDocument(declaredRoutes(), {
  baseUrl: 'https://moorage.test',
  sessionCookie: 'moorage_session',
  deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
})
const operations = Object.values(document.paths)
  .flatMap((item) => Object.values(item).filter((each): each is Operation => 'operationId' in each))
  .filter(({ operationId }) => parts.includes(operationId.split('.')[0] ?? ''))

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

/** Returns the properties without a description, each once. */
const undescribed = (schema: Schema, where: string, seen: Set<string>): readonly string[] => {
  const name = schema.$ref?.split('/').at(-1)
  if (name !== undefined) {
    const component = document.components.schemas[name]
    if (component === undefined || seen.has(name) || ofOthers.includes(name)) return []
    seen.add(name)
    return undescribed(component, name, seen)
  }
  const within = [schema.items, typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, property]) => [...(property.description === undefined ? [`${where}.${key}`] : []), ...undescribed(property, `${where}.${key}`, seen)]),
    ...within.flatMap((inner) => (inner === undefined ? [] : undescribed(inner, where, seen))),
  ]
}

test('every operation has a description', (t) => {
  t.true(operations.length > 60)
  t.deepEqual(operations.filter(({ description }) => (description ?? '') === '').map(({ operationId }) => operationId), [])
})

test('every parameter has a description', (t) => {
  const without = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters.flatMap((parameter) => ('name' in parameter && (parameter.description ?? parameter.schema.description) === undefined ? [`${operationId}: ${parameter.name}`] : [])),
  )
  t.deepEqual(without, [])
})

test('every property of bodies and answers has a description', (t) => {
  const seen = new Set<string>()
  const without = operations.flatMap((operation) => {
    const answers = Object.entries(resolvedResponses(document, operation)).flatMap(([status, answer]) => (status.startsWith('2') ? [answer] : []))
    const contents = [operation.requestBody, ...answers].flatMap((each) => Object.values((each as Body | undefined)?.content ?? {}))
    return contents.flatMap(({ schema }) => (schema === undefined ? [] : undescribed(schema, operation.operationId, seen)))
  })
  t.deepEqual(without, [])
  t.true(seen.size > 50)
})
