import type { Answer } from '../answer/write-answer.ts'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { Pages } from '../request/guard.ts'
import { makeAccountPages } from './account-pages.ts'
import { docsPage, makeDocsAssets, openapiJson, swaggerAnswer } from './docs-page.ts'
import { inlineSource, pageStyle, renderPage, staticAnswer } from './page-parts.ts'

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
    frontend: (path, ownUrl) => accountPages(path) ?? startPage(ownUrl),
  }
}
