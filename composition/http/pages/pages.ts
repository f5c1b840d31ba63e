import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import mustache from 'mustache'
import { getOrMake } from '../../../core/kernel/cache.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import { releaseVersion } from '../../../core/platform/version.ts'
import { acceptsGzip } from '../answer/reply-answer.ts'
import type { Answer } from '../answer/write-answer.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import { noneMatch } from '../request/conditional.ts'
import type { Pages } from '../request/guard.ts'

/** Returns an answer whose bytes never change while the process runs. It is serialised and tagged once. */
const staticAnswer = (contentType: string, body: string | Uint8Array, headers: Answer['headers'] = {}): Answer => {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const all = { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ETag: etag, ...headers }
  const unchanged: Answer = { status: 304, headers: { ...headers, ETag: etag, 'Cache-Control': 'no-cache' }, body: undefined }
  return { status: 200, headers: all, body, notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : unchanged) }
}

/** Returns the `sha256-...` source by which a content security policy allows one inline style or script. */
const inlineSource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** `npm run build` copies the folder beside the compiled code. */
const folder = new URL('./files/', import.meta.url)

/** Returns the text of a file of the pages, by its path below `files`. */
const pageFile = (path: string): string => readFileSync(new URL(path, folder), 'utf8')

/** Returns the files of a folder below `files`, by name. */
const pageFiles = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(readdirSync(new URL(path, folder)).map((name) => [name, pageFile(`${path}${name}`)]))

/** The single style of the pages for users. It is inline; policies allow it by `inlineSource`. */
const pageStyle = pageFile('style.css')

/** The icon of the browser tab. */
const icon = `data:image/svg+xml,${encodeURIComponent(pageFile('icon.svg').trim())}`

const templates = new Map(Object.entries(pageFiles('templates/')))

const escapeHtml = (value: unknown): string => String(value).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

/**
 * Returns a page as HTML from its template. `{{name}}` inserts a value as text, also in attributes; `{{> name}}` inserts
 * another template. Throws if there is no such template.
 */
const renderPage = (name: string, values: Readonly<Record<string, string>> = {}): string => {
  const template = (wanted: string): string => {
    const found = templates.get(`${wanted}.html`)
    if (found === undefined) throw new Error(`There is no template ${wanted}.`)
    return found
  }
  return mustache.render(template(name), { icon, style: pageStyle, version: releaseVersion, ...values }, template, { escape: escapeHtml })
}

const docsPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes. It loads no external styles.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The documentation page, for browsers. It loads nothing from other origins. */
const docsPage: Answer = staticAnswer('text/html; charset=utf-8', renderPage('docs'), { 'Content-Security-Policy': docsPolicy, Vary: 'Accept' })

const assetTypes: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
  'start.js': 'text/javascript; charset=utf-8',
}

// The files are those of swagger-ui-dist, without the telemetry that runs where that package is installed.
const assetFolder = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
const compress = promisify(gzip)

const readAsset = (name: string): Uint8Array => (name === 'start.js' ? Buffer.from(pageFile('docs-start.js')) : readFileSync(join(assetFolder, name)))

/** Returns an asset of the documentation page by the name after `/api/v1/docs/`, or undefined for any other name. */
export type DocsAssets = (name: string, acceptEncoding: string | undefined) => Answer | undefined

/** The first request that accepts gzip has the asset compressed, off the event loop. It is sent uncompressed until that is done. */
const makeAsset = (name: string, contentType: string): ((acceptEncoding: string | undefined) => Answer) => {
  const bytes = readAsset(name)
  const plain = staticAnswer(contentType, bytes, { Vary: 'Accept-Encoding' })
  let packed: Answer | undefined
  let isPacking = contentType.startsWith('image/')
  return (acceptEncoding) => {
    if (!acceptsGzip(acceptEncoding)) return plain
    if (!isPacking) {
      isPacking = true
      void compress(bytes).then((body) => (packed = staticAnswer(contentType, body, { Vary: 'Accept-Encoding', 'Content-Encoding': 'gzip' })))
    }
    return packed ?? plain
  }
}

/** Reads an asset into memory at its first request: most processes serve none. */
const makeDocsAssets = (): DocsAssets => {
  const assets = new Map<string, ReturnType<typeof makeAsset>>()
  return (name, acceptEncoding) => {
    const contentType = Object.hasOwn(assetTypes, name) ? assetTypes[name] : undefined
    if (contentType === undefined) return undefined
    return getOrMake(assets, name, () => makeAsset(name, contentType))(acceptEncoding)
  }
}

/** Returns the OpenAPI document, serialised once. */
const openapiJson = (document: OpenApiDocument): Answer =>
  staticAnswer('application/json; charset=utf-8', toWireJson(document), { Vary: 'Accept' })

const weightOf = (accept: string, type: string): number => {
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    if (range !== type) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  }
  return 0
}

/** Returns the answer of `GET /api/v1/swagger`: the page for a client that explicitly accepts HTML, or else the document. */
const swaggerAnswer = (accept: string | undefined, document: Answer): Answer =>
  weightOf(accept ?? '', 'text/html') > weightOf(accept ?? '', 'application/json') ? docsPage : document

const scriptPrefix = '/account/'

const accountPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  // The forms have no action: their scripts send them.
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const pageNames = ['confirm-email', 'reset-password', 'sign-in', 'accept-invitation'] as const

/** The scripts of the account pages, by file name. */
export const accountScripts = pageFiles('scripts/')

/** Returns the answer of a page. It must not be cached, since the address may contain a code. */
const pageAnswer = (name: string): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': accountPolicy },
  body: renderPage(name),
})

/**
 * Returns the pages that mails link to, the sign-in page, and their scripts, by path. They are ordinary clients of the API:
 * opening a page changes nothing.
 */
const makeAccountPages = (): ((path: string) => Answer | undefined) => {
  const answers = new Map<string, Answer>()
  for (const name of pageNames) answers.set(`/${name}`, pageAnswer(name))
  for (const [name, source] of Object.entries(accountScripts)) {
    answers.set(`${scriptPrefix}${name}`, staticAnswer('text/javascript; charset=utf-8', source))
  }
  return (path) => answers.get(path)
}

const policy = [
  "default-src 'none'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns the page at the address of the service, which describes the service and links further. `ownUrl` is that address. */
export const startPage = (ownUrl: string): Answer => staticAnswer('text/html; charset=utf-8', renderPage('start', { ownUrl }), { 'Content-Security-Policy': policy })

/** What no page of a frontend can be, and scanners ask for: a hidden file, a file with an ending, a folder of the system. */
const noPage = /\.|^\/(?:etc|proc|sys|var|usr|root|cgi-bin)(?:\/|$)/

const docsPrefix = '/api/v1/docs/'

/** Returns the pages that the API listener serves in addition to its routes. The document is built and serialised at its first request. */
export const makePages = (makeDocument: () => OpenApiDocument): Pages => {
  const assets = makeDocsAssets()
  const accountPages = makeAccountPages()
  let document: Answer | undefined
  const description = (): Answer => (document ??= openapiJson(makeDocument()))
  return {
    documentation(path, headers) {
      if (path === '/api/v1/openapi.json') return description()
      if (path === '/api/v1/swagger') return swaggerAnswer(headers.accept, description())
      if (path === '/api/v1/docs') return docsPage
      if (path.startsWith(docsPrefix)) return assets(path.slice(docsPrefix.length), String(headers['accept-encoding'] ?? ''))
      return undefined
    },
    frontend: (path, ownUrl) => accountPages(path) ?? (noPage.test(path) ? undefined : startPage(ownUrl)),
  }
}
