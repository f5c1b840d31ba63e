import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { accountScripts } from '../../composition/http/pages/account-pages.ts'
import { buildDocument } from '../../composition/http/openapi/document.ts'
import { makePages } from '../../composition/http/pages/pages.ts'
import type { Answer } from '../../composition/http/answer/write-answer.ts'
import { sampleRoutes } from '../support/sample-routes.ts'

const deployment = { type: 'SelfHosted', billingEnabled: false, runMode: 'production' } as const
const pages = makePages(() => buildDocument(sampleRoutes, { baseUrl: 'http://h:1', sessionCookie: 's', deployment }))

const textOf = (answer: Answer | undefined): string => Buffer.from(answer?.body ?? '').toString('utf8')
const typeOf = (answer: Answer | undefined): unknown => answer?.headers['Content-Type']

test('the description is one tagged answer', (t) => {
  const answer = pages.documentation('/api/v1/openapi.json', {})
  t.is((JSON.parse(textOf(answer)) as { openapi: string }).openapi, '3.1.0')
  const tag = String(answer?.headers['ETag'])
  t.is(answer?.notModifiedFor?.(tag)?.status, 304)
  t.is(answer?.notModifiedFor?.('"other"'), undefined)
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
    const answer = pages.documentation('/api/v1/swagger', accept === undefined ? {} : { accept })
    t.is(typeOf(answer), isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8')
    t.is(answer?.headers['Vary'], 'Accept')
  })

test('the documentation page loads from here only, and everything that it loads is there', (t) => {
  const answer = pages.documentation('/api/v1/docs', {})
  const html = textOf(answer)
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
  t.true(loaded.length >= 4)
  for (const path of loaded) {
    t.true(path.startsWith('/api/v1/'), path)
    t.is(pages.documentation(path, {})?.status, 200, path)
  }
  for (const directive of ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]) t.true(String(answer?.headers['Content-Security-Policy']).includes(directive), directive)
})

test('a link that names an operation opens it under its tag, and any other link is left as it is', async (t) => {
  const starter = textOf(pages.documentation('/api/v1/docs/start.js', {}))
  const shownFor = async (hash: string): Promise<string> => {
    const location = { hash, origin: 'http://h:1', reload: () => undefined }
    const loaded = Promise.resolve({ json: () => JSON.parse(textOf(pages.documentation('/api/v1/openapi.json', {}))) as unknown })
    await new Promise<void>((resolve) => {
      runInNewContext(starter, {
        location,
        history: { replaceState: (_state: unknown, _title: string, url: string) => void (location.hash = url) },
        addEventListener: () => undefined,
        fetch: () => loaded,
        SwaggerUIBundle: Object.assign(() => resolve(), { presets: { apis: [] } }),
      })
    })
    return location.hash
  }
  t.is(await shownFor('#operation/sample.editBoat'), '#/Miscellaneous/sample.editBoat')
  t.is(await shownFor('#operation/sample.proxy.get'), '#/Kubernetes%20Proxy/sample.proxy.get')
  for (const other of ['', '#operation/nothing', '#/Miscellaneous', '#operation/%3Cscript%3E']) t.is(await shownFor(other), other)
})

test('no script of ours keeps anything in the browser', (t) => {
  const starter = textOf(pages.documentation('/api/v1/docs/start.js', {}))
  t.regex(starter, /persistAuthorization: false/)
  for (const source of [starter, ...Object.values(accountScripts)]) t.notRegex(source, /localStorage|sessionStorage|indexedDB|caches\.|document\.cookie\s*=/)
})

test('an asset is sent compressed to clients that accept it', async (t) => {
  const path = '/api/v1/docs/swagger-ui-bundle.js'
  const plain = pages.documentation(path, {})
  let packed = pages.documentation(path, { 'accept-encoding': 'gzip, br' })
  for (let waited = 0; packed?.headers['Content-Encoding'] === undefined && waited < 500; waited++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    packed = pages.documentation(path, { 'accept-encoding': 'gzip, br' })
  }
  t.is(packed?.headers['Content-Encoding'], 'gzip')
  t.deepEqual(gunzipSync(packed?.body as Uint8Array), Buffer.from(plain?.body as Uint8Array))
  t.is(pages.documentation(path, { 'accept-encoding': 'gzip;q=0' })?.headers['Content-Encoding'], undefined)
})

test('no other file can be had through the documentation', (t) => {
  for (const name of ['package.json', '../openapi.json', '..%2fpackage.json', 'constructor', '__proto__', '']) {
    t.is(pages.documentation(`/api/v1/docs/${name}`, {}), undefined, name)
  }
})

test('the start page escapes, and its policy admits its one style by hash', (t) => {
  const answer = pages.frontend('/anything', 'http://h:1/<script>"')
  const html = textOf(answer)
  t.false(html.includes('<script'))
  t.true(html.includes('http://h:1/&#60;script&#62;&#34;'))
  const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? ''
  const source = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
  t.true(String(answer.headers['Content-Security-Policy']).includes(source))
  t.regex(html, /<html lang="en">/)
  t.regex(html, /prefers-color-scheme: dark/)
})
