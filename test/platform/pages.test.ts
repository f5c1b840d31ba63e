import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeSqlBrandingStore } from '../../adapters/sql/kernel/site-store.ts'
import type { Answer } from '../../composition/runtime/http/answer/packed-answer.ts'
import { buildDocument } from '../../composition/runtime/http/openapi/document.ts'
import { ownPage, pageFiles } from '../../composition/part/pages/web-page.ts'
import { makePages } from '../../composition/runtime/http/pages/pages.ts'
import { mergeBranding, pictureProblem, plainBranding } from '../../core/platform/branding.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { documentTags } from '../support/declared-routes.ts'
import { sampleRoutes } from '../support/sample-routes.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const noQuery = new URLSearchParams()

const maxPictureBytes = 256 * 1024

const deployment = { type: 'SelfHosted', billingEnabled: false, runMode: 'production' } as const
const pages = makePages(
  () => buildDocument(sampleRoutes, { baseUrl: 'http://h:1', sessionCookie: 's', deployment, tags: documentTags }),
  [ownPage('sign-in', 'Sign in')],
)

const textOf = (answer: Answer | undefined): string => Buffer.from(answer?.body ?? '').toString('utf8')
const typeOf = (answer: Answer | undefined): unknown => answer?.headers['Content-Type']

test('the description is one tagged answer', (t) => {
  const answer = pages.documentation('/api/v1/openapi.json', {}, noQuery)
  t.is((JSON.parse(textOf(answer)) as { openapi: string }).openapi, '3.1.0')
  const tag = String(answer?.headers['ETag'])
  t.is(answer?.notModifiedFor?.(tag)?.status, 304)
  t.is(answer?.notModifiedFor?.('"other"'), undefined)
})

test('the description of one tag has its operations and the components that they use', (t) => {
  const whole = buildDocument(sampleRoutes, {
    baseUrl: 'http://h:1',
    sessionCookie: 's',
    deployment,
    tags: documentTags,
  })
  for (const { name } of whole.tags) {
    const answer = pages.documentation('/api/v1/openapi.json', {}, new URLSearchParams({ tag: name }))
    const own = JSON.parse(textOf(answer)) as typeof whole
    const operations = (of: typeof whole) =>
      Object.values(of.paths).flatMap((item) => Object.values(item) as { readonly tags: readonly string[] }[])
    t.is(operations(own).length, operations(whole).filter(({ tags }) => tags.includes(name)).length, name)
    for (const [, section = '', component = ''] of JSON.stringify(own).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g))
      t.truthy(own.components[section]?.[component], `${section} ${component}`)
  }
  t.is(pages.documentation('/api/v1/openapi.json', {}, new URLSearchParams({ tag: 'none' })), undefined)
})

for (const [accept, isPage] of [
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
  ['application/json, text/html;q=0.5', false],
  ['text/html;q=0', false],
  [','.repeat(10_000), false],
] as const)
  test(`/swagger for Accept ${String(accept).slice(0, 60)}`, (t) => {
    const answer = pages.documentation('/api/v1/swagger', accept === undefined ? {} : { accept }, noQuery)
    t.is(typeOf(answer), isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8')
    t.is(answer?.headers['Vary'], 'Accept-Encoding, Accept')
  })

test('the documentation page loads only existing files of this service', (t) => {
  const answer = pages.documentation('/api/v1/docs', {}, noQuery)
  const html = textOf(answer)
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => target !== '/' && !/^(?:data:|#)/.test(target))
  t.true(loaded.length >= 4)
  for (const path of loaded) {
    t.true(path.startsWith('/api/v1/'), path)
    t.is(pages.documentation(path, {}, noQuery)?.status, 200, path)
  }
  for (const directive of ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"])
    t.true(String(answer?.headers['Content-Security-Policy']).includes(directive), directive)
})

test('each operation has a page of its own, which the list links to', (t) => {
  const list = textOf(pages.documentation('/api/v1/docs', {}, noQuery))
  const linked = [...list.matchAll(/href="(\/api\/v1\/docs\/operations\/[^"]+)"/g)].map((match) => match[1] ?? '')
  t.is(linked.length, sampleRoutes.flatMap(({ methods }) => methods).length)
  for (const path of linked) t.is(pages.documentation(path, {}, noQuery)?.status, 200, path)
  const edit = textOf(pages.documentation('/api/v1/docs/operations/sample.editBoat', {}, noQuery))
  for (const text of [
    'PATCH',
    '/boats/{owner}/{id}',
    'Requires the relation',
    'BoatMissing',
    'data-parameter="owner"',
    'data-body',
  ])
    t.true(edit.includes(text), text)
  t.is(pages.documentation('/api/v1/docs/operations/sample.nothing', {}, noQuery), undefined)
  t.is(pages.documentation('/api/v1/docs/operations/constructor', {}, noQuery), undefined)
})

test('the properties of a body that contains itself end', (t) => {
  const page = textOf(pages.documentation('/api/v1/docs/operations/sample.editBoat', {}, noQuery))
  t.true(page.includes('array of Tree'))
})

test('scripts keep nothing in the browser but the address of a waiting application', (t) => {
  const script = textOf(pages.documentation('/api/v1/docs/docs.js', {}, noQuery))
  for (const source of [script, ...Object.values(pageFiles('scripts/'))])
    t.notRegex(
      source.replaceAll(/sessionStorage\.\w+\('moorage-continue'/g, ''),
      /localStorage|sessionStorage|indexedDB|caches\.|document\.cookie\s*=/,
    )
})

test('a text is sent in the coding that the client accepts', (t) => {
  const path = '/api/v1/openapi.json'
  const plain = pages.documentation(path, {}, noQuery)
  const packed = (acceptEncoding: string): Answer | undefined =>
    pages.documentation(path, { 'accept-encoding': acceptEncoding }, noQuery)
  t.is(plain?.headers['Content-Encoding'], undefined)
  t.is(plain?.headers['Vary'], 'Accept-Encoding, Accept')
  t.is(packed('gzip, br')?.headers['Content-Encoding'], 'br')
  t.is(packed('gzip, br;q=0')?.headers['Content-Encoding'], 'gzip')
  t.deepEqual(gunzipSync(packed('gzip')?.body as Uint8Array), Buffer.from(plain?.body as Uint8Array))
  t.deepEqual(brotliDecompressSync(packed('br')?.body as Uint8Array), Buffer.from(plain?.body as Uint8Array))
  for (const other of ['gzip;q=0', 'identity', 'x-gzip', 'brotli'])
    t.is(packed(other)?.headers['Content-Encoding'], undefined, other)
  t.is(new Set([plain, packed('gzip'), packed('br')].map((answer) => answer?.headers['ETag'])).size, 3)
})

test('no other file can be had through the documentation', (t) => {
  for (const name of ['package.json', '../openapi.json', '..%2fpackage.json', 'constructor', '__proto__', '']) {
    t.is(pages.documentation(`/api/v1/docs/${name}`, {}, noQuery), undefined, name)
  }
})

test('paths that cannot be pages are not the start page', (t) => {
  for (const path of [
    '/.env',
    '/.git/config',
    '/a/.well-known/b',
    '/etc/passwd',
    '/proc/self',
    '/index.php',
    '/robots.txt',
    '/a/b.c/d',
    '/cgi-bin/x',
  ])
    t.is(pages.frontend(path, 'http://h', {}), undefined, path)
  for (const path of ['/', '/console', '/console/clusters', '/etcetera', '/marketplace/api/v1/x'])
    t.truthy(pages.frontend(path, 'http://h', {}), path)
})

test('clients of JSON and API paths get no page', (t) => {
  const isPage = (path: string, accept?: string): boolean =>
    pages.frontend(path, 'http://h', accept === undefined ? {} : { accept }) !== undefined
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  for (const accept of [undefined, '*/*', 'application/json', 'application/json, */*'])
    for (const path of ['/v1/user', '/v1', '/api/user', '/api']) t.false(isPage(path, accept), `${path} ${accept}`)
  for (const path of ['/v1/user', '/api', '/console', '/v1beta']) t.true(isPage(path, browser), path)
  for (const path of ['/console', '/user']) {
    for (const accept of ['application/json', 'application/json;q=0.5, */*;q=0.1'])
      t.false(isPage(path, accept), accept)
    for (const accept of [undefined, '*/*', 'application/json, text/html;q=0.5', 'application/json;q=0, */*'])
      t.true(isPage(path, accept), accept)
  }
  t.true(isPage('/', 'application/json'))
  t.true(isPage('/sign-in', 'application/json'))
})

test('the start page escapes, and its policy admits its one style by hash', (t) => {
  const answer = pages.frontend('/anything', 'http://h:1/<script>"', {})
  if (answer === undefined) return t.fail()
  const html = textOf(answer)
  t.deepEqual(html.match(/<script[^>]*>/g), ['<script type="module" src="./account/start.js">'])
  t.true(html.includes('http://h:1/&#60;script&#62;&#34;'))
  const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? ''
  const source = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
  t.true(String(answer.headers['Content-Security-Policy']).includes(source))
  t.regex(html, /<html lang="en">/)
  t.regex(html, /prefers-color-scheme: dark/)
})

const starts = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0],
  'image/webp': [0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 0x57, 0x45, 0x42, 0x50],
} as const
type Kind = keyof typeof starts
const kinds = Object.keys(starts) as readonly Kind[]
const dataUrl = (kind: string, start: readonly number[], length = 64): string => {
  const bytes = Buffer.alloc(Math.max(length, start.length), 7)
  bytes.set(start)
  return `data:${kind};base64,${bytes.toString('base64')}`
}
const png = dataUrl('image/png', starts['image/png'])
const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'

test('the three picture kinds are accepted up to their size', (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), fc.integer({ min: 12, max: maxPictureBytes }), (kind, length) => {
      t.is(pictureProblem(dataUrl(kind, starts[kind], length)), undefined)
    }),
    { numRuns: 60 },
  )
  for (const over of [1, 2, 3])
    t.regex(pictureProblem(dataUrl('image/png', starts['image/png'], maxPictureBytes + over)) ?? '', /256 KiB/)
})

test('disguised, SVG and other files are refused as pictures', (t) => {
  for (const claimed of kinds) {
    for (const real of kinds.filter((kind) => kind !== claimed))
      t.truthy(pictureProblem(dataUrl(claimed, starts[real])), `${real} as ${claimed}`)
    t.truthy(pictureProblem(`data:${claimed};base64,${Buffer.from(svg).toString('base64')}`), `SVG as ${claimed}`)
  }
  const refused = [
    `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`,
    `data:image/svg+xml,${svg}`,
    `data:text/html;base64,${png.split(',')[1]}`,
    'https://evil.example/logo.png',
    'javascript:alert(1)',
    png.replace('base64,', ''),
    `${png}\n`,
    ` ${png}`,
    png.replace('image/png', 'IMAGE/PNG'),
    'data:image/png;base64,',
    `${png}" onerror="x`,
  ]
  for (const text of refused) t.truthy(pictureProblem(text), text.slice(0, 40))
  fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => void t.truthy(pictureProblem(text))))
})

test('absent fields stay, empty ones reset, and others are refused', (t) => {
  const chosen = { logo: png, favicon: png, primaryColor: '#112233', showAppTag: false, appName: 'Harbour' }
  const current = unwrap(mergeBranding(plainBranding, chosen))
  t.deepEqual(current, chosen)
  t.deepEqual(unwrap(mergeBranding(current, {})), current)
  t.deepEqual(
    unwrap(mergeBranding(current, { logo: '', favicon: '', primaryColor: '', showAppTag: true, appName: '' })),
    plainBranding,
  )
  t.is(unwrap(mergeBranding(current, { primaryColor: '#AbCdEf' })).primaryColor, '#abcdef')
  for (const primaryColor of ['red', '#12345', '#1234567', '123456', '#12345g', '#123456;'])
    t.true(isLeft(mergeBranding(current, { primaryColor })), primaryColor)
  for (const appName of ['x'.repeat(65), 'a\nb', 'a\u0000b']) t.true(isLeft(mergeBranding(current, { appName })))
  fc.assert(
    fc.property(fc.record({ primaryColor: fc.string(), appName: fc.string() }, { requiredKeys: [] }), (some) => {
      const merged = mergeBranding(current, some)
      if (isRight(merged))
        t.true(
          /^#[0-9a-f]{6}$/.test(merged.right.primaryColor) &&
            merged.right.appName.length >= 1 &&
            merged.right.appName.length <= 64,
        )
    }),
  )
})

for (const database of eachDatabase()) {
  test(`${database.name}: the look is kept as it was chosen, also the largest pictures`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const store = makeSqlBrandingStore(db)(db)
    t.is(await store.read(), undefined)
    const largest = dataUrl('image/jpeg', starts['image/jpeg'], maxPictureBytes)
    const look = { ...plainBranding, logo: largest, favicon: png, appName: 'Häfen 🛶', showAppTag: false }
    await store.put(plainBranding)
    await store.put(look)
    t.deepEqual(await store.read(), look)
  })
}

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

test.serial('branding over HTTP: public with an ETag, changed by site admins, recorded', async (t) => {
  const path = '/api/v1/branding'
  const change = (body: object, token: string | undefined = service.adminToken) =>
    service.send('POST', path, { ...(token === undefined ? {} : { token }), body })
  const first = await service.send('GET', path)
  t.deepEqual(
    [first.status, first.json.appName, first.json.favicons, first.json.isOfflineInstaller],
    [200, 'Moorage', {}, false],
  )
  t.is((await service.send('GET', path, { headers: { 'If-None-Match': String(first.headers['etag']) } })).status, 304)
  t.is((await service.send('POST', path, { body: { appName: 'Mine' } })).status, 401)
  t.is(
    (
      await change({
        appName: 'Harbour',
        logo: dataUrl('image/png', starts['image/png'], maxPictureBytes),
        favicon: dataUrl('image/webp', starts['image/webp'], maxPictureBytes),
      })
    ).status,
    200,
  )
  const after = await service.send('GET', path, { headers: { 'If-None-Match': String(first.headers['etag']) } })
  t.deepEqual([after.status, after.json.appName, Object.keys(after.json.favicons)], [200, 'Harbour', ['icon']])
  const refused = await change({ logo: `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}` })
  t.deepEqual([refused.status, refused.json.code], [422, 'BrandingRefused'])
  t.is((await change({ showAppTag: 'yes' })).status, 422)
  t.is((await change({ appName: 'Harbour' })).status, 200)
})

test('a refusal names the missing part, name rule or header', async (t) => {
  const token = service.adminToken
  const messageOf = async (...args: Parameters<TestService['send']>) => (await service.send(...args)).json.message
  t.is(
    await messageOf('GET', '/api/v1/contracts/7', { token }),
    'This deployment does not have the path: the part contracts needs MOORAGE_DEPLOYMENT_TYPE=VendorHosted, or of a marketplace.',
  )
  t.regex(await messageOf('POST', '/api/v1/orgs', { token, body: {} }), /a name of 1 to 40 letters or digits/)
  t.regex(
    await messageOf('POST', '/api/v1/orgs', { token, body: { username: 'acme', fullname: 'x' } }),
    /did you mean full_name\?$/,
  )
  t.regex(await messageOf('GET', '/api/v1/teams/owners', { token }), /must be an id \(an integer from 1\)/)
  const headers = { Authorization: `token ${token}`, 'Content-Type': 'text/plain' }
  const reply = await fetch(`${service.baseUrl}/api/v1/orgs`, { method: 'POST', headers, body: '{}' })
  t.is(reply.status, 415)
  t.regex(((await reply.json()) as { message: string }).message, /Content-Type: application\/json/)
})

test('a path without the API root is 404 with the intended path', async (t) => {
  const messageAt = async (method: string, path: string, accept = '*/*') => {
    const { status, json, headers } = await service.send(method, path, { headers: { Accept: accept } })
    t.is(status, 404, path)
    t.regex(String(headers['content-type']), /^application\/json/)
    return (json as { message: string }).message
  }
  for (const path of ['/v1/user', '/api/user'])
    t.is(await messageAt('GET', path), 'The path does not exist. /api/v1/user does.')
  t.is(await messageAt('GET', '/user', 'application/json'), 'The path does not exist. /api/v1/user does.')
  t.is(await messageAt('POST', '/v1/orgs'), 'The path does not exist. /api/v1/orgs does.')
  t.is(
    await messageAt('GET', '/orgs/acme/teams', 'application/json'),
    'The path does not exist. /api/v1/orgs/acme/teams does.',
  )
  for (const path of ['/v1/no/such/path/at/all', '/v1', '/api/v1/no/such/path/at/all'])
    t.is(await messageAt('GET', path), 'The path does not exist.')
  t.regex((await service.send('GET', '/v1/user', { headers: { Accept: 'text/html' } })).text, /<!doctype html>/i)
})
