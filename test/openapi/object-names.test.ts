import test from 'ava'
import type * as t from 'io-ts'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { pathNames } from '../../composition/runtime/http/openapi/parameters.ts'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import { paramsOf, path, requires, signedIn } from '../../plugins/kit/access.ts'
import {
  freeText,
  noteOf,
  objectNameOf,
  optional,
  optionalInner,
  PathId,
  PathName,
  pathId,
  plainValue,
  QueryBoolean,
  QueryId,
  QueryInt,
  queryId,
  repeatable,
  repeatedItem,
  request,
} from '../../plugins/kit/codecs.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { empty } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { declaredRoutes } from '../support/declared-routes.ts'

const within = (codec: t.Any): t.Any => {
  const inner = optionalInner(codec) ?? repeatedItem(codec)
  return inner === undefined ? codec : within(inner)
}

/** Reports whether a codec takes no text and no id: a word of a closed list, yes or no, a number. */
const isClosed = (codec: t.Any): boolean => {
  const inner = within(codec)
  if ('keys' in inner) return true
  const isId = [PathId, QueryId].some(({ validate }) => validate === inner.validate)
  return ['boolean', 'integer', 'number'].includes(noteOf(inner)?.type ?? '') && !isId
}

/** The parameters of a route that do not say what they name. */
const unsaid = ({ bound, fullPath }: AssembledRoute): readonly string[] => {
  const inPath = propsOf(bound.route.params)
  const inQuery = bound.kind === 'json' ? propsOf(bound.route.query) : {}
  // The rest of the path of a stream is that of another system; others ignore it.
  const isOpen = bound.kind === 'stream' || bound.route.ignoresRest === true
  const isRest = (name: string): boolean => isOpen && name === 'path' && fullPath.endsWith('/*')
  return [
    ...pathNames(fullPath).filter((name) => {
      const codec = inPath[name]
      if (codec === undefined) return !isRest(name)
      return objectNameOf(codec) === 'none' || (objectNameOf(codec) === undefined && !('keys' in within(codec)))
    }),
    ...Object.entries(inQuery).flatMap(([name, codec]) =>
      isClosed(codec) || objectNameOf(codec) !== undefined ? [] : [name],
    ),
  ].map((name) => `${bound.route.id}: ${name}`)
}

/** A type whose objects are those of another type, or found by them. */
const alike: Readonly<Record<string, readonly string[]>> = { hub: ['cluster'], account: ['organization'] }

/** The parameters whose declared type is not that of the object on which the route checks a relation. */
const contradicting = ({ bound }: AssembledRoute): readonly string[] => {
  const { access, params } = bound.route
  if (access.kind !== 'granted') return []
  const props = { ...propsOf(bound.kind === 'json' ? bound.route.query : undefined), ...propsOf(params) }
  const key = paramsOf(access.object).at(-1)?.name ?? ''
  const codec = props[key]
  const named = codec === undefined ? undefined : objectNameOf(codec)
  const { type } = access.object
  if (typeof named === 'object' && [type, ...(alike[type] ?? [])].includes(named.object)) return []
  return [`${bound.route.id}: ${key} names ${JSON.stringify(named)}, and access is checked on a ${type}`]
}

test('every text or id parameter names its object or none', (t) => {
  t.deepEqual(declaredRoutes().flatMap(unsaid), [], 'use pathId, pathName, queryId, naming or plainValue')
})

test('a parameter that names the object of the access has its type', (t) => {
  t.deepEqual(declaredRoutes().flatMap(contradicting), [])
})

const routeWith = (params: t.Props, query: t.Props): AssembledRoute => {
  const route = defineRoute({
    id: 'stub.get',
    method: 'GET',
    path: `/stubs${Object.keys(params)
      .map((name) => `/{${name}}`)
      .join('')}`,
    summary: 'A route of this test',
    tag: 'Miscellaneous',
    access: 'role' in params ? requires('can_view', { type: 'role', id: path('role') }) : signedIn,
    params: request(params, 'StubPath'),
    query: request(query, 'StubQuery'),
    ok: empty(204),
    failures: [],
  })
  const bound = handle(route as never, async () => undefined as never)
  return { bound, fullPath: route.path } as unknown as AssembledRoute
}

test('a parameter that does not say it is found', (t) => {
  const said = { all: optional(QueryBoolean), max: QueryInt, q: plainValue(freeText(9)), of: optional(queryId('user')) }
  t.deepEqual(unsaid(routeWith({ id: pathId('role') }, said)), [])
  t.deepEqual(unsaid(routeWith({ id: PathId, name: PathName }, {})), ['stub.get: id', 'stub.get: name'])
  t.deepEqual(unsaid(routeWith({ id: plainValue(PathId) }, {})), ['stub.get: id'], 'a path has no free text')
  t.deepEqual(unsaid(routeWith({}, { of: optional(QueryId), q: freeText(9), tags: repeatable(freeText(9)) })), [
    'stub.get: of',
    'stub.get: q',
    'stub.get: tags',
  ])
})

test('a parameter that names another type than the access is found', (t) => {
  t.deepEqual(contradicting(routeWith({ role: pathId('role') }, {})), [])
  t.is(contradicting(routeWith({ role: pathId('team') }, {})).length, 1)
})
