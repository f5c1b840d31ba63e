// process: waiting - runs programs
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as codecs from 'io-ts'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { OpenApiDocument, Operation } from '../../composition/runtime/http/openapi/document.ts'
import { buildDocument, resolvedResponses } from '../../composition/runtime/http/openapi/document.ts'
import { parseJson, toWireJson } from '../../core/kernel/json.ts'
import { Instant, linePattern, noted, optional, PathName, request } from '../../plugins/kit/codecs.ts'
import type { Route } from '../../plugins/kit/route.ts'
import { declaredRoutes, documentTags } from '../support/declared-routes.ts'
import { sampleRoutes } from '../support/sample-routes.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const facts = {
  baseUrl: 'https://moorage.test',
  sessionCookie: 'moorage_session',
  deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
  tags: documentTags,
} as const

const documentOf = (routes: readonly AssembledRoute[]): OpenApiDocument => buildDocument(routes, facts)

const operations = (document: OpenApiDocument): readonly Operation[] =>
  Object.values(document.paths).flatMap((item) =>
    Object.values(item).filter((each): each is Operation => 'operationId' in each),
  )

const lint = async (document: OpenApiDocument): Promise<{ readonly code: number; readonly output: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-openapi-'))
  const file = join(folder, 'openapi.json')
  writeFileSync(file, toWireJson(document))
  const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')
  const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  try {
    const { stdout, stderr } = await run(process.execPath, [redocly, 'lint', '--format=stylish', file], {
      cwd: root,
      env: environment,
    })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const failed = error as { code: number; stdout: string; stderr: string }
    return { code: failed.code, output: failed.stdout + failed.stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('redocly finds nothing to complain about, whatever a declaration says', async (t) => {
  const { code, output } = await lint(documentOf([...sampleRoutes, ...declaredRoutes()]))
  t.is(code, 0, output)
})

test('only the listed lists begin with a page', (t) => {
  const isPaged = ({ parameters }: Operation): boolean => JSON.stringify(parameters ?? []).includes('/PagedLimit"')
  t.deepEqual(
    operations(documentOf(declaredRoutes()))
      .filter(isPaged)
      .map(({ operationId }) => operationId)
      .toSorted(),
    [
      'audit.listEvents',
      'audit.listOrganizationEvents',
      'audit.listOwnEvents',
      'identity.adminListEmails',
      'identity.adminSearchEmails',
      'identity.listFollowers',
      'identity.listFollowing',
      'identity.listOwnFollowers',
      'identity.listOwnFollowing',
      'identity.searchUsers',
      'organizations.listOrganizations',
      'organizations.searchTeams',
      'tasks.list',
    ],
  )
})

test('the lint is alive: a document with a wrong example fails', async (t) => {
  const [first] = sampleRoutes
  const broken = toWireJson(documentOf(sampleRoutes)).replaceAll('"name":"Ahoy"', '"name":7')
  t.not(first, undefined)
  const { code, output } = await lint(JSON.parse(broken) as OpenApiDocument)
  t.is(code, 1)
  t.regex(output, /no-invalid-media-type-examples/)
})

test('every route of every deployment is documented under its own operation', (t) => {
  const routes = declaredRoutes()
  const ids = new Set(operations(documentOf(routes)).map((operation) => operation.operationId))
  const expected = routes.flatMap(({ bound }) =>
    bound.kind === 'json'
      ? [bound.route.id]
      : bound.route.methods.map((method) => `${bound.route.id}.${method.toLowerCase()}`),
  )
  t.true(expected.length >= 2)
  t.deepEqual([...ids].sort(), [...expected].sort())
})

test('every tag is a tag group of the specification', (t) => {
  const document = documentOf([...declaredRoutes(), ...sampleRoutes])
  const known = new Set(document.tags.map((tag) => tag.name))
  t.deepEqual(
    operations(document)
      .filter((operation) => !known.has(operation.tags[0] ?? ''))
      .map((operation) => `${operation.operationId}: ${operation.tags[0]}`),
    [],
    'declare the tag in the part of one of its routes, composition/parts',
  )
})

test('one declaration becomes a documented operation', (t) => {
  const document = documentOf(sampleRoutes)
  const edit = document.paths['/boats/{owner}/{id}']?.['patch'] as Operation
  t.deepEqual(Object.keys(edit.responses), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '408',
    '409',
    '412',
    '413',
    '415',
    '422',
    '429',
    '431',
    '500',
    '501',
    '503',
  ])
  t.is(edit['x-scope'], 'write:misc')
  t.deepEqual(edit['x-access'], { kind: 'granted', relation: 'edit', object: 'team', hiddenAs: 'not-found' })
  t.regex(resolvedResponses(document, edit)['404']?.description ?? '', /BoatMissing/)
  t.is(document.info['version'], '1.1.1')
  const create = document.paths['/boats']?.['post'] as Operation
  t.regex(resolvedResponses(document, create)['400']?.description ?? '', /BoatSunk/)
  t.deepEqual(document.components.schemas['BoatOption'], {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 40, minLength: 1, pattern: linePattern.source },
      weight: { type: 'integer', format: 'int64' },
      tags: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 20, pattern: linePattern.source } },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      kind: { enum: ['sail', 'motor'] },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      anything: {},
    },
    required: ['name', 'kind', 'note'],
  })
  t.deepEqual(document.components.schemas['Tree']?.properties?.['children'], {
    type: 'array',
    items: { $ref: '#/components/schemas/Tree' },
  })
  t.is((document.paths['/log']?.['get'] as Operation)['x-gate'], 'vendor-hosted')
})

test('a note on a codec applies only at its place', (t) => {
  const codec = request(
    { plain: PathName, told: optional(noted(PathName, { description: 'Of this key alone.' })), when: Instant },
    'NotedKeys',
  )
  noted(Instant, { description: 'Of nothing here.' })
  const route = { ...sampleRoutes[0]!.bound.route, id: 'sample.noted', path: '/noted', query: codec } as Route
  const notCalled = () => Promise.reject(new Error('not called'))
  const document = documentOf([
    { ...sampleRoutes[0]!, bound: { kind: 'json', route, handler: notCalled, reply: notCalled } },
  ])
  const parameters = (document.paths['/noted']?.['get'] as Operation).parameters ?? []
  t.deepEqual(
    parameters.flatMap((parameter) => ('name' in parameter ? [[parameter.name, parameter.schema.description]] : [])),
    [
      ['plain', undefined],
      ['told', 'Of this key alone.'],
      ['when', undefined],
    ],
  )
})

test('one description is used for one meaning', (t) => {
  // A description that is told of parameters with different names belongs to one of them only.
  const names = new Map<string, Set<string>>()
  for (const operation of operations(documentOf(declaredRoutes()))) {
    for (const parameter of operation.parameters ?? []) {
      if (!('name' in parameter) || parameter.description === undefined) continue
      names.set(parameter.description, (names.get(parameter.description) ?? new Set()).add(parameter.name))
    }
  }
  t.true(names.size > 2)
  t.deepEqual(
    [...names]
      .filter(([, told]) => told.size > 1)
      .map(([description, told]) => `${[...told].join(', ')}: ${description}`),
    [],
  )
})

test('JSON in a form is a property of the form', (t) => {
  const { components, paths } = documentOf(declaredRoutes())
  const forms = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(
      (each) =>
        (each as { requestBody?: { content: Record<string, Form> } }).requestBody?.content['multipart/form-data'] ?? [],
    ),
  )
  t.true(forms.some(({ encoding }) => encoding !== undefined))
  for (const { schema, encoding = {} } of forms) {
    const properties = components.schemas[schema.$ref.slice('#/components/schemas/'.length)]?.properties ?? {}
    t.deepEqual(
      Object.keys(encoding).filter((name) => !(name in properties)),
      [],
      schema.$ref,
    )
  }
})

interface Form {
  readonly schema: { readonly $ref: string }
  readonly encoding?: object
}

test('a part of a union that has no type is refused', (t) => {
  const untyped = new codecs.Type<string>('untyped', codecs.string.is, codecs.string.validate, codecs.identity)
  const described = noted(untyped, { description: 'Anything.' })
  const route = {
    ...sampleRoutes[0]!.bound.route,
    id: 'sample.union',
    path: '/union',
    query: request({ any: codecs.union([described, codecs.null]) }, 'AnyOrNull'),
  } as Route
  const notCalled = () => Promise.reject(new Error('not called'))
  t.throws(
    () => documentOf([{ ...sampleRoutes[0]!, bound: { kind: 'json', route, handler: notCalled, reply: notCalled } }]),
    { message: /has no type/ },
  )
})

test('every error schema has a string message', (t) => {
  const { schemas } = documentOf(sampleRoutes).components
  t.deepEqual(schemas['ErrorMessage']?.required, ['message'])
  t.deepEqual(Object.keys(schemas['ErrorDetails']?.properties ?? {}), ['url', 'code', 'requestId', 'traceId', 'errors'])
})

test('a deployment documents only its own routes', (t) => {
  const served = sampleRoutes.filter((route) => route.gate === 'always')
  t.is(documentOf(served).paths['/log'], undefined)
})

const problems = (codec: codecs.Any | undefined, example: unknown, where: string): readonly string[] => {
  if (codec === undefined) return []
  if (example === undefined) return [`${where}: no example`]
  const travelled = parseJson(toWireJson(example))
  const decoded = codec.decode(travelled.ok ? travelled.value : undefined) as codecs.Validation<unknown>
  if (!isLeft(decoded)) return []
  return decoded.left.map(
    (error) =>
      `${where}: ${error.context.map((entry) => entry.key).join('.')} is not ${error.context.at(-1)?.type.name ?? '?'}`,
  )
}

const exampleProblems = ({ bound }: AssembledRoute): readonly string[] => {
  if (bound.kind === 'stream') return []
  const { id, body, ok } = bound.route
  const codec =
    ok.envelope?.codec ??
    ((ok.kind === 'list' || ok.kind === 'feed') && ok.codec !== undefined
      ? codecs.array(ok.codec as codecs.Mixed)
      : ok.codec)
  return [
    ...problems(body?.codec, body?.example, `${id} body`),
    ...problems(codec, ok.example, `${id} answer`),
    ...(body?.whenAbsent === undefined ? [] : problems(body.codec, body.whenAbsent, `${id} absent body`)),
  ]
}

test('every example decodes with its codec, after a round trip through JSON', (assert) => {
  const routes = [...declaredRoutes(), ...sampleRoutes]
  assert.true(routes.length > sampleRoutes.length)
  assert.deepEqual(routes.flatMap(exampleProblems), [])
})

test('an example that does not decode is found', (assert) => {
  const [, create] = sampleRoutes
  if (create?.bound.kind !== 'json' || create.bound.route.body === undefined)
    return assert.fail('the sample has changed')
  const wrong = {
    ...create,
    bound: {
      ...create.bound,
      route: { ...create.bound.route, body: { ...create.bound.route.body, example: { name: 7 } } },
    },
  }
  assert.true(exampleProblems(wrong).length > 0)
})
