import { definedFields, toWireJson } from '../../../../core/kernel/json.ts'
import type { Answer } from '../answer/packed-answer.ts'
import type { OpenApiDocument, Operation } from '../openapi/document.ts'
import { resolvedResponses } from '../openapi/document.ts'
import type { Parameter, ParameterRef } from '../openapi/parameters.ts'
import type { Response } from '../openapi/responses.ts'
import type { Schema } from '../openapi/schema.ts'
import { makeShowSchema, type ShownSchema } from './docs-schema.ts'
import { inlineSource, pageFile, pageStyle, renderPage } from '../../../part/pages/web-page.ts'
import { packedAnswer, type PackedAnswer } from '../answer/packed-answer.ts'

/** The documentation page of a service, by the path below `/api/v1/docs`. */
export interface DocsPage {
  /** The list of all operations. */
  readonly index: PackedAnswer
  /** Returns the page of one operation, or undefined if there is no such operation. */
  operation(id: string): PackedAnswer | undefined
}

const docsPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${inlineSource(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  // The form of an operation has no action: the script sends the request.
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = (vary?: string): Answer['headers'] => ({
  'Content-Security-Policy': docsPolicy,
  ...definedFields({ Vary: vary }),
})

/** The files that the page loads, by name. */
const assetFiles: Readonly<Record<string, { readonly type: string; readonly file: string }>> = {
  'docs.js': { type: 'text/javascript; charset=utf-8', file: 'scripts/docs.js' },
  'kit.js': { type: 'text/javascript; charset=utf-8', file: 'scripts/kit.js' },
  'docs.css': { type: 'text/css; charset=utf-8', file: 'docs.css' },
}

/** The asset of the page with this name, or undefined. */
export const makeDocsAssets = (): ((name: string) => PackedAnswer | undefined) => {
  const assets = new Map(
    Object.entries(assetFiles).map(([name, { type, file }]) => [name, packedAnswer(type, pageFile(file))]),
  )
  return (name) => assets.get(name)
}

interface Located {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

const operationsOf = ({ paths }: OpenApiDocument): readonly Located[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      'operationId' in operation ? [{ path, method: method.toUpperCase(), operation }] : [],
    ),
  )

/** A run of text, of which every second one is code. */
const textRuns = (text: string): readonly object[] =>
  text.split('`').map((run, at) => (at % 2 === 0 ? { plain: run } : { code: run }))

const line = ({ path, method, operation: { operationId, summary } }: Located): object => ({
  id: operationId,
  method,
  methodClass: method.toLowerCase(),
  path,
  summary,
})

type View = Readonly<Record<string, unknown>>

const indexOf = (document: OpenApiDocument): View => {
  const all = operationsOf(document)
  return {
    title: String(document.info['title']),
    interfaceVersion: String(document.info['version']),
    lead: String(document.info['summary']),
    count: all.length,
    groups: document.tags.map(({ name, description }, at) => {
      const operations = all.filter(({ operation }) => operation.tags[0] === name)
      return {
        name,
        description,
        anchor: `group-${at + 1}`,
        count: operations.length,
        operations: operations.map(line),
      }
    }),
  }
}

const accessWords = (access: unknown): string => {
  const { kind, relation, object } = access as {
    readonly kind: string
    readonly relation?: string
    readonly object?: string
  }
  if (kind === 'granted') return `Requires the relation \`${relation}\` on the ${object}.`
  const words: Readonly<Record<string, string>> = {
    public: 'Requires no credential.',
    password: 'Requires the password, with HTTP Basic.',
    'signed-in': 'Requires any credential of a user.',
    'site-admin': 'Requires a site admin.',
  }
  return words[kind] ?? ''
}

const resolved = (document: OpenApiDocument, parameter: ParameterRef): Parameter | undefined =>
  'name' in parameter
    ? parameter
    : (document.components['parameters']?.[parameter.$ref.slice('#/components/parameters/'.length)] as
        | Parameter
        | undefined)

/** Headers that the page or the browser sets by itself. */
const setByPage: readonly string[] = ['X-Csrf-Token']

const parametersOf = (document: OpenApiDocument, operation: Operation): readonly object[] => {
  const show = makeShowSchema(document)
  return (operation.parameters ?? []).flatMap((each, at) => {
    const parameter = resolved(document, each)
    if (parameter === undefined) return []
    const { name, in: place, required, description, schema } = parameter
    const { type, bounds } = show(schema)
    const described = textRuns(description ?? schema.description ?? '')
    return [
      {
        name,
        place,
        field: `p${at}`,
        isRequired: required === true,
        isAsked: !setByPage.includes(name),
        isRest: parameter['x-rest-of-path'] === true,
        type,
        bounds,
        described,
      },
    ]
  })
}

interface Content {
  readonly schema: Schema
  readonly example?: unknown
}

const contentOf = (
  show: (schema: Schema) => ShownSchema,
  content: Readonly<Record<string, Content>> | undefined,
): readonly object[] =>
  Object.entries(content ?? {}).map(([mediaType, { schema, example }]) => ({
    mediaType,
    ...show(schema),
    hasExample: example !== undefined,
    example: example === undefined ? '' : toWireJson(example, 2),
  }))

const responseView = (
  show: (schema: Schema) => ShownSchema,
  [status, response]: readonly [string, Response],
): object => {
  const isError = Number(status) >= 400
  return {
    status,
    statusClass: isError ? 'error' : 'ok',
    described: textRuns(response.description),
    // The form of an error is the same everywhere: it is described once.
    contents: isError ? [] : contentOf(show, response.content as Readonly<Record<string, Content>> | undefined),
  }
}

const operationView = (document: OpenApiDocument, located: Located): View => {
  const { operation, path } = located
  const show = makeShowSchema(document)
  const request = operation.requestBody as
    | { readonly content?: Readonly<Record<string, Content>>; readonly description?: string }
    | undefined
  const contents = contentOf(show, request?.content)
  const json = contents.find(
    (content) => (content as { readonly mediaType: string }).mediaType === 'application/json',
  ) as { readonly example?: string } | undefined
  const parameters = parametersOf(document, operation)
  return {
    ...line(located),
    tag: operation.tags[0],
    described: textRuns(operation.description ?? ''),
    access: textRuns(accessWords(operation['x-access'])),
    scope: operation['x-scope'] ?? '',
    gate: operation['x-gate'] === 'always' ? '' : operation['x-gate'],
    parameters,
    hasParameters: parameters.length > 0,
    hasBody: request !== undefined,
    contents,
    bodyExample: json?.example ?? '',
    responses: Object.entries(resolvedResponses(document, operation)).map((entry) => responseView(show, entry)),
    // The routes of another listener cannot be called from this page.
    isTried: document.paths[path]?.['servers'] === undefined,
  }
}

/** Returns the documentation page of a document. A page is drawn at its first request. */
export const makeDocsPage = (document: OpenApiDocument): DocsPage => {
  const located = new Map(operationsOf(document).map((each) => [each.operation.operationId, each]))
  const drawn = new Map<string, PackedAnswer>()
  let index: PackedAnswer | undefined
  return {
    index: (acceptEncoding) =>
      (index ??= packedAnswer('text/html; charset=utf-8', renderPage('docs', indexOf(document)), headers('Accept')))(
        acceptEncoding,
      ),
    operation(id) {
      const known = drawn.get(id)
      const found = located.get(id)
      if (known !== undefined || found === undefined) return known
      const answer = packedAnswer(
        'text/html; charset=utf-8',
        renderPage('docs-operation', operationView(document, found)),
        headers(),
      )
      drawn.set(id, answer)
      return answer
    },
  }
}
