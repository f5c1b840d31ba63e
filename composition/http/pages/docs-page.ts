import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import { staticAnswer } from './page-parts.ts'
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

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Moorage API documentation</title>
<link rel="icon" href="/api/v1/docs/favicon-32x32.png">
<link rel="stylesheet" href="/api/v1/docs/swagger-ui.css">
</head>
<body>
<main id="swagger-ui"><noscript><p>This page needs JavaScript. The description itself is <a href="/api/v1/openapi.json">openapi.json</a>.</p></noscript></main>
<script src="/api/v1/docs/swagger-ui-bundle.js"></script>
<script src="/api/v1/docs/start.js"></script>
</body>
</html>
`

// "Try it out" sends requests to the origin of the page, regardless of the configured address.
// A link names an operation only by its id; Swagger UI also requires its tag.
const starter = `const linked = () => /^#operation\\/(.+)$/.exec(location.hash)?.[1]

const openLinked = (spec) => {
  const id = linked()
  const operations = Object.values(spec.paths).flatMap((item) => Object.values(item))
  const operation = operations.find((each) => each.operationId !== undefined && encodeURIComponent(each.operationId) === id)
  if (operation === undefined) return
  history.replaceState(null, '', '#/' + encodeURIComponent(operation.tags[0]) + '/' + id)
}

addEventListener('hashchange', () => {
  if (linked() !== undefined) location.reload()
})

fetch('/api/v1/openapi.json', { credentials: 'omit' })
  .then((reply) => reply.json())
  .then((spec) => {
    openLinked(spec)
    SwaggerUIBundle({
      spec: { ...spec, servers: [{ url: location.origin + '/api/v1' }] },
      dom_id: '#swagger-ui',
      deepLinking: true,
      filter: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      persistAuthorization: false,
      validatorUrl: null,
      presets: [SwaggerUIBundle.presets.apis],
    })
  })
  .catch((error) => {
    document.getElementById('swagger-ui').textContent = 'The API description could not be loaded: ' + error.message
  })
`

/** The documentation page, for browsers. It loads nothing from other origins. */
export const docsPage: Answer = staticAnswer('text/html; charset=utf-8', page, { 'Content-Security-Policy': policy, Vary: 'Accept' })

const assetTypes: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
  'start.js': 'text/javascript; charset=utf-8',
}

// The files are those of swagger-ui-dist, without the telemetry that runs where that package is installed.
const assetFolder = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
const compress = promisify(gzip)

const readAsset = (name: string): Uint8Array => (name === 'start.js' ? Buffer.from(starter) : readFileSync(join(assetFolder, name)))

const acceptsGzip = (acceptEncoding: string | undefined): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(acceptEncoding ?? '')

/** Returns an asset of the documentation page by the name after `/api/v1/docs/`, or undefined for any other name. */
export type DocsAssets = (name: string, acceptEncoding: string | undefined) => Answer | undefined

/** Reads the assets into memory at start. They are compressed off the event loop, and sent uncompressed until that is done. */
export const makeDocsAssets = (): DocsAssets => {
  const plain = new Map<string, Answer>()
  const compressed = new Map<string, Answer>()
  for (const [name, contentType] of Object.entries(assetTypes)) {
    const bytes = readAsset(name)
    plain.set(name, staticAnswer(contentType, bytes, { Vary: 'Accept-Encoding' }))
    if (contentType.startsWith('image/')) continue
    void compress(bytes).then((packed) => {
      compressed.set(name, staticAnswer(contentType, packed, { Vary: 'Accept-Encoding', 'Content-Encoding': 'gzip' }))
    })
  }
  return (name, acceptEncoding) => (acceptsGzip(acceptEncoding) ? (compressed.get(name) ?? plain.get(name)) : plain.get(name))
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
