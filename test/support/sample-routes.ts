import * as t from 'io-ts'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import type { FailureType } from '../../core/kernel/failure.ts'
import { anyone, path, query, read, requires, signedIn, withPassword, write } from '../../plugins/kit/access.ts'
import {
  AnyJson,
  answer,
  FreeObjectCodec,
  freeText,
  Id,
  Instant,
  Int64,
  listOf,
  oneOf,
  optional,
  PathId,
  PathName,
  PathTail,
  QueryBoolean,
  QueryInt,
  repeatable,
  request,
} from '../../plugins/kit/codecs.ts'
import { binary, cookies, empty, json, list, orYaml, text, versioned } from '../../plugins/kit/reply.ts'
import type { AnyBoundRoute, Route, StreamRoute } from '../../plugins/kit/route.ts'
import { body, defineRoute } from '../../plugins/kit/route.ts'

/** A tree, whose codec refers to itself. */
interface Tree {
  readonly label: string
  readonly children: readonly Tree[]
}
const Tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ label: t.string, children: t.readonlyArray(Tree) }))

const Visibility = oneOf('public', 'private')
const Boat = t.intersection(
  [
    answer({ id: Id, name: freeText(40, 1), built: Instant, visibility: Visibility }, 'BoatBase'),
    t.partial({ tree: Tree, extra: FreeObjectCodec }),
  ],
  'Boat',
)
const BoatOption = request(
  {
    name: freeText(40, 1),
    weight: optional(Int64),
    tags: optional(listOf(freeText(20), 10)),
    labels: optional(t.record(t.string, t.string)),
    kind: t.union([t.literal('sail'), t.literal('motor')]),
    note: t.union([t.string, t.null]),
    anything: optional(AnyJson),
  },
  'BoatOption',
)
const boat = {
  id: 1,
  name: 'Ahoy',
  built: '2026-01-01T00:00:00Z',
  visibility: 'public',
  tree: { label: 'a', children: [{ label: 'b', children: [] }] },
}
const option = { name: 'Ahoy', kind: 'sail', note: null, tags: ['fast'], labels: { colour: 'red' } }

const BoatMissing: FailureType<'BoatMissing'> = defineFailure('BoatMissing', 'NotFound', 'A failure of this test.')
const BoatSunk: FailureType<'BoatSunk'> = defineFailure('BoatSunk', 'Conflict', 'A failure of this test.')
const inPort = { owner: path('owner'), name: path('cluster') }
const common = { tag: 'Miscellaneous', failures: [] } as const

const jsonRoutes = [
  defineRoute({
    ...common,
    id: 'sample.listBoats',
    method: 'GET',
    path: '/boats',
    summary: 'List boats',
    access: signedIn,
    scope: read('misc'),
    query: t.type({ q: optional(freeText(40)), big: optional(QueryBoolean), tag: repeatable(PathName), max: QueryInt }),
    ok: list(Boat, boat),
  }),
  defineRoute({
    ...common,
    id: 'sample.createBoat',
    method: 'POST',
    path: '/boats',
    summary: 'Create a boat',
    access: signedIn,
    scope: write('misc'),
    body: body(BoatOption, option),
    ok: json(201, Boat, boat, 'Created'),
    failures: [BoatSunk],
    statusOf: { BoatSunk: 400 },
  }),
  defineRoute({
    ...common,
    id: 'sample.editBoat',
    method: 'PATCH',
    path: '/boats/{owner}/{id}',
    summary: 'Edit a boat',
    access: requires('edit', { type: 'team', id: path('id') }),
    scope: write('misc'),
    params: t.type({ owner: PathName, id: PathId }),
    body: body(BoatOption, option, { whenAbsent: option, refusedAs: 400 }),
    ok: versioned(200, Boat, boat),
    failures: [BoatMissing, BoatSunk],
    badPathAs: 400,
  }),
  defineRoute({
    ...common,
    id: 'sample.dropBoats',
    method: 'DELETE',
    path: '/boats',
    summary: 'Drop',
    access: withPassword,
    ok: empty(204),
  }),
  defineRoute({
    ...common,
    id: 'sample.board',
    method: 'POST',
    path: '/board',
    summary: 'Board',
    access: anyone,
    ok: cookies(200),
  }),
  defineRoute({
    ...common,
    id: 'sample.log',
    method: 'GET',
    path: '/log',
    summary: 'The log',
    access: requires('view', { type: 'organization', name: query('org') }),
    scope: read('misc'),
    gate: 'vendor-hosted',
    query: t.type({ org: PathName }),
    body: body(request({ since: optional(t.string) }, 'LogQuery'), { since: 'yesterday' }, { orQuery: true }),
    ok: text('text/plain', 'a line'),
  }),
  defineRoute({
    ...common,
    id: 'sample.getPlan',
    method: 'GET',
    path: '/plans/{id}/sheets/*',
    summary: 'A sheet of a plan',
    access: signedIn,
    scope: read('misc'),
    params: t.type({ id: PathId, path: PathTail }),
    ok: binary(['application/octet-stream', 'image/png']),
    failures: [BoatMissing],
  }),
  defineRoute({
    ...common,
    id: 'sample.getTree',
    method: 'GET',
    path: '/tree',
    summary: 'The tree',
    access: signedIn,
    scope: read('misc'),
    ok: orYaml(json(200, Tree, { label: 'b', children: [] })),
  }),
]

const stream: StreamRoute = {
  id: 'sample.proxy',
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  path: '/clusters/{owner}/{cluster}/proxy/*',
  summary: 'Pass through',
  tag: 'Kubernetes Proxy',
  access: requires('connect', { type: 'cluster', ...inPort }),
  scopeCategory: 'cluster',
  failures: [BoatMissing],
}

const assembled = (bound: AnyBoundRoute): AssembledRoute => ({
  pluginId: 'sample',
  listener: 'api',
  fullPath: `/api/v1${bound.route.path}`,
  methods: bound.kind === 'stream' ? bound.route.methods : [bound.route.method],
  gate: (bound.kind === 'json' ? bound.route.gate : undefined) ?? 'always',
  bound,
})

const unreachable = (): Promise<never> => Promise.reject(new Error('a sample route has no handler'))

/** Routes that use everything a declaration can say. */
export const sampleRoutes: readonly AssembledRoute[] = [
  ...jsonRoutes.map((route) =>
    assembled({ kind: 'json', route: route as unknown as Route, handler: unreachable, reply: unreachable }),
  ),
  assembled({ kind: 'stream', route: stream, handler: unreachable }),
]
