import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import { pageFile, renderPage, staticAnswer } from './page-parts.ts'
import type { Answer } from '../answer/write-answer.ts'

const policy = [
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
export const docsPage: Answer = staticAnswer('text/html; charset=utf-8', renderPage('docs'), { 'Content-Security-Policy': policy, Vary: 'Accept' })

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

export const acceptsGzip = (acceptEncoding: string | undefined): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(acceptEncoding ?? '')

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
export const makeDocsAssets = (): DocsAssets => {
  const assets = new Map<string, ReturnType<typeof makeAsset>>()
  return (name, acceptEncoding) => {
    const contentType = Object.hasOwn(assetTypes, name) ? assetTypes[name] : undefined
    if (contentType === undefined) return undefined
    const asset = assets.get(name) ?? makeAsset(name, contentType)
    assets.set(name, asset)
    return asset(acceptEncoding)
  }
}

/** Returns the OpenAPI document, serialised once. */
export const openapiJson = (document: OpenApiDocument): Answer =>
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
export const swaggerAnswer = (accept: string | undefined, document: Answer): Answer =>
  weightOf(accept ?? '', 'text/html') > weightOf(accept ?? '', 'application/json') ? docsPage : document
