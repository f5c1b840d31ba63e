import { makeAccountPages } from './account-pages.ts'
import { docsPage, makeDocsAssets, openapiJson, swaggerAnswer } from './docs-page.ts'
import type { Pages } from './guard.ts'
import type { OpenApiDocument } from './openapi/document.ts'
import { startPage } from './start-page.ts'
import type { Answer } from './write-answer.ts'

const docsPrefix = '/api/v1/docs/'

/** What the API listener shows beside its routes. The document is made and serialised when it is first asked for. */
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
