import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import test from 'ava'
import { entityTag, makeEntityTag } from '../../composition/runtime/http/request/conditional.ts'
import fc from 'fast-check'
import { request } from 'undici'
import { codingOf, isPacked, makePacking } from '../../composition/runtime/http/answer/packed-answer.ts'
import { parseIfMatch } from '../../composition/runtime/http/request/conditional.ts'
import type { Schema } from '../../composition/runtime/http/openapi/schema.ts'
import { makeSchemaRegistry, schemaOf } from '../../composition/runtime/http/openapi/schema.ts'
import type { Route } from '../../plugins/kit/route.ts'
import { declaredRoutes } from '../support/declared-routes.ts'
import { server } from './binder.fixture.ts'

const unpacked = { br: brotliDecompressSync, gzip: gunzipSync }

const get = async (path: string, headers: Readonly<Record<string, string>> = {}, method: 'GET' | 'HEAD' = 'GET') => {
  const reply = await request(`${server.baseUrl}/api/v1${path}`, { method, headers })
  const bytes = Buffer.from(await reply.body.arrayBuffer())
  const coding = reply.headers['content-encoding'] as keyof typeof unpacked | undefined
  const text = (coding === undefined || method === 'HEAD' ? bytes : unpacked[coding](bytes)).toString('utf8')
  return { status: reply.statusCode, headers: reply.headers, bytes, coding, text }
}

const qualities = ['', ';q=1', ';q=0.9', ';q=0.5', ';q=0.001', ';q=0', '; Q=0.7', ';q=1.000']
const element = fc
  .tuple(
    fc.constantFrom('br', 'gzip', 'identity', '*', 'deflate', 'zstd', 'GZIP', 'x-gzip'),
    fc.constantFrom(...qualities),
  )
  .map(([name, quality]) => ({ name: name.toLowerCase(), quality, text: `${name}${quality}` }))

const qualityIn = (quality: string): number => Number(/[01][.\d]*$/.exec(quality)?.[0] ?? '1')

test("the client's preferred coding is used, and br among equals", (t) => {
  t.is(codingOf('br;q=0.5, gzip'), 'gzip')
  const elements = fc.uniqueArray(element, { selector: ({ name }) => name, maxLength: 6 })
  fc.assert(
    fc.property(elements, (sent) => {
      const named = new Map(sent.map(({ name, quality }) => [name, qualityIn(quality)]))
      const qualityOf = (name: string): number => named.get(name) ?? named.get('*') ?? 0
      const [br, gzip] = [qualityOf('br'), qualityOf('gzip')]
      const identity = named.get('identity') ?? named.get('*')
      const chosen = codingOf(sent.map(({ text }) => text).join(', '))
      if (chosen === undefined) return Math.max(br, gzip) === 0 || (identity ?? 0) > Math.max(br, gzip)
      const [own, other] = chosen === 'br' ? [br, gzip] : [gzip, br]
      return own > 0 && own >= (identity ?? 0) && (chosen === 'br' ? own >= other : own > other)
    }),
    { numRuns: 1000 },
  )
})

test('any Accept-Encoding gets an answer', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(fc.string()).map((parts) => parts.join(',')),
      ),
      (header) => {
        const chosen = codingOf(header)
        return chosen === undefined || chosen === 'br' || chosen === 'gzip'
      },
    ),
  )
  t.is(codingOf(undefined), undefined)
  t.is(codingOf('gzip, deflate, br, zstd'), 'br')
})

// The number of long answers that are compressed at the same time is bounded, so these come one after the other.
for (const path of ['/things', '/long?length=200', '/long?length=9000']) {
  test.serial(`${path}: the compressed answer is the same answer`, async (t) => {
    const plain = await get(path)
    t.is(plain.coding, undefined)
    t.is(plain.headers['vary'], 'Accept-Encoding')
    for (const coding of ['br', 'gzip'] as const) {
      // The third answer of each is one that is remembered.
      for (const accepted of [coding, `${coding}, identity;q=0.5`, coding]) {
        const reply = await get(path, { 'accept-encoding': accepted })
        t.is(reply.coding, coding)
        t.is(reply.text, plain.text)
        t.true(reply.bytes.length < plain.bytes.length)
        t.is(reply.headers['content-length'], String(reply.bytes.length))
        t.is(reply.headers['etag'], `${String(plain.headers['etag']).slice(0, -1)}-${coding}"`)
        const { date: _, 'x-request-id': __, ...rest } = reply.headers
        const { date: ___, 'x-request-id': ____, ...plainRest } = plain.headers
        t.deepEqual(
          { ...rest, 'content-encoding': undefined, 'content-length': undefined, etag: undefined },
          { ...plainRest, 'content-encoding': undefined, 'content-length': undefined, etag: undefined },
        )
        const head = await get(path, { 'accept-encoding': coding }, 'HEAD')
        t.deepEqual(
          [head.headers['content-length'], head.headers['etag'], head.coding, head.text],
          [reply.headers['content-length'], reply.headers['etag'], coding, ''],
        )
      }
    }
  })
}

test('each form of an answer is current until the answer changes', async (t) => {
  const [plain, br, gzip] = await Promise.all(
    [undefined, 'br', 'gzip'].map((coding) =>
      get('/things', coding === undefined ? {} : { 'accept-encoding': coding }),
    ),
  )
  const tags = [plain, br, gzip].map((reply) => String(reply?.headers['etag']))
  t.is(new Set(tags).size, 3)
  for (const held of tags) {
    for (const accepted of [{}, { 'accept-encoding': 'br' }, { 'accept-encoding': 'gzip' }]) {
      for (const sent of [held, `W/${held}`, `"other", ${held}`]) {
        const reply = await get('/things', { ...accepted, 'if-none-match': sent })
        t.is(reply.status, 304)
        t.is(reply.headers['etag'], held)
        t.is(reply.headers['vary'], 'Accept-Encoding')
        t.is(reply.coding, undefined)
        t.is(reply.text, '')
      }
      t.is((await get('/things?limit=50', { ...accepted, 'if-none-match': held })).status, 200)
      t.is((await get('/things', { ...accepted, 'if-none-match': held.replace('"', '"x') })).status, 200)
    }
  }
})

test('the version in a tag counts for If-Match whatever the form', (t) => {
  for (const form of ['', '-br', '-gzip'])
    t.deepEqual(parseIfMatch(`"17-digest${form}"`), { kind: 'version', version: 17 })
})

test('a short or undeclared answer is sent without compression', async (t) => {
  for (const path of ['/things?limit=1', '/pages']) {
    const reply = await get(path, { 'accept-encoding': 'br, gzip' })
    t.is(reply.coding, undefined)
    t.is(reply.headers['vary'], undefined)
    t.is(reply.status, 200)
  }
})

test.serial('when more long answers are compressed than two, the others are sent as they are', async (t) => {
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => get(`/long?length=${9000 + index}`, { 'accept-encoding': 'br' })),
  )
  for (const [index, { text }] of replies.entries())
    t.is((JSON.parse(text) as { readonly data: readonly unknown[] }).data.length, 9000 + index)
  t.true(replies.some(({ coding }) => coding === 'br'))
})

test('a changed text gets a new tag and a new compressed form', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: fc.constantFrom('a', 'b'), text: fc.constantFrom('x', 'y', 'é') }), { maxLength: 20 }),
      (reads) => {
        const packing = makePacking()
        for (const { key, text } of reads) {
          const body = text.repeat(2000)
          const packable = packing.packable(key, body)
          t.is(packable.etag, makePacking().packable(key, body).etag)
          const answer = packing.packed({ status: 200, headers: {}, body, packable }, 'gzip')
          if (answer instanceof Promise) return t.fail()
          t.is(gunzipSync(answer.body as Uint8Array).toString('utf8'), body)
        }
        return true
      },
    ),
  )
  t.not(makePacking().packable('a', 'x').etag, makePacking().packable('a', 'y').etag)
})

test('the entity tag of pieces is that of their whole', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (pieces) => {
      const tag = makeEntityTag()
      for (const piece of pieces) tag.add(piece)
      return tag.tag() === entityTag(Buffer.concat(pieces))
    }),
  )
  t.pass()
})

/** Names of fields that hold a secret, a key, or a document that may hold one. */
const secretName =
  /token|secret|passw|credential|kubeconfig|licen[cs]es?$|csrf|otp$|session|cookie|recovery|private|signature|manifest|values$|yaml|apiKey|nonce/i

/** Free objects and dictionaries of packed answers, and why they hold no secret. */
const knownFree: Readonly<Record<string, string>> = {
  clusterAPI: 'always empty',
  gitopsEngine: 'always empty',
  units_map: 'always empty',
  changes: 'the changed fields of an event, in which secrets are never shown',
}

const faultsOf = (
  schema: Schema,
  named: (name: string) => Schema | undefined,
  at: string,
  within: readonly string[],
): readonly string[] => {
  const inside = (part: Schema, name = at): readonly string[] => faultsOf(part, named, name, within)
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace(/^.*\//, '')
    const target = named(name)
    return within.includes(name) || target === undefined ? [] : faultsOf(target, named, at, [...within, name])
  }
  const isFree =
    (schema.type === 'object' && schema.properties === undefined) ||
    (schema.type === undefined &&
      [schema.anyOf, schema.allOf, schema.enum, schema.const].every((each) => each === undefined))
  return [
    ...(isFree && !(at in knownFree) ? [`${at} is free`] : []),
    ...[schema.anyOf ?? [], schema.allOf ?? [], schema.items ?? []].flat().flatMap((part) => inside(part)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      ...(secretName.test(name) && field.type !== 'boolean' && field.type !== 'integer'
        ? [`${name} may be a secret`]
        : []),
      ...inside(field, name),
    ]),
  ]
}

const jsonRoutes = (): readonly Route[] =>
  declaredRoutes().flatMap(({ bound }) => (bound.kind === 'json' ? [bound.route] : []))

test('no packed answer has a field that may hold a secret', (t) => {
  const packedRoutes = jsonRoutes().filter(isPacked)
  t.true(packedRoutes.length > 60)
  for (const { id, ok } of packedRoutes) {
    const registry = makeSchemaRegistry()
    if (ok.codec === undefined) return t.fail(id)
    t.deepEqual(faultsOf(schemaOf(ok.codec, registry), registry.named, '', []), [], id)
  }
})

test('answers that show or issue a secret are never compressed', (t) => {
  const secret =
    /token|credential|license|licence|kubeconfig|clientconfig|signin|session|secondfactor|recovery|password|csrf|authorit|invitation\b|getOwnInvitation|values|manifest|release|editor|object/i
  const harmless = ['usage.getObjectHistory', 'contracts.listLicensedClusters', 'organizations.listInvitations']
  const wrong = jsonRoutes().filter(
    (route) =>
      isPacked(route) && (secret.test(route.id) || route.access.kind === 'password') && !harmless.includes(route.id),
  )
  t.deepEqual(
    wrong.map(({ id }) => id),
    [],
  )
  t.true(jsonRoutes().every((route) => !isPacked(route) || (route.method === 'GET' && route.makesToken !== true)))
})
